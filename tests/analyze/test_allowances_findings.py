"""What is above an allowance is named with its frames; what is not, is not."""

from typing import Any

import pytest

from vmtrace.analyze.findings.allowances import findings, published
from vmtrace.analyze.trace import read


def record(peaks: dict[str, float]) -> dict[str, Any]:
    frames = {window: [10, 20] for window in peaks}
    return {
        "id": 3,
        "client_to_server": {"peak_rate_bps": peaks, "peak_frames": frames},
        "server_to_client": {},
    }


def test_windows_above_the_baseline_and_above_the_burst_are_told_apart() -> None:
    allowance = published.of_instance_type("m5.large")
    found = list(findings.exceeded(record({"1ms": 11e9, "10ms": 2e9, "100ms": 0.7e9}), allowance))
    assert [(peak.window, peak.above, peak.frames) for peak in found] == [
        ("1ms", "burst", (10, 20)),
        ("10ms", "baseline", (10, 20)),
    ]


@pytest.mark.parametrize(
    ("sustained_bps", "matches"),
    [(0.75e9, "baseline"), (0.72e9, "baseline"), (0.71e9, None), (4.9e9, "single_flow"), (10e9, None)],
)
def test_a_sustained_rate_within_a_twentieth_is_the_published_one(sustained_bps: float, matches: str | None) -> None:
    assert findings.matching(sustained_bps, published.of_instance_type("m5.large")) == matches


def test_people_read_what_was_found() -> None:
    allowance = published.of_instance_type("m5.large")
    peaks = tuple(findings.exceeded(record({"1ms": 11e9, "10ms": 2e9, "100ms": 0.1e9}), allowance))
    found = findings.Findings(allowance, peaks, (findings.Bucket(3, "client_to_server", 0.75e9, "baseline"),))
    assert list(findings.lines(found, 1)) == [
        "allowance m5.large: 750 Mbit/s, in bursts 10.0 Gbit/s",
        "  connection 3: 11.0 Gbit/s within 1.00 ms, above the burst, frames 10 to 20",
        "  and 1 more windows above it",
        "  connection 3: token bucket at 750 Mbit/s: the baseline of m5.large",
    ]


def test_a_trace_is_compared(long_transfer: Any) -> None:
    trace = read(long_transfer.bytes())
    assert findings.find(trace, published.of_rate(1e12)).peaks == ()
    found = findings.find(trace, published.of_rate(1.0))
    assert [peak.window for peak in found.peaks] == ["1ms", "10ms", "100ms"]
    assert all(peak.above == "burst" and peak.frames[0] <= peak.frames[1] for peak in found.peaks)
