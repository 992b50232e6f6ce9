"""What a workload costs at a storage service, by month and year, in several ways of running it.

A workload comes from a summary (`workload`), a trace of accesses (`trace`) or a measured run; `scenarios` says what
each way of running it uses, `charges` puts prices on that, `break_even` and `sensitivity` vary them, `document` and
`human` show them. Nothing here asks the network.
"""
