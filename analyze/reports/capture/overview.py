"""The strip above everything: what limited all connections of a capture, by number and by bytes, and when they were.

The shares are of all connections; the timeline has those that are in the table.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from vmtrace.analyze.pages.blocks import Shares
from vmtrace.analyze.pages.causes import COLOURS, NOT_JUDGED, UNDECIDED, cause_shares
from vmtrace.analyze.words.factors import in_words
from vmtrace.analyze.words.human_causes import factor_name
from vmtrace.analyze.words.units import plural, share, si
from vmtrace.analyze.words.verdict import is_open

if TYPE_CHECKING:
    from vmtrace.analyze.trace import Trace


def causes(trace: "Trace") -> tuple[Shares, ...]:
    """Two bars: connections by cause, and bytes by cause; nothing for one connection alone."""
    if len(trace) < 2:
        return ()
    number, wire_bytes = _counted(trace)
    return (
        cause_shares(
            "What limited them, by connections", number, lambda cause: f", {plural(number[cause], 'connection')}"
        ),
        cause_shares("By bytes on the wire", wire_bytes, lambda cause: f", {si(wire_bytes[cause], 'B')}"),
    )


def _counted(trace: "Trace") -> tuple[dict[str, int], dict[str, int]]:
    """Connections and bytes on the wire by cause."""
    factors, confidences, sizes = trace.true_values(("verdict_factor", "verdict_confidence", "ledger_wire_bytes"))
    number, wire_bytes = dict[str, int](), dict[str, int]()
    for factor, confidence, size in zip(factors, confidences, sizes, strict=True):
        cause = cause_of(factor, confidence)
        number[cause] = number.get(cause, 0) + 1
        wire_bytes[cause] = wire_bytes.get(cause, 0) + (size or 0)
    return number, wire_bytes


def answer(trace: "Trace") -> str:
    """What limited most connections, and what most bytes, in a sentence; nothing of one connection alone."""
    if len(trace) < 2:
        return ""
    number, wire_bytes = _counted(trace)
    decided = [cause for cause in number if cause not in (NOT_JUDGED, UNDECIDED)]
    if not decided:
        judged = UNDECIDED in number
        return f"What limited these {len(trace):,} connections is undecided." if judged else (
            f"None of {len(trace):,} connections is long enough to judge what limited it."
        )  # fmt: skip
    most = max(decided, key=lambda cause: number[cause])
    largest = max(decided, key=lambda cause: wire_bytes[cause])
    name, part = in_words([most]), share(wire_bytes[largest] / (sum(wire_bytes.values()) or 1))
    first = f"{name[0].upper()}{name[1:]} limited {number[most]:,} of {plural(len(trace), 'connection')}"
    if largest == most:
        return f"{first} ({part} of the bytes)."
    return f"{first}; {in_words([largest])} limited most bytes ({part})."


def cause_of(factor: str | None, confidence: float | None) -> str:
    """The factor of a settled verdict; that it is undecided, or that there is none."""
    if factor is None:
        return NOT_JUDGED
    return UNDECIDED if is_open(confidence) else factor


def timeline(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """When each row of the table began, how long it took, and the colour of its cause; `rows` are of the trace."""
    first_ns = min((row["start_ns"] for row in rows), default=0)
    return {
        "start_s": [round((row["start_ns"] - first_ns) / 1e9, 6) for row in rows],
        "duration_s": [round(row["duration_s"], 6) for row in rows],
        "cause": [cause_of(row.get("verdict_factor"), row.get("verdict_confidence")) for row in rows],
        "colours": COLOURS,
        "names": {cause: factor_name(cause) for cause in COLOURS},
    }
