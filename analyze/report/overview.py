"""The strip above everything: what limited all connections of a capture, by number and by bytes, and when they were.

The shares are of all connections; the timeline has those that are in the table.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from analyze.pages.blocks import Share, Shares
from analyze.palette import FACTORS
from analyze.units import plural, share, si
from analyze.verdict import is_open

if TYPE_CHECKING:
    from analyze.trace import Trace

UNDECIDED, NOT_JUDGED = "undecided", "not judged"
_COLOURS = {factor: look.colour for factor, look in FACTORS.items()} | {UNDECIDED: "#777777", NOT_JUDGED: "#B0B0B0"}
_HATCHES = {factor: look.hatch for factor, look in FACTORS.items()}


def causes(trace: "Trace") -> tuple[Shares, ...]:
    """Two bars: connections by cause, and bytes by cause; nothing for one connection alone."""
    if len(trace) < 2:
        return ()
    factors, confidences, sizes = trace.true_values(("verdict_factor", "verdict_confidence", "ledger_wire_bytes"))
    number, wire_bytes = dict[str, int](), dict[str, int]()
    for factor, confidence, size in zip(factors, confidences, sizes, strict=True):
        cause = cause_of(factor, confidence)
        number[cause] = number.get(cause, 0) + 1
        wire_bytes[cause] = wire_bytes.get(cause, 0) + (size or 0)
    return (
        _bar("What limited them, by connections", number, lambda count: plural(count, "connection")),
        _bar("By bytes on the wire", wire_bytes, lambda size: si(size, "B")),
    )


def cause_of(factor: str | None, confidence: float | None) -> str:
    """The factor of a settled verdict; that it is undecided, or that there is none."""
    if factor is None:
        return NOT_JUDGED
    return UNDECIDED if is_open(confidence) else factor


def _bar(label: str, values: dict[str, int], text: Callable[[int], str]) -> Shares:
    total = sum(values.values())
    ordered = sorted(values.items(), key=lambda one: -one[1])
    parts = (
        Share(
            cause.replace("_", " "),
            value / total,
            f"{share(value / total)}, {text(value)}",
            _COLOURS.get(cause, _COLOURS[UNDECIDED]),
            _HATCHES.get(cause, "dashes" if cause == UNDECIDED else "plain"),
        )
        for cause, value in ordered
        if total
    )
    return Shares(label, tuple(parts))


def timeline(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """When each row of the table began, how long it took, and the colour of its cause; `rows` are of the trace."""
    first_ns = min((row["start_ns"] for row in rows), default=0)
    return {
        "start_s": [round((row["start_ns"] - first_ns) / 1e9, 6) for row in rows],
        "duration_s": [round(row["duration_s"], 6) for row in rows],
        "cause": [cause_of(row.get("verdict_factor"), row.get("verdict_confidence")) for row in rows],
        "colours": _COLOURS,
    }
