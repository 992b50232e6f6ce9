"""Storage services as black boxes: workloads run with each service's own SDK, packets and a metadata log recorded."""

FLOORS = ("costs", "discovery", "kinds", "services", "queues", "swarm")
"""Its folders, lowest first: each imports from those below it alone (tests/house/test_circles.py)."""
