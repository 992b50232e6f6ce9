"""The tables of queue runs as text: titles, heads and cells, the same on the terminal and on the page."""

from collections.abc import Callable, Iterator, Sequence

from vmtrace.analyze.findings.joined import joined_lines
from vmtrace.analyze.pages.blocks import Lines
from vmtrace.analyze.pages.on_terminal import Part
from vmtrace.analyze.reports.queues.fates import fates_text
from vmtrace.analyze.reports.queues.latency import DUE, SENT, clock_error_s
from vmtrace.analyze.reports.queues.quantiles import Quantiles
from vmtrace.analyze.reports.queues.records import BOTH
from vmtrace.analyze.reports.queues.tables import Report
from vmtrace.analyze.tables.table import Table, of_texts
from vmtrace.analyze.words.units import ABSENT, count, printable, seconds, share, si
from vmtrace.formats.quantities import plural

_UNSETTLED = {"running": "still running, or killed", "interrupted": "interrupted", "failed": "failed"}
_PROCESSES_SHOWN = 64
_STAGES_SHOWN = 50


def heading(report: Report) -> str:
    """What was run, in one line."""
    run = report.run
    where = " ".join(filter(None, (run.provider, "FIFO" if run.fifo else None, run.region)))
    place = f" from {run.location}" if run.location else ""
    name = report.name if report.label in {"", report.name} else f"{report.label} = {report.name}"
    plan = f", plan {run.plan}" if run.plan else ""
    return printable(", ".join(filter(None, (f"{name}: {where}{place}{plan}", run.sdk))))


def trouble(report: Report) -> Iterator[str]:
    """What a reader must know before trusting the numbers, a line each."""
    run = report.run
    if run.status in _UNSETTLED:
        yield printable(f"the run is {_UNSETTLED[run.status]}{f': {run.error}' if run.error else ''}")
    elif run.status == "budget":
        yield "the run ended at its budget"
    if run.left_behind:
        yield f"its queue is still at the service (vmtrace queue clean {printable(str(run.folder))})"
    if report.fates.lost is None and report.fates.pending:
        yield "the queue was not searched to the end: some of the pending messages may be lost"
    if report.fates.lost:
        yield f"{plural(report.fates.lost, 'message')} lost: acknowledged by the service, and never delivered"
    if report.foreign:
        yield f"{plural(report.foreign, 'delivery').replace('deliverys', 'deliveries')} of foreign messages: left alone"
    error_s = clock_error_s(report.messages)
    if error_s is not None:
        whose = "the hosts' clocks are matched" if run.half == BOTH else "this host's clock was right"
        yield f"{whose} to within {seconds(error_s)}: latencies have that error"
    negative = sum(row.left_out_negative for row in report.latency if row.stage is not None)
    if negative:
        yield f"{plural(negative, 'message')} received before sent, by the clock: left out of latencies"
    broken = sum(row.left_out_over_break for row in report.latency if row.stage is not None and row.from_ == DUE)
    if broken:
        yield f"{plural(broken, 'message')} waited over a break of the run: left out of latencies"
    if report.wire.dropped:
        yield f"{plural(report.wire.dropped, 'packet')} dropped while capturing"
    yield from (printable(problem) for problem in (*run.problems, *report.wire.problems))


def result(report: Report) -> str:
    """What became of the messages, and how long they took, in a sentence."""
    found = report.duplicates
    again = found.after_visibility + found.within_visibility + found.after_deletion
    twice = f", {plural(again, 'delivery').replace('deliverys', 'deliveries')} again" if again else ", none twice"
    latency = next((row.quantiles for row in report.latency if row.from_ == SENT and row.quantiles.n), None)
    took = f"; median latency {seconds(latency.p50_s)}, 99 % within {seconds(latency.p99_s)}" if latency else ""
    return f"{fates_text(report.fates)}{twice if report.fates.delivered else ''}{took}."


def facts(report: Report) -> Iterator[str]:
    """The answer first, a sentence each."""
    yield fates_text(report.fates)
    found = report.duplicates
    parts = (
        ("after the visibility timeout (deletion was late)", found.after_visibility),
        ("within the visibility timeout (by the service)", found.within_visibility),
        ("after an acknowledged deletion (by the service)", found.after_deletion),
    )
    named = [f"{number:,} {word}" for word, number in parts if number]
    yield f"delivered more than once: {', '.join(named)}" if named else "no message was delivered more than once"
    if report.orders and report.orders[0].n:
        order = report.orders[0]
        text = f"out of order: {share(order.out_of_order_share)}, Kendall's tau {_number(order.tau, 5)}"
        if order.fifo_violations is not None:
            text += f"; FIFO order {'kept' if not order.fifo_violations else f'broken {order.fifo_violations:,} times'}"
        yield text
    size, packets = report.wire_per_message
    if size is not None:
        yield f"on the wire: {si(size, 'B')} and {packets:.3g} packets for each message"
    for row in report.limits[:_STAGES_SHOWN]:
        stage = report.run.stage(row.stage)
        yield printable(f"{stage.name if stage else row.stage}: limited by {row.sentence}")
    yield from joined_lines(report.findings)
    if report.run.charges is not None:
        total = sum(report.run.charges.values())
        yield printable(f"charges: {total:.4f} {report.run.currency} by {report.run.prices}")


_SHOWN = frozenset({"latency", "rates", "order", "calls", "call-parts"})
"""On the terminal; the others are on the page, in JSON and in CSV."""


def parts(reports: Sequence[Report]) -> Iterator[Part]:
    """The answer on the terminal."""
    for report in reports:
        yield Lines(tuple(facts(report)), heading(report), tuple(trouble(report)))
    yield from (table for table in tables(reports) if table.name in _SHOWN)


def tables(reports: Sequence[Report]) -> list[Table]:
    """All tables that have rows."""
    makers: tuple[Callable[[Sequence[Report]], Table], ...] = (
        _latency, _rates, _order, _duplicates, _calls, _lateness, _call_parts, _wire, _processes, _charges,
    )  # fmt: skip
    return [table for make in makers if (table := make(reports)).rows]


def _rows(
    reports: Sequence[Report], rows: Callable[[Report], Iterator[tuple[str, ...]]]
) -> tuple[tuple[str, ...], ...]:
    return tuple((printable(report.label), *cells) for report in reports for cells in rows(report))


_TIMES = ("50 %", "90 %", "99 %", "99.9 %", "99.99 %", "max")


def _times(found: Quantiles) -> tuple[str, ...]:
    values = (found.p50_s, found.p90_s, found.p99_s, found.p999_s, found.p9999_s, found.max_s)
    return tuple(seconds(value) for value in values)


def _latency(reports: Sequence[Report]) -> Table:
    def rows(report: Report) -> Iterator[tuple[str, ...]]:
        for row in report.latency:
            if row.quantiles.n or row.stage is not None:
                yield _stage(report, row.stage), row.from_, count(row.quantiles.n), *_times(row.quantiles)

    head = ("run", "stage", "from", "messages", *_TIMES)
    hint = "Until the response that delivered a message first arrived: from its due time, and from its send call."
    return of_texts("latency", "Send-to-receive latency", head, _rows(reports, rows), 3, hint)


def _rates(reports: Sequence[Report]) -> Table:
    def rows(report: Report) -> Iterator[tuple[str, ...]]:
        for row in report.rates:
            each = row.per_thread_messages_per_s
            spread = f"{min(each):.4g} - {max(each):.4g}" if len(each) > 1 else ABSENT
            yield (
                _stage(report, row.stage), row.operation, count(row.batch), count(row.threads), count(row.messages),
                seconds(row.seconds), _number(row.messages_per_s, 4), spread, _number(row.messages_per_call, 3),
            )  # fmt: skip

    head = (
        "run", "stage", "operation", "batch", "threads", "messages", "in", "messages/s", "each thread", "per call",
    )  # fmt: skip
    return of_texts("rates", "Messages per second", head, _rows(reports, rows), 3)


def _order(reports: Sequence[Report]) -> Table:
    def rows(report: Report) -> Iterator[tuple[str, ...]]:
        for row in report.orders:
            if row.n:
                moved = (row.displacement_p50, row.displacement_p90, row.displacement_p99, row.displacement_max)
                yield (
                    _stage(report, row.stage), count(row.n), share(row.out_of_order_share), _number(row.tau, 5),
                    *map(count, moved), count(row.fifo_violations),
                )  # fmt: skip

    head = (
        "run", "stage", "messages", "out of order", "Kendall's tau", "displaced: 50 %", "90 %", "99 %", "max",
        "FIFO order broken",
    )  # fmt: skip
    hint = "First deliveries against the order of sending. Displacement: by how many places."
    return of_texts("order", "Order of delivery", head, _rows(reports, rows), 2, hint)


def _duplicates(reports: Sequence[Report]) -> Table:
    def rows(report: Report) -> Iterator[tuple[str, ...]]:
        found, fate = report.duplicates, report.fates
        numbers = (
            fate.planned, fate.delivered, fate.pending, fate.lost, fate.lost_in_flight, fate.refused, fate.unsent,
            found.after_visibility, found.within_visibility, found.after_deletion, found.late_deletions, report.foreign,
        )  # fmt: skip
        yield tuple(map(count, numbers))

    head = (
        "run", "planned", "delivered", "pending", "lost", "lost in flight", "refused", "not sent",
        "again: after timeout", "within it", "after deletion", "deleted late", "foreign",
    )  # fmt: skip
    return of_texts("messages", "What became of the messages", head, _rows(reports, rows), 1)


def _call_parts(reports: Sequence[Report]) -> Table:
    def rows(report: Report) -> Iterator[tuple[str, ...]]:
        for row in report.wire.call_parts:
            parts = (row.call_s, row.path_s, row.service_s, row.client_s)
            yield _stage(report, row.stage), row.role, count(row.calls), *map(seconds, parts), row.service_does

    head = ("run", "stage", "process", "calls", "call", "path", "service", "client", "the service")
    hint = (
        "Means of a call, by its packets. Path: handshakes, bytes under way, and the shortest round trip of each"
        " exchange. Service: what the first byte of the response took beyond that. Client: the rest of the call."
    )
    return of_texts("call-parts", "Where the time of a call goes", head, _rows(reports, rows), 3, hint)


def _calls(reports: Sequence[Report]) -> Table:
    def rows(report: Report) -> Iterator[tuple[str, ...]]:
        for row in report.calls:
            refused = sum(row.refused.values())
            yield (
                _stage(report, row.stage), row.operation, count(row.calls), count(row.empty), count(row.retries),
                count(row.failed), count(refused), _causes({**row.retry_causes, **row.errors, **row.refused}),
                *_times(row.quantiles),
            )  # fmt: skip

    head = (
        "run", "stage", "operation", "calls", "empty", "retries", "failed", "refused", "causes", *_TIMES,
    )  # fmt: skip
    return of_texts("calls", "Calls of the SDK", head, _rows(reports, rows), 3)


def _lateness(reports: Sequence[Report]) -> Table:
    def rows(report: Report) -> Iterator[tuple[str, ...]]:
        for row in report.lateness:
            yield _stage(report, row.stage), row.after, count(row.quantiles.n), *_times(row.quantiles)

    head = ("run", "stage", "after", "messages", *_TIMES)
    hint = "How late send calls began after they were due, and after their sender was free (the scheduler's share)."
    return of_texts("lateness", "Lateness of sends", head, _rows(reports, rows), 3, hint)


def _wire(reports: Sequence[Report]) -> Table:
    def rows(report: Report) -> Iterator[tuple[str, ...]]:
        for row in report.wire.rows:
            tls = row.parts["tls_handshake_bytes"]
            yield (
                _stage(report, row.stage), row.role, count(row.messages), count(row.connections), count(row.opened),
                si(row.bytes_per_message, "B"), _number(row.packets_per_message, 3),
                share(tls / row.bytes if row.bytes else None), seconds(row.tls_handshake_median_s),
                share(row.parts["application_bytes"] / row.bytes if row.bytes else None),
            )  # fmt: skip

    head = (
        "run", "stage", "process", "messages", "connections", "opened", "per message", "packets", "TLS handshakes",
        "handshake", "application",
    )  # fmt: skip
    hint = "Connections by the process that opened them; shares are of the bytes on the wire."
    return of_texts("wire", "On the wire", head, _rows(reports, rows), 3, hint)


def _processes(reports: Sequence[Report]) -> Table:
    def rows(report: Report) -> Iterator[tuple[str, ...]]:
        for row in report.processes[:_PROCESSES_SHOWN]:
            grown = None if row.most_bytes is None or row.start_bytes is None else row.most_bytes - row.start_bytes
            yield (
                _stage(report, row.stage), f"{row.role} {row.place}", si(row.start_bytes, "B"), si(grown, "B"),
                share(row.cpu_share), share(row.waited_share),
            )  # fmt: skip

    head = ("run", "stage", "process", "memory at start", "grown by at most", "processor", "waited for the backlog")
    return of_texts("processes", "Processes", head, _rows(reports, rows), 3)


def _charges(reports: Sequence[Report]) -> Table:
    def rows(report: Report) -> Iterator[tuple[str, ...]]:
        charges = report.run.charges
        for name, amount in (charges or {}).items():
            yield (
                printable(name),
                f"{amount:.6f}",
                printable(report.run.currency or ""),
                printable(report.run.prices or ""),
            )

    return of_texts("charges", "Charges", ("run", "for", "amount", "currency", "prices"), _rows(reports, rows), 2)


def _stage(report: Report, number: int | None) -> str:
    if number is None:
        return "all"
    stage = report.run.stage(number)
    return printable(stage.name) if stage is not None else str(number)


def _causes(found: dict[str, int]) -> str:
    return printable(", ".join(f"{name} x {number}" for name, number in found.items())) or ABSENT


def _number(value: float | None, digits: int) -> str:
    return ABSENT if value is None else f"{value:.{digits}g}"
