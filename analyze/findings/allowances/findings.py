"""What a capture shows of an allowance: windows in which more was sent, and token buckets that run at a published rate.

Peaks are bytes on the wire of one direction of one connection; other traffic of the instance comes on top, so that a
peak below the allowance proves nothing, and one above it does.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vmtrace.analyze.findings.allowances.published import USER, Allowance
from vmtrace.analyze.words.units import seconds, si

if TYPE_CHECKING:
    from vmtrace.analyze.trace import Trace

DIRECTIONS = ("client_to_server", "server_to_client")
WINDOWS = ("1ms", "10ms", "100ms")
TOLERANCE = 0.05
"""A sustained rate within this of a published one is that one (methods, section 8)."""
MOST_CONNECTIONS = 100
"""Connections whose peaks are listed, those with the highest first."""

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Exceeded:
    """A window in which more was sent than allowed: `above` is `baseline` or `burst`."""

    connection: int
    direction: str
    window: str
    rate_bps: float
    above: str
    frames: tuple[int, ...]

    def as_record(self) -> Record:
        """As in the JSON document."""
        return {
            "connection": self.connection, "direction": self.direction, "window": self.window,
            "rate_bps": self.rate_bps, "above": self.above, "frames": list(self.frames),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Bucket:
    """A token bucket: `matches` is `baseline` or `single_flow`, or none if no published rate is near."""

    connection: int
    direction: str
    sustained_bps: float
    matches: str | None

    def as_record(self) -> Record:
        """As in the JSON document."""
        return {
            "connection": self.connection, "direction": self.direction, "sustained_bps": self.sustained_bps,
            "matches": self.matches,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Findings:
    """All that was found."""

    allowance: Allowance
    peaks: tuple[Exceeded, ...]
    buckets: tuple[Bucket, ...]

    def as_record(self) -> Record:
        """The key `allowance` of the JSON document."""
        allowance = self.allowance
        return {
            "name": allowance.name, "baseline_bps": allowance.baseline_bps, "burst_bps": allowance.burst_bps,
            "single_flow_bps": allowance.single_flow_bps, "source": allowance.source,
            "peaks": [peak.as_record() for peak in self.peaks],
            "token_buckets": [bucket.as_record() for bucket in self.buckets],
        }  # fmt: skip


def find(trace: "Trace", allowance: Allowance) -> Findings:
    """Compare a trace with an allowance."""
    columns = [f"{d}_peak_rate_bps_{window}" for d in DIRECTIONS for window in WINDOWS]
    rates = [f"{d}_token_bucket_sustained_bps" for d in DIRECTIONS]
    trace.load(["id", *columns, *rates])
    ids: list[int] = trace.values("id")
    highest = [max((rate or 0.0 for rate in row), default=0.0) for row in zip(*map(trace.values, columns), strict=True)]
    above = [row for row, rate in enumerate(highest) if rate > allowance.baseline_bps]
    above.sort(key=lambda row: (-highest[row], ids[row]))
    records = trace.records([ids[row] for row in above[:MOST_CONNECTIONS]])
    peaks = [peak for record in records for peak in exceeded(record, allowance)]
    peaks.sort(key=lambda peak: (-peak.rate_bps, peak.connection))
    buckets = [
        Bucket(ids[row], direction, rate, matching(rate, allowance))
        for direction, name in zip(DIRECTIONS, rates, strict=True)
        for row, rate in enumerate(trace.values(name))
        if rate is not None
    ]
    return Findings(allowance, tuple(peaks), tuple(sorted(buckets, key=lambda bucket: bucket.connection)))


def exceeded(record: Record, allowance: Allowance) -> Iterator[Exceeded]:
    """The windows of one connection (an object of the JSON document) that are above the allowance."""
    for direction in DIRECTIONS:
        rates = record[direction].get("peak_rate_bps") or {}
        frames = record[direction].get("peak_frames") or {}
        for window, rate in rates.items():
            if rate > allowance.baseline_bps:
                above = "burst" if rate > allowance.burst_bps else "baseline"
                yield Exceeded(record["id"], direction, window, rate, above, tuple(frames.get(window, ())))


def matching(sustained_bps: float, allowance: Allowance) -> str | None:
    """The published rate that a sustained rate is, within `TOLERANCE`."""
    published = (("baseline", allowance.baseline_bps), ("single_flow", allowance.single_flow_bps))
    for name, rate_bps in published:
        if rate_bps is not None and abs(sustained_bps / rate_bps - 1) <= TOLERANCE:
            return name
    return None


def lines(findings: Findings, limit: int) -> Iterator[str]:
    """For people: a heading, then at most `limit` windows and every token bucket."""
    allowance = findings.allowance
    fixed = allowance.baseline_bps == allowance.burst_bps
    burst = "" if fixed else f", in bursts {si(allowance.burst_bps, 'bit/s')}"
    yield f"allowance {allowance.name}: {si(allowance.baseline_bps, 'bit/s')}{burst}"
    for peak in findings.peaks[:limit]:
        where = f"frames {peak.frames[0]} to {peak.frames[-1]}" if peak.frames else ""
        window = seconds(int(peak.window.removesuffix("ms")) / 1e3)
        what = "above it" if fixed else f"above the {peak.above}"
        yield f"  connection {peak.connection}: {si(peak.rate_bps, 'bit/s')} within {window}, {what}, {where}"
    if len(findings.peaks) > limit:
        yield f"  and {len(findings.peaks) - limit:,} more windows above it"
    yield from bucket_lines(findings.buckets, allowance)
    if not findings.peaks:
        yield "  no window of 1, 10 or 100 ms of a connection is above it"


def bucket_lines(buckets: Sequence[Bucket], allowance: Allowance) -> Iterator[str]:
    """A line for each token bucket, with the published rate that it has."""
    baseline = "the rate given" if allowance.name == USER else f"the baseline of {allowance.name}"
    names = {"baseline": baseline, "single_flow": "the limit of a single flow"}
    for bucket in buckets:
        matched = f": {names[bucket.matches]}" if bucket.matches else ", no published rate"
        yield f"  connection {bucket.connection}: token bucket at {si(bucket.sustained_bps, 'bit/s')}{matched}"
