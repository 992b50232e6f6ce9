"""The tables of swarm runs as text: the answer first, then titles, heads and cells, for terminal and page alike."""

from collections.abc import Callable, Iterator, Sequence

from vmtrace.analyze.findings.joined import joined_lines
from vmtrace.analyze.pages.blocks import Lines
from vmtrace.analyze.pages.on_terminal import Part
from vmtrace.analyze.pages.texts import estimate_text, number_text
from vmtrace.analyze.reports.swarm.records import FORBIDDEN, PUBLIC, WEB_SEED
from vmtrace.analyze.reports.swarm.rows import RunRow, SourceRow
from vmtrace.analyze.reports.swarm.tables import Report
from vmtrace.analyze.tables.table import Table, of_texts
from vmtrace.analyze.words.units import ABSENT, count, printable, ratio, seconds, share, si
from vmtrace.analyze.words.verdict import is_open
from vmtrace.formats.quantities import plural

_UNSETTLED = {"running": "still running, or killed", "interrupted": "interrupted", "failed": "failed"}
_MOST_RUNS = 40
_REFUSALS = ("401", "403")
_KINDS = {"seed": "seed", WEB_SEED: "web seed"}


def heading(report: Report) -> str:
    """What was run, in one line."""
    run = report.measured.run
    size = si(run.size_bytes, "B")
    pieces = f" in pieces of {si(run.piece_bytes, 'B')}" if run.piece_bytes else ""
    made_by = f", {run.client}" if run.client else ""
    return printable(
        f"{report.name}: {run.file or 'a file'}, {size}{pieces}, {plural(len(report.runs), 'download')}{made_by}"
    )


def trouble(report: Report) -> Iterator[str]:
    """What a reader must know before trusting the numbers, a line each."""
    run = report.measured.run
    if run.status in _UNSETTLED:
        yield printable(f"the run is {_UNSETTLED[run.status]}" + (f": {run.error}" if run.error else ""))
    for row in report.runs:
        yield from (printable(f"download {row.number}: {line}") for line in _row_trouble(row))
    without = sum(not one.captured for one in report.swarms)
    if without:
        yield f"{plural(without, 'download')} without a capture: bytes are the client's alone"
    yield from (printable(problem) for problem in report.measured.problems)


def _row_trouble(row: RunRow) -> Iterator[str]:
    if not row.finished:
        yield f"{row.status.replace('_', ' ')}" + (f": {row.error}" if row.error else "")
    if row.hash_failures:
        yield (
            f"{plural(row.hash_failures, 'piece')} with a wrong hash:"
            f" {si(row.failed_bytes, 'B')} received and thrown away{_from(row)}"
        )
    if row.dropped_packets:
        yield f"{plural(row.dropped_packets, 'packet')} dropped while capturing: bytes by packets are too few"
    if row.agrees is False:
        yield f"packets and the client's counters are {share(row.apart)} apart in sum"
    if row.unattributed_bytes:
        yield f"{si(row.unattributed_bytes, 'B')} of the client's total belong to no source"
    for source in row.sources:
        for text, times in source.errors.items():
            if source.kind == WEB_SEED and row.web_seed == FORBIDDEN and text.startswith(_REFUSALS):
                continue  # what the case is about
            yield f"{_KINDS[source.kind]} {source.address}: {text}" + (f" ({times} times)" if times > 1 else "")


def _from(row: RunRow) -> str:
    banned = [source.address for source in row.sources if source.banned]
    return f", banned: {', '.join(banned)}" if banned else ""


def facts(report: Report) -> Iterator[str]:
    """The answer: what the run shows, a sentence each."""
    public = [row for row in report.by_seeds if row.web_seed == PUBLIC and row.finished]
    if len(public) > 1:
        first, last = public[0], public[-1]
        yield (
            f"with {plural(last.seeds, 'seed')} the download takes {seconds(last.duration_s.value)} instead of"
            f" {seconds(first.duration_s.value)} with {first.seeds or 'none'}, and the store delivers"
            f" {share(last.web_seed_share.value)} of the bytes"
        )
    for row in report.private:
        if row.change is not None:
            longer = "longer" if row.change >= 0 else "shorter"
            yield (
                f"with the store forbidden and {plural(row.seeds, 'seed')} it takes {ratio(abs(row.change))} {longer}"
                f" ({seconds(row.forbidden_duration_s)} instead of {seconds(row.public_duration_s)}), and the store"
                f" delivers {si(row.forbidden_store_bytes, 'B')} instead of {si(row.public_store_bytes, 'B')}"
            )
    fair = [row for row in report.by_seeds if row.jain_index.value is not None]
    if fair:
        least = min(fair, key=lambda row: row.jain_index.value or 0.0)
        yield (
            f"shares against measured capacities: Jain's index is {number_text(least.jain_index.value)} at the least"
            f" ({_case(least.web_seed, least.seeds)}); 1 is fair"
        )
    yield from joined_lines(report.findings)
    judged = [row for row in report.runs if row.agrees is not None]
    if judged and all(row.agrees for row in judged):
        yield f"packets and the client's counters agree within 1 % in all {plural(len(judged), 'download')}"
    if report.charges:
        best = max(report.charges, key=lambda row: row.saved_share or 0.0)
        yield (
            f"charges saved: up to {share(best.saved_share)} of the transfer ({_case(best.web_seed, best.seeds)}):"
            f" {_amount(best.charge)} instead of {_amount(best.alone)} {best.currency} a download"
        )


_SHOWN = frozenset({"by_seeds", "private", "sources", "capacities", "charges"})
"""On the terminal; the others are on the page, in JSON and in CSV."""
_MOST_TROUBLES = 12


def parts(reports: Sequence[Report]) -> Iterator[Part]:
    """The answer on the terminal."""
    for report in reports:
        yield Lines(tuple(facts(report)), heading(report))
        wrong = list(trouble(report))
        if len(wrong) > _MOST_TROUBLES:
            wrong[_MOST_TROUBLES:] = [f"and {len(wrong) - _MOST_TROUBLES} more lines: see --html or --json"]
        yield Lines((), troubles=tuple(wrong))
    yield from (table for table in tables(reports) if table.name in _SHOWN)


def tables(reports: Sequence[Report]) -> list[Table]:
    """All tables that have rows."""
    makers: tuple[Callable[[Sequence[Report]], Table], ...] = (
        _by_seeds, _private, _runs, _sources, _capacities, _overhead, _charges,
    )  # fmt: skip
    return [table for make in makers if (table := make(reports)).rows]


def _rows(
    reports: Sequence[Report], rows: Callable[[Report], Iterator[tuple[str, ...]]]
) -> tuple[tuple[str, ...], ...]:
    return tuple((printable(report.name), *cells) for report in reports for cells in rows(report))


def _by_seeds(reports: Sequence[Report]) -> Table:
    def rows(report: Report) -> Iterator[tuple[str, ...]]:
        for row in report.by_seeds:
            yield (
                row.web_seed, count(row.seeds), f"{row.finished}/{row.of}", estimate_text(row.duration_s),
                estimate_text(row.throughput_bps, 1e-6), estimate_text(row.web_seed_share, 100),
                ratio(row.overhead_ratio.value), number_text(row.jain_index.value),
            )  # fmt: skip

    head = (
        "run", "web seed", "seeds", "finished", "time [s]", "throughput [Mbit/s]", "from the store [%]", "overhead",
        "Jain's index",
    )  # fmt: skip
    hint = "Medians of finished downloads, with 95 % confidence intervals from six repeats on (Fig. 5)."
    return of_texts("by_seeds", "Time and share against the number of seeds", head, _rows(reports, rows), hint=hint)


def _private(reports: Sequence[Report]) -> Table:
    def rows(report: Report) -> Iterator[tuple[str, ...]]:
        for row in report.private:
            yield (
                count(row.seeds), seconds(row.public_duration_s), seconds(row.forbidden_duration_s),
                ABSENT if row.change is None else f"{row.change:+.1%}",
                si(row.public_store_bytes, "B"), si(row.forbidden_store_bytes, "B"),
                si(row.public_seed_bytes, "B"), si(row.forbidden_seed_bytes, "B"),
            )  # fmt: skip

    head = (
        "run", "seeds", "time public", "time forbidden", "change", "store, public", "store, forbidden",
        "seeds, public", "seeds, forbidden",
    )  # fmt: skip
    hint = "Medians of finished downloads (Fig. 6)."
    return of_texts("private", "The store public against forbidden", head, _rows(reports, rows), left=1, hint=hint)


def _runs(reports: Sequence[Report]) -> Table:
    def rows(report: Report) -> Iterator[tuple[str, ...]]:
        for row in report.runs[:_MOST_RUNS]:
            yield (
                count(row.number), row.web_seed, count(row.seeds), row.status.replace("_", " "),
                seconds(row.duration_s), si(row.throughput_bps, "bit/s"), si(row.bytes_by_packets, "B"),
                si(row.bytes_by_client, "B"), _signed(row.apart), share(row.web_seed_share),
                si(row.wasted_bytes, "B"), number_text(row.jain_index),
            )  # fmt: skip

    head = (
        "run", "download", "web seed", "seeds", "status", "time", "throughput", "by packets", "by client", "apart",
        "from the store", "wasted", "Jain's index",
    )  # fmt: skip
    hint = f"At most {_MOST_RUNS} of a run; JSON and CSV have all. By packets: TCP payload, each byte once."
    return of_texts("runs", "Downloads", head, _rows(reports, rows), left=1, hint=hint)


def _sources(reports: Sequence[Report]) -> Table:
    def rows(report: Report) -> Iterator[tuple[str, ...]]:
        for row in report.runs[:_MOST_RUNS]:
            for source in row.sources:
                yield (
                    count(row.number), _KINDS[source.kind], printable(source.address),
                    si(source.bytes_by_packets, "B"), si(source.bytes_by_client, "B"), _signed(source.apart),
                    share(source.share), si(source.throughput_bps, "bit/s"), si(source.capacity_bps, "bit/s"),
                    number_text(source.load), _limit(source),
                )  # fmt: skip

    head = (
        "run", "download", "source", "address", "by packets", "by client", "apart", "share", "throughput", "capacity",
        "load", "limited by",
    )  # fmt: skip
    hint = (
        "Load: the share of the bytes over the share of the measured capacity. Throughput is from the first to the last"
        " payload. Limited by: the verdict on the connection that carried most."
    )
    return of_texts("sources", "Sources of each download", head, _rows(reports, rows), left=1, hint=hint)


def _limit(source: SourceRow) -> str:
    if source.limit is None:
        return ABSENT
    name = source.limit.replace("_", " ")
    return f"{name}?" if is_open(source.limit_confidence) else f"{name} ({share(source.limit_share)})"


def _capacities(reports: Sequence[Report]) -> Table:
    def rows(report: Report) -> Iterator[tuple[str, ...]]:
        for row in report.capacities:
            limit = ABSENT if row.limit is None else row.limit.replace("_", " ")
            cells = (si(row.capacity_bps, "bit/s"), si(row.bytes, "B"), seconds(row.active_s), limit)
            yield (_KINDS[row.kind], printable(row.address), *cells)

    head = ("run", "source", "address", "capacity", "received", "in", "limited by")
    hint = "Each source alone, by packets; the first quarter of the time is left out."
    return of_texts("capacities", "Measured capacities", head, _rows(reports, rows), left=3, hint=hint)


def _overhead(reports: Sequence[Report]) -> Table:
    def rows(report: Report) -> Iterator[tuple[str, ...]]:
        for row in report.runs[:_MOST_RUNS]:
            if row.overhead_ratio is None or not row.wire_bytes:
                continue
            parts = row.overhead_bytes
            tls = parts["tls_handshake_bytes"] + parts["tls_record_bytes"]
            headers = sum(parts[name] for name in ("link_bytes", "ip_bytes", "tcp_header_bytes", "tcp_option_bytes"))
            rest = (tls, headers, parts["pure_ack_bytes"], parts["retransmitted_bytes"])
            shares = (share(size / row.wire_bytes) for size in (parts["protocol_bytes"], parts["wasted_bytes"], *rest))
            yield (
                count(row.number),
                row.web_seed,
                count(row.seeds),
                si(row.wire_bytes, "B"),
                ratio(row.overhead_ratio),
                *shares,
            )

    head = (
        "run", "download", "web seed", "seeds", "on the wire", "overhead", "messages", "wasted", "TLS", "headers",
        "pure ACKs", "retransmitted",
    )  # fmt: skip
    hint = (
        "Shares of all bytes on the wire, both directions. Overhead: beyond the file's bytes, over those. Messages:"
        " what BitTorrent and HTTP send in addition to the blocks."
    )
    return of_texts("overhead", "Overhead of the protocol", head, _rows(reports, rows), left=1, hint=hint)


def _charges(reports: Sequence[Report]) -> Table:
    def rows(report: Report) -> Iterator[tuple[str, ...]]:
        for row in report.charges:
            yield (
                row.web_seed, count(row.seeds), count(row.downloads), si(row.store_bytes, "B"),
                f"{_amount(row.charge)} {row.currency}", f"{_amount(row.alone)} {row.currency}",
                f"{_amount(row.saved)} {row.currency}", share(row.saved_share),
            )  # fmt: skip

    prices = reports[0].prices if reports else None
    by = "" if prices is None else f" By the table {prices.table} for {prices.provider}."
    head = ("run", "web seed", "seeds", "downloads", "from the store", "charge", "store alone", "saved", "saved share")
    hint = f"Means for one download: transfer and retrieval, without requests.{by}"
    return of_texts("charges", "Charges saved", head, _rows(reports, rows), hint=printable(hint))


def _case(web_seed: str, seeds: int) -> str:
    store = {PUBLIC: "store public", FORBIDDEN: "store forbidden"}.get(web_seed, "no web seed")
    return f"{store}, {plural(seeds, 'seed')}"


def _signed(value: float | None) -> str:
    return ABSENT if value is None else f"{value:+.2%}"


def _amount(value: float) -> str:
    return f"{value:.4g}"
