"""Reports on discovery runs: which front ends names have, where they are and how far, with the evidence.

`run_folder` reads runs, `measured` adds what their packets show, `locating` joins vantage points into places, and
`document`, `human`, `page` and `map_drawing` say it.
"""
