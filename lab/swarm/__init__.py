"""A swarm in network namespaces with known rates: seeds, a tracker, an object store and the downloader.

The truth of a report on `vmtrace swarm run`: what each host can send is set by the kernel's token bucket, and what it
did send is in the kernel's counters of its device.
"""
