"""Faults of a capture, put into a clean one on purpose, with a record of each: truth for what an analyzer must undo.

What is edited is the recording and never the network: frames that tcpdump dropped, stored twice or out of order, a
clock that was set, a snap length, and header fields that stacks and routers are free to choose. `editor.py` applies
faults; one file holds one kind of them. Judging the result is left to the tests.
"""
