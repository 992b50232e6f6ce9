"""What a page lets one look into: pauses and retransmissions of a connection, and the packets around each.

All packets of a long transfer do not fit into a page. Those around the frames that prove the verdict come first, then
those around the longest pauses, then around retransmissions, in order of time; the rest has its frame number.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vmtrace.analyze.charts.packet_series import Category, ConnectionSeries
from vmtrace.analyze.words.document import Record

Plain = dict[str, Any]
Integers = NDArray[np.int64]

EVENT_LIMIT = 2_000
"""Events of each kind on a page of one connection; those of more connections share it."""
ROW_LIMIT = 6_000
"""Packets in the table of a page of one connection; those of more connections share it."""
_CLEARLY = 10
"""Of two packets one is taken as meant if it is so many times nearer."""
_AROUND = 7
"""Packets shown before and behind an event."""
_TIMERS = ("rto", "tlp")
_TRIGGERS = {
    "fast": "fast retransmission: duplicate acknowledgements or SACK",
    "rto": "retransmission timeout (RTO)",
    "tlp": "tail loss probe (TLP)",
    "rack": "RACK: a later segment was acknowledged first",
    "probe": "probe",
    "unknown": "unknown",
}


@dataclass(frozen=True, slots=True)
class Rows:
    """Columns of a connection's packets that events are found by."""

    frame: Integers
    time_ns: Integers
    from_sender: NDArray[np.bool_]
    kind: Category
    trigger: Category
    sequence: Integers
    payload_bytes: Integers

    def place(self, frame: int, time_ns: int) -> int | None:
        """The row of a frame that stands for this moment. Of frames of several files that have its number it is the one
        by far nearest to it; None if none is."""
        found = np.flatnonzero(self.frame == frame)
        if len(found) < 2:
            return int(found[0]) if len(found) else None
        away_ns = np.abs(self.time_ns[found] - time_ns)
        nearest, next_one = np.argsort(away_ns, kind="stable")[:2]
        return int(found[nearest]) if _CLEARLY * away_ns[nearest] < away_ns[next_one] else None


def rows_of(series: ConnectionSeries) -> Rows:
    """The columns of this connection."""
    packets = series.packets
    forth = series.direction == "client_to_server"

    def integers(name: str) -> Integers:
        found: Integers = packets[name].cast(pa.int64()).fill_null(-1).to_numpy()
        return found

    return Rows(
        frame=integers("frame"),
        time_ns=integers("time_ns"),
        from_sender=packets["from_client"].to_numpy() == forth,
        kind=Category(packets, "kind"),
        trigger=Category(packets, "trigger"),
        sequence=integers("sequence"),
        payload_bytes=integers("payload_bytes"),
    )


def gaps(series: ConnectionSeries, rows: Rows, limit: int) -> list[Plain]:
    """The oversize pauses, those that are too many to show being the shortest; in order of time."""
    listed = [gap for gap in series.record[series.direction]["spacing"]["anomalies"] if gap["gap_s"] > 0]
    longest = sorted(listed, key=lambda gap: -gap["gap_s"])[:limit]
    return [_gap(gap, series.record, rows) for gap in sorted(longest, key=lambda gap: gap["start_ns"])]


def _gap(gap: Record, record: Record, rows: Rows) -> Plain:
    before, after = gap["frames"]
    start_s = (gap["start_ns"] - record["start_ns"]) / 1e9
    end_ns = gap["start_ns"] + round(gap["gap_s"] * 1e9)
    return {
        "kind": "gap",
        "time_s": round(start_s + gap["gap_s"], 9),
        "length_s": gap["gap_s"],
        "label": "pause between data packets",
        "cause": gap["cause"].replace("_", " "),
        "confidence": gap["confidence"],
        "frames": [before, after],
        "row": rows.place(after, end_ns),
    }


def retransmissions(series: ConnectionSeries, rows: Rows, limit: int) -> tuple[list[Plain], int]:
    """Retransmissions of the plotted direction, evenly left out beyond `limit`; and how many there are in all."""
    found = np.flatnonzero(rows.from_sender & rows.kind.among("retransmission"))
    shown = found if len(found) <= limit else found[np.linspace(0, len(found) - 1, limit).astype(np.int64)]
    first_sent = _first_sent(rows, shown)
    start_ns = series.record["start_ns"]
    events = []
    for row, first in zip(shown.tolist(), first_sent, strict=True):
        trigger = rows.trigger[row] or "unknown"
        events.append(
            {
                "kind": "timer" if trigger in _TIMERS else "retransmission",
                "time_s": (int(rows.time_ns[row]) - start_ns) / 1e9,
                "label": "retransmission",
                "cause": _TRIGGERS.get(trigger, trigger),
                "frames": [int(rows.frame[row])],
                "row": row,
                "y": int(rows.sequence[row] + rows.payload_bytes[row]),
            }
            | _first(rows, row, first)
        )
    return events, len(found)


def outcome_events(outcome: Plain | None) -> list[Plain]:
    """The frames that show what became of a connection, each once; none for one that opened and ended."""
    if outcome is None:
        return []
    frames = {frame["frame"]: (one["text"], frame) for one in outcome["evidence"] for frame in one["frames"]}
    return [
        {
            "kind": "outcome",
            "time_s": frame["time_s"],
            "label": outcome["name"],
            "cause": text,
            "frames": [number],
            "row": frame["row"],
        }
        for number, (text, frame) in frames.items()
        if frame["time_s"] is not None
    ]


def _first(rows: Rows, row: int, first: int | None) -> Plain:
    if first is None:
        return {}
    waited_s = int(rows.time_ns[row] - rows.time_ns[first]) / 1e9
    return {"first_frame": int(rows.frame[first]), "waited_s": waited_s}


def _first_sent(rows: Rows, wanted: Integers) -> list[int | None]:
    """The row in which the first byte of each of these packets was sent first; None if the capture has not seen it."""
    original = np.flatnonzero(rows.from_sender & rows.kind.among("data", "reordered"))
    order = original[np.argsort(rows.sequence[original], kind="stable")]
    if not len(order):
        return [None] * len(wanted)
    place = np.searchsorted(rows.sequence[order], rows.sequence[wanted], side="right") - 1
    candidate = order[np.maximum(place, 0)]
    start, end = rows.sequence[candidate], rows.sequence[candidate] + rows.payload_bytes[candidate]
    holds = (place >= 0) & (start <= rows.sequence[wanted]) & (rows.sequence[wanted] < end) & (candidate < wanted)
    return [int(row) if good else None for row, good in zip(candidate, holds, strict=True)]


def rows_around(count: int, events: Iterable[int | None], limit: int) -> Integers:
    """The rows around these events, in order; events come first that are first in the list. All rows if they fit.

    Where all events have their rows and there is room, each gets twice as many, and again.
    """
    if count <= limit:
        return np.arange(count)
    wanted = [row for row in dict.fromkeys(events) if row is not None]
    taken = np.zeros(count, np.bool_)
    around = _AROUND
    while wanted and _add_round(taken, wanted, around, limit):
        around *= 2
    return np.flatnonzero(taken)


def _add_round(taken: NDArray[np.bool_], wanted: Sequence[int], around: int, limit: int) -> bool:
    """Take the rows around each; False where the next one's would be too many in all."""
    left = limit - int(np.count_nonzero(taken))
    for row in wanted:
        part = taken[max(row - around, 0) : row + around + 1]
        needed = len(part) - int(np.count_nonzero(part))
        if needed > left:
            return False
        part[:] = True
        left -= needed
    return True


def packet_table(series: ConnectionSeries, rows: Rows, chosen: Integers, inputs: Sequence[str]) -> Plain:
    """These packets by column. `row` is the position in the connection: a gap in it is a gap in the table."""
    part = series.packets.take(pa.array(chosen))
    found: Plain = {
        "row": chosen.tolist(),
        "time_s": [(int(time) - series.record["start_ns"]) / 1e9 for time in rows.time_ns[chosen]],
        "forth": rows.from_sender[chosen].astype(int).tolist(),
        "what": _what(rows, chosen),
    }
    names = ("frame", "sequence", "payload_bytes", "flags", "acknowledgement", "window_bytes", "flight_bytes")
    for name in names:
        found[name] = part[name].to_pylist()
    files = part["input"].to_pylist()
    if len(set(files)) > 1:
        found["file"] = [inputs[number] if number < len(inputs) else "" for number in files]
    return found


def _what(rows: Rows, chosen: Integers) -> list[str]:
    words = []
    for row in chosen.tolist():
        trigger = rows.trigger[row]
        kind = str(rows.kind[row]).replace("_", " ")
        words.append(f"{kind}, {trigger}" if trigger else kind)
    return words
