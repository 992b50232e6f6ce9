"""Ready scenarios: a thin cut through the cross product that an analyzer must handle."""

from __future__ import annotations

from lab.impairments import Impairments
from lab.scenario import Scenario
from lab.transfer import Transfer

SCENARIOS = {
    s.name: s
    for s in [
        Scenario("clean", "no loss, 20 ms", Transfer(payload_bytes=10_000_000), Impairments(delay_s=0.01, rate_bps=50e6, queue_bytes=300_000), Impairments(delay_s=0.01)),
        Scenario("loss1", "1 % loss, 20 ms", Transfer(payload_bytes=10_000_000), Impairments(delay_s=0.01, rate_bps=50e6, queue_bytes=300_000, loss=0.01), Impairments(delay_s=0.01)),
    ]
}
