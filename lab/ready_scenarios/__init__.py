"""Ready scenarios: a thin cut through the cross product an analyzer must handle, 2 to 6 seconds each.

Covers congestion control, loss, reordering, round-trip time, offload, TCP options, IP version, copies made by the path,
and each limit of a transfer (window, application, buffers, bottleneck, policer, blackout, setup).
"""

from vmtrace.lab.description import Scenario
from vmtrace.lab.ready_scenarios.limits import of_limits
from vmtrace.lab.ready_scenarios.packets import of_packets

SCENARIOS: dict[str, Scenario] = {scenario.name: scenario for scenario in (*of_packets(), *of_limits())}
