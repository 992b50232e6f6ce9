"""Message queues as black boxes: services behind one contract, plans, and runs of several processes (docs/queue.md)."""
