"""Reports on queue runs (docs/queue.md): what the logs of a run's processes and its captures say, alone and together.

`run_folder` reads a folder into `records` and columns (`calls`); each other module makes one table of them; `tables`
has them all, and `document`, `texts`, `charts`, `human` and `page` show them.
"""
