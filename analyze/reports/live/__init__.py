"""A stream while it passes: snapshots by the code that analyses files, and what changes from one to the next.

docs/watch.md.

```text
stream    the engine that reads, and a snapshot of what has passed
window    the last seconds: rates, RTT, retransmissions and causes, from differences of snapshots
events    what ended, and findings that are new or changed, as records for programs
screen    the same for people, as lines
```
"""
