"""A run of connection pairs: its folder read, its captures measured, its tables and figures.

The room knows nothing of the programs that left the folder: `docs/run-folder.md` is all that it goes by.

    run_folder -> transfers (captures, cached) -> results -> tables, charts -> document, text, page, files
"""
