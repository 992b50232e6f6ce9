"""The verdict on one connection as the page shows it first: sentence, evidence with its place in time, what would help.

Beside it what limited the connection at every moment: bands behind all lanes, and their shares in a legend.
"""

from collections import Counter
from typing import Any

from vmtrace.analyze.charts.packet_series import ConnectionSeries
from vmtrace.analyze.reports.capture.events import Rows
from vmtrace.analyze.words.document import Record
from vmtrace.analyze.words.factors import LABELS
from vmtrace.analyze.words.human_causes import factor_name
from vmtrace.analyze.words.palette import FACTORS, PLAIN
from vmtrace.analyze.words.units import printable, seconds, share
from vmtrace.analyze.words.verdict import is_open, remedies

Plain = dict[str, Any]

PLAINLY_APART = 0.01
"""Of all the time: the bands of a factor and its share differ by so much that a reader may ask why."""


def verdict(series: ConnectionSeries, rows: Rows) -> Plain:
    """The verdict in words; of what was too short to judge, that it was. What became of the connection comes first."""
    return _judged(series, rows) | {"outcome": outcome(series, rows)}


def outcome(series: ConnectionSeries, rows: Rows) -> Plain | None:
    """What became of a connection that did not open, move its data or end well; None for one that did."""
    found = series.record.get("outcome")
    if found is None:
        return None
    return {
        "sentence": printable(found["sentence"]),
        "name": found["kind"].replace("_", " "),
        "facts": [f"confidence {share(found['confidence'])}", *_icmp(series.record)],
        "evidence": [_evidence(one, series.record, rows) for one in found["evidence"]],
        "remedy": printable(found["remedy"]),
    }


def _icmp(record: Record) -> list[str]:
    """Who sent ICMP errors about the connection."""
    senders = dict.fromkeys(error["from"] for error in record.get("icmp_errors") or ())
    return [f"ICMP errors from {', '.join(map(printable, senders))}"] if senders else []


def _judged(series: ConnectionSeries, rows: Rows) -> Plain:
    found = series.record["verdict"]
    if found is None:
        return {"sentence": "Not judged: fewer than ten data packets.", "factor": None, "evidence": [], "what_if": []}
    left_open = is_open(found["confidence"])
    between = list(map(factor_name, found["undetermined_between"]))
    facts = [f"confidence {share(found['confidence'])}"]
    if left_open and between:
        facts.append(f"undecided between {' and '.join(between)}")
    if found["runner_up"]:
        facts.append(f"next: {factor_name(found['runner_up'])}")
    return {
        "sentence": printable(found["sentence"]),
        "factor": found["factor"],
        "open": left_open,
        "facts": facts,
        "evidence": [_evidence(one, series.record, rows) for one in found["evidence"]],
        "what_if": remedies(series.record),
    }


def _evidence(evidence: Record, record: Record, rows: Rows) -> Plain:
    timed = zip(evidence["frames"], evidence["times_ns"], strict=True)
    places = [(frame, rows.place(frame, time_ns)) for frame, time_ns in timed]
    frames = [
        {
            "frame": frame,
            "row": place,
            "time_s": None if place is None else (int(rows.time_ns[place]) - record["start_ns"]) / 1e9,
        }
        for frame, place in places
    ]
    return {"text": printable(evidence["text"]), "filter": evidence["display_filter"], "frames": frames}


def bands(series: ConnectionSeries) -> list[list[Any]]:
    """`[from_s, to_s, factor]` for each interval in which one factor limited the transfer."""
    start_ns = series.record["start_ns"]
    return [
        [(one["start_ns"] - start_ns) / 1e9, (one["end_ns"] - start_ns) / 1e9, one["factor"]]
        for one in series.record[series.direction].get("limit_intervals") or ()
    ]


def legend(series: ConnectionSeries) -> list[Plain]:
    """The factors, that of the longest time first, with their share of time and of the shortfall.

    A band has the colour of what held most of its round trip. Where bands of a factor are plainly longer or shorter
    than its time, the entry says so; one without any band has `banded` false.
    """
    limits = series.record[series.direction]["limits"]
    lost = sum(one["lost_bytes"] or 0 for one in limits if one["factor"] != "idle")
    total_s = sum(one["time_s"] for one in limits)
    drawn_ns = band_times(series.record[series.direction])
    ordered = sorted(limits, key=lambda one: -one["time_s"])
    return [
        {
            "factor": one["factor"],
            "text": f"{share(one['fraction'])} of the time ({seconds(one['time_s'])}){_cost(one, lost)}"
            f"{_apart(one['time_s'], drawn_ns[one['factor']], total_s) if drawn_ns else ''}",
            "banded": not drawn_ns or drawn_ns[one["factor"]] > 0,
        }
        for one in ordered
    ]


def band_times(direction: Record) -> Counter[str]:
    """How long the bands of each factor are together, ns."""
    found = Counter[str]()
    for one in direction.get("limit_intervals") or ():
        found[one["factor"]] += one["end_ns"] - one["start_ns"]
    return found


def _apart(time_s: float, drawn_ns: int, total_s: float) -> str:
    if total_s <= 0 or abs(time_s - drawn_ns / 1e9) <= PLAINLY_APART * total_s:
        return ""
    return f"; drawn as {share(drawn_ns / 1e9 / total_s)}" if drawn_ns else "; within bands of others"


def _cost(limit: Record, lost: int) -> str:
    if not limit["lost_bytes"] or not lost or limit["factor"] == "idle":
        return ""
    return f", {share(limit['lost_bytes'] / lost)} of the shortfall"


def looks() -> Plain:
    """Name, colour and hatch of each factor that the engine declares."""
    known = {factor: FACTORS.get(factor, PLAIN) for factor in LABELS}
    return {
        factor: {"name": factor_name(factor), "colour": look.colour, "hatch": look.hatch}
        for factor, look in known.items()
    }
