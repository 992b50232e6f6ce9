"""Connection-pair campaigns from the VM: a probe transfer, then a data transfer, recorded at both ends.

Needs Python 3.9's standard library alone. `vmtrace.sender.wire` is the protocol that `receiver` speaks too.
"""

FLOORS = ("display", "wire")
"""Its folders, lowest first: each imports from those below it alone (tests/house/test_circles.py)."""
