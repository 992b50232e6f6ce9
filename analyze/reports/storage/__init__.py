"""Reports on runs of storage workloads (`vmtrace storage report`): the metadata log and the packets together.

run_folder  ->  records         what the run wrote (docs/storage.md)
captures    ->  measured        connections of each transaction, joined with the log by their addresses and ports
throughput, connections, overhead, time_ledger, round_trips, limits, groups, troubles
                                one table each: data in, rows out
tables      ->  document, human, page, charts
"""
