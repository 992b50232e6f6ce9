"""Everything that was measured of one connection, for `--connection ID`: the JSON record laid out for reading."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vmtrace.analyze.findings.lines import concerning
from vmtrace.analyze.words.document import Record
from vmtrace.analyze.words.outcomes import detail_lines
from vmtrace.analyze.words.request_lines import request_lines
from vmtrace.analyze.words.server_names import lookup_of, server_name, with_name
from vmtrace.analyze.words.units import ABSENT, count, instant, printable, ratio, seconds, share, si
from vmtrace.analyze.words.verdict import remedies

if TYPE_CHECKING:
    from rich.console import Console

    from vmtrace.analyze.findings.finding import Finding

_NAMES = (("client_to_server", "client → server"), ("server_to_client", "server → client"))

_LABELS = {
    "lost_segments_inferred": "lost segments (inferred)",
    "lost_after_capture_segments": "lost after the capture point",
    "sack_blocks_beyond_sent": "SACK blocks of data never sent",
    "unacceptable_packets": "packets outside every window",
    "lost_segments_ipid": "lost before the capture point (by IP ID)",
    "lost_acknowledgements_ipid": "lost ACKs (by IP ID)",
    "spurious_segments": "unnecessary retransmissions",
    "rejected": "RTT samples not used",
    "later_segment_covered": "ACK covers a later segment",
    "held_back_by_hole": "ACK held back by a hole",
    "acknowledged_before_data": "ACK recorded before its data",
    "delayed_acknowledgements": "delayed ACKs",
    "oversize": "unusually long pauses",
    "oversize_time_s": "time in unusually long pauses",
    "oversize_threshold_s": "unusually long from",
    "oversize_rule": "rule for unusually long",
    "spacing": "time between data packets",
    "goodput_bps": "goodput",
    "reference_bps": "possible (the best rate seen)",
    "limited_time_s": "time limited by the window",
    "limited_fraction": "share of time limited by it",
    "acknowledgement_loss_rate": "ACK loss rate",
    "network_duplicates": "duplicates made by the network",
    "sack_samples": "samples by SACK",
    "timestamp_samples": "samples by timestamps",
    "setup": "handshake",
    "local_host_stall": "host stall on this side",
    "remote_host_stall": "host stall on the other side",
}
"""The field's words for keys whose own would have to be guessed."""

_SUFFIXES: tuple[tuple[str, Callable[[Any], str]], ...] = (
    ("_s", seconds),
    ("_ns", instant),
    ("_bytes", lambda value: si(value, "B")),
    ("_bps", lambda value: si(value, "bit/s")),
    ("_fraction", share),
    ("_rate", share),
    ("_ratio", ratio),
    ("confidence", share),
)


def show(
    record: Record,
    reasons: Mapping[str, str],
    console: "Console",
    findings: "Sequence[Finding]" = (),
    lookups: Sequence[Record] = (),
) -> None:
    """Print one record of the JSON document; `reasons` are the document's texts for what was not measured.

    Of `findings`, which are of the whole capture, those that concern it are printed first. `lookups` are those of the
    document.
    """
    from rich.table import Table
    from rich.text import Text

    server = with_name(record["server"], server_name(record, lookups))
    title = f"connection {record['id']}: {printable(record['client'])} → {printable(server)}"
    console.print(Text(title, "bold"), soft_wrap=True)
    found = [f"  {line}" for line in concerning(findings, record["id"])]
    facts = (*_facts(record), *account_lines(record, lookups))
    for line in (*facts, *([""] if found else []), *found, *detail_lines(record), *_verdict_lines(record)):
        console.print(Text(line), soft_wrap=True)
    console.print()
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("")
    for _, name in _NAMES:
        table.add_column(name, justify="right")
    for label, forth, back in _direction_rows(record):
        table.add_row(Text(label, "bold" if not forth and not back else ""), Text(forth), Text(back))
    console.print(table)
    for part, heading in (("tls", "TLS"), ("ledger", "where the bytes went")):
        if record.get(part):
            console.print()
            console.print(_pairs(heading, record[part], record.get("ledger") if part == "ledger" else None))
    for line in (*request_lines(record), *_limit_lines(record), *_anomaly_lines(record), *_reasons(record, reasons)):
        console.print(Text(line), soft_wrap=True)


def account_lines(record: Record, lookups: Sequence[Record]) -> Iterator[str]:
    """Where the time went: the name that was waited for before the connection began, then its own time."""
    lookup = lookup_of(record, lookups)
    if lookup is not None and lookup["waited_s"] is not None:
        tries = f", {count(lookup['tries'])} tries" if lookup["tries"] > 1 else ""
        name, resolver = printable(lookup["name"]), printable(lookup["resolver"])
        yield f"  before it: {seconds(lookup['waited_s'])} for the name {name} ({lookup['type']}) of {resolver}{tries}"
    parts = [
        f"{seconds(one['time_s'])} {_label(one['kind'])} ({_plain(one['owner'])})"
        for one in record.get("account") or ()
        if one["time_s"] > 0
    ]
    if parts:
        yield f"  its time: {', '.join(parts)}"


def _plain(word: str) -> str:
    return word.replace("_", " ")


def _facts(record: Record) -> Iterator[str]:
    handshake, offload, vantage = record["handshake"], record["offload"], record["vantage"]
    yield f"  start {instant(record['start_ns'])}, lasted {seconds(record['duration_s'])}, close: {record['close']}"
    state = "complete" if handshake["complete"] else "incomplete in the capture"
    repeated = (("SYN", handshake["syn_retransmissions"]), ("SYN-ACK", handshake["syn_ack_retransmissions"]))
    repeats = " and ".join(f"{count(times)} {what}" for what, times in repeated if times is not None)
    repeats = f", {repeats} retransmitted" if repeats else ""
    nearer = "; a device nearer than the host that acknowledges data replied" if handshake["answered_nearer"] else ""
    yield f"  handshake {state}, RTT {seconds(handshake['rtt_s'])}{nearer}{repeats}"
    side = vantage["side"]
    place = f"at the {side}" if side in ("client", "server") else f"{side}"
    yield f"  captured: {place} (confidence {share(vantage['confidence'])})"
    if record.get("bounds_reached"):
        names = ", ".join(_label(name) for name in record["bounds_reached"])
        yield f"  more of these than are remembered, so that numbers may be inexact: {names}"
    if offload["coalesced"]:
        largest = si(offload["largest_segment_bytes"], "B")
        yield f"  segmentation offload: frames of up to {largest} counted as the segments they were cut into"


def _verdict_lines(record: Record) -> Iterator[str]:
    """The verdict: its sentence, the frames that prove it, what would help."""
    verdict = record["verdict"]
    if verdict is None:
        return
    yield ""
    yield f"  why: {printable(verdict['sentence'])}"
    runner_up = f", runner-up {_label(verdict['runner_up'])}" if verdict["runner_up"] else ""
    yield f"  confidence {share(verdict['confidence'])}{runner_up}"
    for evidence in verdict["evidence"]:
        yield f"  evidence: {printable(evidence['text'])}"
        yield f"    {evidence['display_filter']}"
    helps = remedies(record)
    if helps:
        yield "  what would help, from the first packet to the last data (goodput leaves out the handshake):"
    yield from (f"    {remedy}" for remedy in helps)


def _limit_lines(record: Record) -> Iterator[str]:
    """What limited either direction, the longest first."""
    for key, name in _NAMES:
        limits = record[key]["limits"]
        if limits:
            yield ""
            yield f"what limited it, {name}:"
        for limit in limits:
            lost = "" if limit["lost_bytes"] is None else f", shortfall {si(limit['lost_bytes'], 'B')}"
            time, part = seconds(limit["time_s"]), share(limit["fraction"])
            yield f"  {_label(limit['factor']):<22} {time:>8} {part:>7}{lost}"


def _direction_rows(record: Record) -> Iterator[tuple[str, str, str]]:
    forth, back = (record[key] for key, _ in _NAMES)
    for key in _keys(forth, back):
        left, right = forth.get(key), back.get(key)
        if key in ("not_measured", "peak_frames") or list in (type(left), type(right)):
            continue
        if key == "peak_rate_bps":
            yield "peak rate", "", ""
            yield from _peak_rows(forth, back)
        elif isinstance(left, dict) or isinstance(right, dict):
            yield _label(key), "", ""
            yield from _group_rows(left or {}, right or {})
        else:
            yield _label(key), _cell(key, left), _cell(key, right)


def _peak_rows(forth: Record, back: Record) -> Iterator[tuple[str, str, str]]:
    """The peak rates, with the frames of the window."""

    def cell(direction: Record, window: str) -> str:
        if window not in direction.get("peak_rate_bps", {}):
            return ""
        first, last = direction["peak_frames"][window]
        return f"{si(direction['peak_rate_bps'][window], 'bit/s')} (frames {first} to {last})"

    for window in forth.get("peak_rate_bps") or back.get("peak_rate_bps") or {}:
        yield f"  in {window.replace('ms', ' ms')}", cell(forth, window), cell(back, window)


def _group_rows(forth: Record, back: Record, indent: str = "  ") -> Iterator[tuple[str, str, str]]:
    for key in _keys(forth, back):
        left, right = forth.get(key), back.get(key)
        if isinstance(left, dict) or isinstance(right, dict):
            rows = _group_rows if key in ("without_stalls", "recovery", "bursts") else _count_rows
            yield indent + _label(key), "", ""
            yield from rows(left or {}, right or {}, indent + "  ")
        elif not isinstance(left, list) and key != "caveat":
            yield indent + _label(key), _cell(key, left), _cell(key, right)


def _count_rows(forth: Record, back: Record, indent: str) -> Iterator[tuple[str, str, str]]:
    """Counts by reason or trigger, those that are not 0: a count that the record leaves out is."""
    for key in _keys(forth, back):
        left, right = forth.get(key, 0), back.get(key, 0)
        if left or right:
            yield indent + _label(key), _cell(key, left), _cell(key, right)


def _keys(forth: Record, back: Record) -> list[str]:
    """The fields of both directions in the order of the record; either may leave out some."""
    keys = list(forth)
    for place, key in enumerate(back):
        if key not in forth:
            keys.insert(keys.index(list(back)[place - 1]) + 1 if place else 0, key)
    return keys


def _reasons(record: Record, reasons: Mapping[str, str]) -> Iterator[str]:
    """Why some numbers are not there, or less than sure; said once where both directions have the same reason."""
    said: dict[str, list[str]] = {}
    for key, name in _NAMES:
        for field, reason in (record[key].get("not_measured") or {}).items():
            what = "all that needs data" if field == "*" else _label(field.replace(".", " "))
            said.setdefault(f"{what}: {reasons.get(reason, reason)}", []).append(name)
        if record[key]["loss"].get("caveat"):
            caveat = record[key]["loss"]["caveat"]
            said.setdefault(f"loss: {reasons.get(caveat, caveat)}", []).append(name)
    for field, reason in ((record.get("tls") or {}).get("not_measured") or {}).items():
        said.setdefault(f"TLS {_label(field)}: {reasons.get(reason, reason)}", [])
    if said:
        yield ""
        yield "not measured, or uncertain:"
    for text, names in said.items():
        where = f" ({names[0]})" if len(names) == 1 else ""
        yield f"  {printable(text)}{where}"


def _pairs(heading: str, values: Record, ledger: Record | None) -> "Any":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column(heading)
    table.add_column("", justify="right")
    table.add_column("", justify="right")
    whole = ledger["wire_bytes"] if ledger else 0
    for key, value in values.items():
        if isinstance(value, dict):
            continue
        part = share(value / whole) if whole and key.endswith("_bytes") and value is not None else ""
        table.add_row(Text("  " + _label(key)), Text(_cell(key, value)), Text(part))
    return table


def _anomaly_lines(record: Record, limit: int = 10) -> Iterator[str]:
    for key, name in _NAMES:
        anomalies = record[key]["spacing"]["anomalies"]
        if anomalies:
            yield ""
            yield f"longest pauses between data packets, {name}:"
        for gap in sorted(anomalies, key=lambda a: -a["gap_s"])[:limit]:
            before, after = gap["frames"]
            when = (gap["start_ns"] - record["start_ns"]) / 1e9
            cause = _label(gap["cause"])
            yield f"  {seconds(gap['gap_s']):>8} at +{when:.6f} s, frames {before} to {after}, cause {cause}"


def _label(key: str) -> str:
    if key in _LABELS:
        return _LABELS[key]
    for suffix in ("_s", "_ns", "_bytes", "_bps"):
        if key.endswith(suffix) and key != suffix:
            if suffix == "_bytes":
                return key.replace("_", " ")
            return key.removesuffix(suffix).replace("_", " ")
    return key.replace("_", " ")


def _cell(key: str, value: object) -> str:
    if value is None:
        return ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return printable(", ".join(map(str, value))) or "none"
    if isinstance(value, int | float):
        for suffix, text in _SUFFIXES:
            if key.endswith(suffix):
                return text(value)
        return count(value) if isinstance(value, int) else f"{value:.3g}"
    return printable(str(value))
