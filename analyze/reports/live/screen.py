"""The state of a stream in lines of text: a screen of them, or one."""

from collections.abc import Sequence
from datetime import datetime

from vmtrace.analyze.findings.facts import CLIENT, SERVER
from vmtrace.analyze.findings.lines import finding_line
from vmtrace.analyze.findings.vocabulary import label
from vmtrace.analyze.reports.live.stream import Snapshot
from vmtrace.analyze.reports.live.window import Figures, Window
from vmtrace.analyze.words.factors import COLUMN_LABELS
from vmtrace.analyze.words.server_names import cell
from vmtrace.analyze.words.units import printable, seconds, share, si
from vmtrace.formats.quantities import plural

_FINDINGS, _CAUSES = 5, 3


def screen(name: str, snapshot: Snapshot, window: Window, height: int, width: int) -> list[str]:
    """So many lines at most, of so many columns: figures, findings, then the connections that carry most."""
    header = snapshot.trace.header()
    lines = [f"{printable(name)}  {figures_text(snapshot, window.last())}", _causes_text(window.last()), ""]
    findings = snapshot.trace.findings
    lines += [f"{number}. {finding_line(one)}" for number, one in enumerate(findings[:_FINDINGS], 1)]
    if len(findings) > _FINDINGS:
        lines.append(f"and {plural(len(findings) - _FINDINGS, 'more finding')}")
    if not findings:
        lines.append("no findings yet")
    lines += ["", f"{'rate':>12} {'bytes':>9} {'RTT':>9} {'retrans':>8} {'limited by':<16} {'':<6} connection"]
    room = max(1, height - len(lines) - 2)
    lines += [_row_text(row) for row in window.rows[:room]]
    others = [plural(len(header[key]), what) for key, what in (("flows", "datagram flow"), ("lookups", "lookup"))]
    hidden = max(0, len(window.rows) - room)
    more = [f"{plural(hidden, 'more connection')}"] if hidden else []
    gone = [f"{plural(snapshot.left, 'connection')} over for long and no longer shown"] if snapshot.left else []
    lines.append(", ".join([*more, *others, *gone]))
    return [line[:width] for line in lines][:height]


def line(snapshot: Snapshot, window: Window) -> str:
    """The same in one line, for a log."""
    findings = snapshot.trace.findings
    first = f"; {finding_line(findings[0])}" if findings else ""
    at_ns = snapshot.newest_ns
    clock = "" if at_ns is None else datetime.fromtimestamp(at_ns / 1e9).astimezone().strftime("%H:%M:%S ")
    causes = _causes_text(window.last())
    return f"{clock}{figures_text(snapshot, window.last())}{f'; {causes}' if causes else ''}{first}"


def figures_text(snapshot: Snapshot, figures: Figures | None) -> str:
    """Rate, RTT, retransmissions of the last seconds; packets and connections of all."""
    inputs = snapshot.trace.header()["inputs"]
    packets = plural(sum(one["packets"] for one in inputs), "packet")
    parts = [packets, plural(len(snapshot.trace) + snapshot.left, "connection")]
    if figures is not None:
        measured = [si(figures.rate_bps, "bit/s")]
        if figures.rtt_s is not None:
            measured.append(f"RTT {seconds(figures.rtt_s)}")
        if figures.retransmitted is not None:
            measured.append(f"retransmitted {share(figures.retransmitted)}")
        parts = [*measured, *parts]
    return ", ".join(parts)


def _causes_text(figures: Figures | None) -> str:
    if figures is None or not figures.causes:
        return ""
    causes = ", ".join(f"{label(kind)} {share(part)}" for kind, part in figures.causes[:_CAUSES])
    return f"last {figures.span_s:.0f} s: {causes}"


def _row_text(row: dict[str, object]) -> str:
    rtt_s, retransmitted, segments = _of_both(row)
    limited = COLUMN_LABELS.get(str(row["verdict_factor"]), "") if row["verdict_factor"] else ""
    close = "" if row["close"] == "open" else str(row["close"])
    return printable(
        f"{si(_number(row['rate_bps']), 'bit/s'):>12} {si(_number(row['ledger_wire_bytes']), 'B'):>9}"
        f" {seconds(rtt_s):>9} {share(retransmitted / segments) if segments else '':>8} {limited:<16} {close:<6}"
        f" {row['client']} > {cell(str(row['server']), str(row['server_name'] or ''))}"
    )


def _of_both(row: dict[str, object]) -> tuple[float | None, float, float]:
    """RTT of the side with most samples; retransmitted and all data segments."""
    sides = (CLIENT, SERVER)
    trips: Sequence[tuple[float, float]] = [
        (_number(row[f"{side}_rtt_samples"]), _number(row[f"{side}_rtt_mean_s"])) for side in sides
    ]
    samples, mean_s = max(trips)
    segments = sum(_number(row[f"{side}_data_segments"]) for side in sides)
    retransmitted = sum(_number(row[f"{side}_loss_retransmitted_segments"]) for side in sides)
    return (mean_s if samples else None), retransmitted, segments


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
