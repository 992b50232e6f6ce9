"""Judging vmtrace, tshark and tcptrace by the truth of transfers in the lab: `python -m vmtrace.lab.accuracy`."""
