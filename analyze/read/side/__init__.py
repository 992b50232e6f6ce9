"""Measurements of hosts and clouds beside the packets: tables with a time column, joined to stretches of time.

`table` reads a CSV file with provenance, `host` and `cloudwatch` make periods with values of what the tables hold,
`metrics` says what each value is, `overlap` joins periods to transfers. Who recorded the tables is not known here:
`docs/capture.md` and `docs/cloudwatch.md` say what is in them.
"""
