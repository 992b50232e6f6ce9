"""Emulated paths between real kernels: hosts in network namespaces, a path of known behaviour, exact truth.

Owns everything that makes a transfer whose loss, delay and order are known packet by packet. Reading captures and
judging them is left to `analyze`.
"""

FLOORS = ("edit", "guest", "profiles", "campaign", "ready_scenarios", "accuracy", "services", "swarm", "world")
"""Its folders, lowest first: each imports from those below it alone (tests/house/test_circles.py)."""
