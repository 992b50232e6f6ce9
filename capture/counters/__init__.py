"""Sources of host counters, one in each file: every module here with a SOURCE is one; `source` says what that is."""
