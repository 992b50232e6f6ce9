"""Everything that the page shows of one connection: verdict, facts, where its bytes went, lanes, events and packets."""

from pathlib import Path
from typing import Any

from vmtrace.analyze.charts.packet_series import ConnectionSeries
from vmtrace.analyze.reports.capture import events, judgement, lanes
from vmtrace.analyze.reports.capture.host_lanes import host_lanes
from vmtrace.analyze.words.document import Record
from vmtrace.analyze.words.palette import LEDGER
from vmtrace.analyze.words.request_lines import request_facts
from vmtrace.analyze.words.units import ABSENT, count, instant, printable, seconds, share, si
from vmtrace.formats.quantities import plural

Plain = dict[str, Any]


def of_connection(
    series: ConnectionSeries, *, connections: int = 1, capture: Path | None = None, inputs: tuple[str, ...] = ()
) -> Plain:
    """One of `connections` on a page. `capture` is the file it was read from, `inputs` are the names of all."""
    rows = events.rows_of(series)
    event_limit = max(events.EVENT_LIMIT // connections, 1)
    gaps = events.gaps(series, rows, event_limit)
    repeats, repeats_in_all = events.retransmissions(series, rows, event_limit)
    verdict = judgement.verdict(series, rows)
    ends = events.outcome_events(verdict["outcome"])
    evidence = [event["row"] for event in ends]
    evidence += [frame["row"] for one in verdict["evidence"] for frame in one["frames"]]
    longest = [gap["row"] for gap in sorted(gaps, key=lambda gap: -gap["length_s"])]
    wanted = [*evidence, *longest, *(one["row"] for one in repeats)]
    chosen = events.rows_around(len(series.packets), wanted, max(events.ROW_LIMIT // connections, 1))
    drawn = lanes.series_of(series, lanes.point_limit(connections))
    host = host_lanes(capture, series.record)
    return {
        "id": series.record["id"],
        "title": printable(series.title),
        "verdict": verdict,
        "facts": facts(series),
        "ledger": ledger(series.record.get("ledger")),
        "end_s": max(series.record["duration_s"], 1e-6),
        "lanes": [*lanes.LANES, *host.lanes],
        "series": [*drawn, *host.series],
        "bands": judgement.bands(series),
        "legend": judgement.legend(series),
        "events": sorted([*gaps, *repeats, *ends], key=lambda event: event["time_s"]),
        "packets": events.packet_table(series, rows, chosen, inputs),
        "notes": [*_notes(series, drawn, len(chosen), repeats_in_all - len(repeats)), *host.notes],
    }


def _notes(series: ConnectionSeries, drawn: list[Plain], rows: int, repeats_left_out: int) -> list[str]:
    """What this page leaves out of the capture."""
    notes = []
    packets = len(series.packets)
    if lanes.thinned(drawn):
        most = max(len(one["y"]) for one in drawn if "y" in one)
        stretch = seconds(series.record["duration_s"] / (most / 4))
        notes.append(
            f"{packets:,} packets are thinned out to at most {most:,} points a series: within about {stretch} only the"
            " first, last, lowest and highest are drawn, however far one zooms in. For every packet of a shorter time,"
            " cut the capture there (editcap -A ... -B ...) and make a report of it."
        )
    if rows < packets:
        notes.append(f"{rows:,} of {packets:,} packets are in this file's tables: those around the events.")
    not_listed = series.record[series.direction]["spacing"].get("anomalies_not_listed") or 0
    if _bands_differ(series.record[series.direction]):
        notes.append(
            "The bands show each round trip of the transfer in the colour of what held most of it, and of very many"
            " the short ones as part of their neighbours; the shares are exact."
        )
    if not_listed:
        notes.append(f"{plural(not_listed, 'more pause')}, shorter than those listed.")
    if repeats_left_out:
        notes.append(f"{plural(repeats_left_out, 'more retransmission')}, evenly left out.")
    return notes


def _bands_differ(direction: Record) -> bool:
    """True if the bands of a factor are together plainly longer or shorter than its time."""
    drawn_ns = judgement.band_times(direction)
    apart_s = judgement.PLAINLY_APART * sum(one["time_s"] for one in direction["limits"])
    far = (abs(drawn_ns[one["factor"]] / 1e9 - one["time_s"]) > apart_s for one in direction["limits"])
    return bool(drawn_ns) and any(far)


def facts(series: ConnectionSeries) -> list[list[str]]:
    """The telling numbers of the plotted direction, as text."""
    record, d = series.record, series.record[series.direction]
    tls = record.get("tls") or {}
    return [
        ["start", instant(record["start_ns"])],
        ["duration", seconds(record["duration_s"])],
        ["payload", si(d["unique_payload_bytes"], "B")],
        ["goodput", si(d["goodput_bps"], "bit/s")],
        ["handshake RTT", seconds(record["handshake"]["rtt_s"])],
        ["RTT min / median / p99", " / ".join(seconds(d["rtt"][k]) for k in ("min_s", "median_s", "p99_s"))],
        ["retransmitted segments", f"{count(d['loss']['retransmitted_segments'])} of {count(d['data_segments'])}"],
        ["loss rate", share(d["loss"]["loss_rate"])],
        *([["ECN congestion marks", plural(d["ecn"]["congestion_events"], "time")]] if "ecn" in d else []),
        ["limited by the window", share(d["window"]["limited_fraction"])],
        ["zero windows", count(d["window"]["zero_windows"])],
        ["unusually long pauses", _oversize(d["spacing"])],
        ["captured at", str(record["vantage"]["side"])],
        ["TLS", printable(" ".join(str(tls[k]) for k in ("version", "cipher", "sni") if tls.get(k))) or "none seen"],
        ["close", str(record["close"])],
        *request_facts(record),
    ]


def _oversize(spacing: Record) -> str:
    if spacing["oversize"] is None:
        return ABSENT
    return f"{count(spacing['oversize'])}, {seconds(spacing['oversize_time_s'])} together"


def ledger(parts: Plain | None) -> list[Plain]:
    """The parts of all wire bytes, those that are there, in drawing order."""
    if not parts or not parts.get("wire_bytes"):
        return []
    bounds = {"tls_record_bytes": "≥ ", "application_bytes": "≤ "} if parts.get("tls_record_is_least") else {}
    return [
        {
            "name": name,
            "colour": look.colour,
            "hatch": look.hatch,
            "text": f"{bounds.get(key, '')}{si(parts[key], 'B')}, {share(parts[key] / parts['wire_bytes'])}",
            "share": parts[key] / parts["wire_bytes"],
        }
        for key, (name, look) in LEDGER.items()
        if parts.get(key)
    ]
