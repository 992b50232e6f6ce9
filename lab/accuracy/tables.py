"""The tables of docs/accuracy.md, made from judged runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from vmtrace.lab.accuracy import confusion, demands, limit_tables
from vmtrace.lab.accuracy.confusion import COPY, FIRST, REORDERED, RETRANSMISSION, Labels
from vmtrace.lab.accuracy.demands import Judged
from vmtrace.lab.accuracy.readings import Reading


@dataclass(frozen=True, slots=True)
class Row:
    """One run: truth, what each tool read at each end, demands that vmtrace missed, labels packet by packet."""

    name: str
    judged: Judged
    read: Mapping[tuple[str, str], Reading]
    misses: Mapping[str, str]
    labels: Labels | None

    @property
    def truth(self) -> Mapping[str, int]:
        """Of the data's direction."""
        return self.judged.forward


def sections(rows: Sequence[Row], bad: Sequence[str]) -> list[str]:
    """All tables with their headings, line by line."""
    return [
        *_headline(rows),
        *_demands(rows),
        *_retransmissions(rows),
        *_losses(rows),
        *_labels(rows),
        *_round_trips(rows),
        *_confused_causes(rows),
        *_causes(rows),
        *_windows(rows),
        *(
            []
            if not bad
            else ["", "Not judged, since the run itself was not good:", "", *(f"* {line}" for line in bad)]
        ),
    ]


def _table(heading: str, story: str, columns: Sequence[str], lines: Iterable[Sequence[object]]) -> list[str]:
    body = ["| " + " | ".join("" if cell is None else str(cell) for cell in line) + " |" for line in lines]
    numbers = "|".join("---:" for _ in columns[1:])
    return ["", f"### {heading}", "", story, "", "| " + " | ".join(columns) + " |", f"|---|{numbers}|", *body]


def _off(value: int | None, truth: int) -> str:
    """A number, bold where it is not the truth."""
    return "-" if value is None else (str(value) if value == truth else f"**{value}**")


def _headline(rows: Sequence[Row]) -> list[str]:
    """Sums over all runs: how far each tool is from the truth."""
    lines = []
    for side, name in (("sender", "at the sender"), ("receiver", "at the receiver")):
        truths = [row.judged.seen_at(side, "retransmitted_segments") for row in rows]
        for tool in ("vmtrace", "tshark", "tcptrace"):
            shown = [row.read[tool, side].retransmitted or 0 for row in rows]
            wrong = sum(abs(own - truth) for own, truth in zip(shown, truths, strict=True))
            exact = sum(own == truth for own, truth in zip(shown, truths, strict=True))
            share = f"{wrong / max(sum(truths), 1):.2%}"
            lines.append((f"{tool}, {name}", sum(truths), sum(shown), wrong, share, f"{exact} of {len(rows)}"))
    columns = ("retransmitted segments", "truth", "found", "sum of errors", "error", "runs exact")
    story = "Sums over all runs; the error sums absolute differences of each run. tshark: frames with a flag for it."
    return _table("Retransmitted segments, all runs", story, columns, lines)


def _demands(rows: Sequence[Row]) -> list[str]:
    lines = [
        (name, len(rows) - sum(name in row.misses for row in rows), len(rows), "; ".join(_who(rows, name)))
        for name in demands.DEMANDS
    ]
    story = "Each demand on each run, as `lab/accuracy/demands.py` defines it."
    return _table("Demands", story, ("demand", "runs that meet it", "of", "missed"), lines)


def _who(rows: Sequence[Row], name: str) -> list[str]:
    return [f"{row.name}: {row.misses[name]}" for row in rows if name in row.misses]


def _retransmissions(rows: Sequence[Row]) -> list[str]:
    lines = []
    for row in rows:
        line: list[object] = [row.name, row.truth["data_segments_sent"]]
        for side in ("sender", "receiver"):
            truth = row.judged.seen_at(side, "retransmitted_segments")
            tshark = row.read["tshark", side]
            line += [
                truth,
                _off(row.read["vmtrace", side].retransmitted, truth),
                f"{_off(tshark.retransmitted, truth)} / {tshark.out_of_order}",
                _off(row.read["tcptrace", side].retransmitted, truth),
            ]
        lines.append(line)
    columns = (
        "run", "data sent", "rtx sent", "vmtrace", "tshark rtx / ooo", "tcptrace",
        "rtx arrived", "vmtrace", "tshark rtx / ooo", "tcptrace",
    )  # fmt: skip
    story = (
        "Truth in wire segments: sent (columns 3 to 6, sender's capture), arrived (7 to 10); ooo: what tshark "
        "calls out of order. Both others count frames, so with offload (gso) theirs are fewer. Bold: not the truth."
    )
    return _table("Retransmitted segments", story, columns, lines)


def _losses(rows: Sequence[Row]) -> list[str]:
    lines = []
    for row in rows:
        sender, receiver, truth = row.read["vmtrace", "sender"], row.read["vmtrace", "receiver"], row.truth
        lost = truth["data_segments_lost"] + truth["data_segments_corrupted"]
        lines.append(
            (
                row.name,
                lost,
                _off(sender.lost, lost),
                _off(receiver.lost, lost),
                _off(receiver.lost_by_identification, lost),
                truth["unnecessary_retransmissions"],
                f"{sender.spurious} / {receiver.spurious}",
                truth["reordered_originals"],
                f"{sender.out_of_order} / {receiver.out_of_order}",
                truth["duplicates_made"],
                f"{sender.network_duplicates} / {receiver.network_duplicates}",
            )
        )
    columns = (
        "run", "lost", "sender", "receiver", "receiver, by IP-ID", "unnecessary rtx", "sender / receiver",
        "reordered", "sender / receiver", "copies", "sender / receiver",
    )  # fmt: skip
    story = (
        "Data segments; truth, then vmtrace. Lost includes those that arrived corrupted. Inferred from repairs: at the "
        "receiver a repair that was lost itself never shows: the inferred number is a lower bound there, the one by "
        "IP identification is for that. At the sender reordering and copies show only through reports (D-SACK)."
    )
    return _table("Lost, unnecessary, reordered, copied", story, columns, lines)


def _labels(rows: Sequence[Row]) -> list[str]:
    totals = confusion.total(row.labels for row in rows)
    kinds = (RETRANSMISSION, REORDERED, COPY, FIRST)
    lines = [
        (f"{kind}, by {tool}", sum(counts[kind, label] for label in kinds), *(counts[kind, label] for label in kinds))
        for kind in kinds
        for tool, counts in totals.items()
    ]
    story = (
        "Every data packet at the receiver, without offload: what it was (row) and what it was taken for (column). "
        "tshark has no label for copies."
    )
    return _table("Confusion at the receiver", story, ("what it was", "packets", *kinds), lines)


def _round_trips(rows: Sequence[Row]) -> list[str]:
    lines = []
    for row in rows:
        known = row.judged.truth["rtt"]["clean_samples"]["forward"]
        if not known:
            continue
        own, tshark, tcptrace = (row.read[tool, "sender"] for tool in ("vmtrace", "tshark", "tcptrace"))
        lines.append(
            (
                row.name,
                known["samples"],
                own.rtt_samples,
                f"{known['min_s'] * 1e3:.3f}",
                *(_error_ms(tool.rtt_min_s, known["min_s"]) for tool in (own, tshark, tcptrace)),
                f"{known['mean_s'] * 1e3:.3f}",
                *(_error_ms(tool.rtt_mean_s, known["mean_s"]) for tool in (own, tshark, tcptrace)),
                *(_handshake(row, side) for side in ("sender", "receiver")),
            )
        )
    columns = (
        "run", "samples", "vmtrace", "min, ms", "vmtrace", "tshark", "tcptrace", "mean, ms", "vmtrace", "tshark",
        "tcptrace", "handshake, sender", "handshake, receiver",
    )  # fmt: skip
    story = (
        "At the sender, milliseconds; truth, then each tool's distance from it. The emulator's samples lack the host's "
        "20 to 100 microseconds. tshark takes every acknowledgement, with held-back ones; tcptrace rounds to 0.1 ms. "
        "Handshake: vmtrace's shortest one, distance from what the emulator knows of it (0: within)."
    )
    return _table("Round trips", story, columns, lines)


def _error_ms(value: float | None, truth: float) -> str:
    return "-" if value is None else f"{(value - truth) * 1e3:+.3f}"


def _handshake(row: Row, side: str) -> str:
    known = row.judged.handshakes.get(side)
    measured = [rtt for rtt in row.read["vmtrace", side].handshake_rtt_s if rtt is not None]
    return "-" if known is None or not measured else f"{known.error_s(min(measured)) * 1e3:+.3f}"


def _confused_causes(rows: Sequence[Row]) -> list[str]:
    found = [
        limit_tables.Triggers(
            demands.kernel_triggers(row.judged.truth),
            {
                "vmtrace": demands.own_triggers(row.read["vmtrace", "sender"].triggers),
                "tshark": demands.tshark_triggers(row.read["tshark", "sender"].triggers),
            },
        )
        for row in rows
    ]
    return [
        "",
        "### Confusion of causes at the sender",
        "",
        limit_tables.TRIGGERS_STORY,
        "",
        *limit_tables.triggers(found),
    ]


def _causes(rows: Sequence[Row]) -> list[str]:
    lines = []
    for row in rows:
        kernel, own = (
            demands.kernel_triggers(row.judged.truth),
            demands.own_triggers(row.read["vmtrace", "sender"].triggers),
        )
        if not any(kernel.values()):
            continue
        far = demands.own_triggers(row.read["vmtrace", "receiver"].triggers)
        pairs = [f"{kernel[name]} / {own[name]} / {far[name]}" for name in kernel]
        shown, counters = row.read["vmtrace", "sender"].triggers, row.judged.truth["counters"]["sender"]
        lines.append((row.name, *pairs, shown["rack"], shown["unknown"], counters.get("TCPLossProbes", 0)))
    columns = ("run", "fast or RACK", "timeout", "tail probe", "of fast: RACK's timer", "unknown", "TCPLossProbes")
    story = (
        "Retransmitted data segments: the sender's kernel / vmtrace at the sender / vmtrace at the receiver. Kernel: "
        "TCPFastRetrans; TCPTimeouts and TCPSlowStartRetrans, less SYN and FIN; the rest of RetransSegs. TCPLossProbes "
        "has probes with new data too. Runs without retransmissions are left out."
    )
    return _table("Causes of retransmissions", story, columns, lines)


def _windows(rows: Sequence[Row]) -> list[str]:
    lines = []
    for row in rows:
        own = row.read["vmtrace", "sender"]
        zero = [row.read[tool, "sender"].zero_windows for tool in ("vmtrace", "tshark", "tcptrace")]
        limited_s = demands.kernel_limited_s(row.judged.truth)
        if limited_s < 0.02 and not any(zero):
            continue
        far = row.read["vmtrace", "receiver"].limited_s
        lines.append((row.name, f"{limited_s:.3f}", _seconds(own.limited_s), _seconds(far), *zero))
    columns = ("run", "TCP_INFO", "vmtrace, sender", "vmtrace, receiver", "zero windows, vmtrace", "tshark", "tcptrace")
    story = (
        "Seconds limited by the receiver's window: `tcpi_rwnd_limited` of the sending kernel (4 ms steps), vmtrace. "
        "From the receiver's side the sender's view is reconstructed, without the delay of a queue between: too small "
        "where a queue stands. Runs that are not limited are left out."
    )
    return _table("Receiver's window", story, columns, lines)


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
