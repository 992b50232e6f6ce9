"""The strip above everything: what limited all connections of a capture, by number and by bytes, and when they were.

The shares are of all connections; the timeline has those that are in the table, flows of datagrams and lookups.
"""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from vmtrace.analyze.pages.blocks import Shares
from vmtrace.analyze.pages.causes import COLOURS, NOT_JUDGED, UNDECIDED, cause_shares
from vmtrace.analyze.words.factors import in_words
from vmtrace.analyze.words.human_causes import factor_name
from vmtrace.analyze.words.palette import ROLES
from vmtrace.analyze.words.units import printable, share, si
from vmtrace.analyze.words.verdict import is_open
from vmtrace.formats.quantities import plural

if TYPE_CHECKING:
    from vmtrace.analyze.trace import Trace

_OTHERS_SHOWN = 500
"""Flows, and lookups, that have a line."""


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


def timeline(rows: Sequence[dict[str, Any]], header: Mapping[str, Any]) -> dict[str, Any] | None:
    """A line for each connection of the table, flow of datagrams and lookup of a name: when it was, what it is.

    The lines of `rows` come first, in their order; nothing for one line alone. Flows of DNS are the lookups.
    """
    flows = (one for one in header.get("flows", ()) if one["application"] != "dns")
    found = [
        *map(_of_connection, rows),
        *map(_of_flow, islice(flows, _OTHERS_SHOWN)),
        *map(_of_lookup, islice(header.get("lookups", ()), _OTHERS_SHOWN)),
    ]
    if len(found) < 2:
        return None
    first_ns = min(one.start_ns for one in found)
    return {
        "kind": [one.kind for one in found],
        "label": [one.label for one in found],
        "start_s": [round((one.start_ns - first_ns) / 1e9, 6) for one in found],
        "duration_s": [round(one.duration_s, 6) for one in found],
        "cause": [one.cause for one in found],
        "colours": COLOURS | {"flow": ROLES["window"], "lookup": ROLES["host_stall"]},
        "names": {cause: factor_name(cause) for cause in COLOURS} | {"flow": "flow", "lookup": "lookup"},
    }


class _Line(NamedTuple):
    kind: str
    label: str
    start_ns: int
    duration_s: float
    cause: str


def _of_connection(row: Mapping[str, Any]) -> _Line:
    label = printable(f"{row['id']}: {row.get('server_name') or row['server']}")
    cause = cause_of(row.get("verdict_factor"), row.get("verdict_confidence"))
    return _Line("connection", label, row["start_ns"], row["duration_s"], cause)


def _of_flow(flow: Mapping[str, Any]) -> _Line:
    label = printable(f"{flow['application'] or flow['protocol']}: {flow['server']}")
    return _Line("flow", label, flow["start_ns"], flow["duration_s"], "flow")


def _of_lookup(lookup: Mapping[str, Any]) -> _Line:
    """To the reply that was used; without one, to the last query."""
    end_ns = lookup["answered_ns"] or lookup["last_asked_ns"]
    label = printable(f"{lookup['type']} {lookup['name']}")
    return _Line("lookup", label, lookup["asked_ns"], max(end_ns - lookup["asked_ns"], 0) / 1e9, "lookup")
