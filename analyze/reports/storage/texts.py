"""The tables of storage runs as text: titles, heads and cells, the same on the terminal and on the page."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from vmtrace.analyze.findings.joined import joined_lines
from vmtrace.analyze.pages.blocks import Lines
from vmtrace.analyze.pages.on_terminal import Part
from vmtrace.analyze.pages.texts import estimate_text, number_text
from vmtrace.analyze.reports.storage import campaign_texts
from vmtrace.analyze.reports.storage.connections import ROLES
from vmtrace.analyze.reports.storage.over_time import DAY, HOUR, HOUR_OF_DAY
from vmtrace.analyze.reports.storage.overhead import SPLIT
from vmtrace.analyze.reports.storage.tables import Report, kinds_of
from vmtrace.analyze.reports.storage.time_ledger import PARTS
from vmtrace.analyze.tables.table import Table, of_texts
from vmtrace.analyze.words.units import ABSENT, count, instant, printable, ratio, seconds, share, si
from vmtrace.formats.quantities import plural

_UNSETTLED = {"running": "still running, or killed", "interrupted": "interrupted", "failed": "failed"}
_GROUPS_SHOWN = 20
_SERVERS_SHOWN = 100
_HOURS_SHOWN = 48


def heading(report: Report) -> str:
    """What was run, in one line."""
    run = report.run.run
    where = " ".join(filter(None, (run.provider, run.region)))
    plan = f", plan {run.plan}" + (f" x {run.scale:g}" if run.scale not in {None, 1.0} else "") if run.plan else ""
    transactions = plural(len(report.run.transactions), "transaction")
    objects = plural(sum(row.objects for row in report.troubles), "object")
    if report.campaign is not None:
        transactions, objects = campaign_texts.amount(report.campaign)
    name = report.name if report.label in {"", report.name} else f"{report.label} = {report.name}"
    text = f"{name}: {where}{plan}, {transactions}, {objects}"
    return printable(f"{text}, {run.sdk}" if run.sdk else text)


def trouble(report: Report) -> Iterator[str]:
    """What a reader must know before trusting the numbers, a line each."""
    run = report.run.run
    if run.status in _UNSETTLED:
        why = f": {run.error}" if run.error else ""
        yield printable(f"the run is {_UNSETTLED[run.status]}{why}")
    elif run.status == "budget":
        yield "the run ended at its budget"
    if run.left_behind:
        yield f"{plural(run.left_behind, 'object')} could not be removed from the service (vmtrace storage clean)"
    if report.dropped:
        yield f"{plural(report.dropped, 'packet')} dropped while capturing"
    if report.campaign is not None:
        yield from (printable(problem) for problem in report.campaign.problems)
    for one in report.overhead_left_out:
        yield printable(
            f"{one.workload} {one.direction}: overhead leaves out {one.transactions} of"
            f" {plural(one.of, 'transaction')}: {one.reason}"
        )
    without = sum(not one.captured for one in report.run.transactions)
    if without:
        yield f"{plural(without, 'transaction')} without a capture: throughput and errors are those of the log alone"
    found = report.agreement
    if found is not None and found.packets_agree < found.transactions:
        apart = found.transactions - found.packets_agree
        yield (
            f"the interface counted {plural(found.packets_apart, 'packet')} more or fewer than were captured, in "
            f"{apart} of {plural(found.transactions, 'transaction')}"
        )
    yield from (printable(problem) for problem in report.run.problems)


def facts(report: Report) -> Iterator[str]:
    """What the run shows, a sentence each."""
    if report.campaign is not None:
        yield from map(printable, campaign_texts.facts(report.campaign))
    yield from (printable(row.sentence) for row in report.contents)
    yield from joined_lines(report.findings)
    found = report.agreement
    if found is not None and found.packets_agree == found.bytes_agree == found.transactions:
        yield f"captures and interface counters agree to the byte in all {plural(found.transactions, 'transaction')}"
    for pair in report.groups:
        if pair.differs:
            yield (
                f"front ends in {pair.second_block} against {pair.first_block}: {pair.direction} throughput x "
                f"{estimate_text(pair.ratio_of_medians)} (median {si(pair.second_median_bps, 'bit/s')} against "
                f"{si(pair.first_median_bps, 'bit/s')}; p = {_p(pair.p_adjusted)} after correction)"
            )


_SHOWN = frozenset({"beside", "throughput", "overhead", "connections", "times", "charges"})
"""On the terminal. The others are on the page, in JSON and in CSV; those of retries come where there is something."""


def parts(reports: Sequence[Report]) -> Iterator[Part]:
    """The answer on the terminal."""
    for report in reports:
        yield Lines(tuple(facts(report)), heading(report), tuple(trouble(report)))
    campaigns = [report.campaign for report in reports if report.campaign is not None]
    wanted = _SHOWN | campaign_texts.shown(campaigns) | ({"troubles"} if any(map(_has_trouble, reports)) else set())
    yield from (table for table in tables(reports) if table.name in wanted)


def _has_trouble(report: Report) -> bool:
    return any(row.retries or row.errors or row.failed or row.transactions_failed for row in report.troubles)


def tables(reports: Sequence[Report]) -> list[Table]:
    """All tables that have rows."""
    makers: tuple[Callable[[Sequence[Report]], Table], ...] = (
        _side_by_side, _throughput, _overhead, _connections, _times, _limits, _round_trips, _servers, _groups,
        _troubles, _periods, _charges,
    )  # fmt: skip
    campaigns = [(report.label, report.campaign) for report in reports if report.campaign is not None]
    found = [table for make in makers if (table := make(reports)).rows]
    return [*campaign_texts.tables(campaigns), *found]


def _rows(
    reports: Sequence[Report], rows: Callable[[Report], Iterator[tuple[str, ...]]]
) -> tuple[tuple[str, ...], ...]:
    return tuple((printable(report.label), *cells) for report in reports for cells in rows(report))


def _side_by_side(reports: Sequence[Report]) -> Table:
    """Providers side by side: a row for each workload and direction, a column for each run."""
    by_run = [{(row.workload, row.direction): row for row in report.throughput} for report in reports]
    costs = [{(row.workload, row.direction): row for row in report.overhead} for report in reports]
    rows = []
    for kind in kinds_of(reports) if len(reports) > 1 else ():
        cells = []
        for found, cost in zip(by_run, costs, strict=True):
            rate = number_text(found[kind].throughput_bps.value, 1e-6) if kind in found else ABSENT
            cells.append(f"{rate} / {ratio(cost[kind].overhead_ratio) if kind in cost else ABSENT}")
        rows.append((printable(kind[0]), kind[1], *cells))
    head = ("workload", "direction", *(printable(report.label) for report in reports))
    hint = "Median throughput [Mbit/s] / overhead (bytes on the wire beyond the workload's)."
    return of_texts("beside", "Side by side", head, tuple(rows), hint=hint)


def _throughput(reports: Sequence[Report]) -> Table:
    def rows(report: Report) -> Iterator[tuple[str, ...]]:
        for row in report.throughput:
            yield (
                printable(row.workload), row.direction, f"{row.whole}/{row.planned}", count(row.files),
                si(row.file_bytes, "B"), estimate_text(row.throughput_bps, 1e-6), seconds(row.object_time_s.value),
                seconds(row.login_s.value),
            )  # fmt: skip

    head = ("run", "workload", "direction", "whole", "files", "each", "throughput [Mbit/s]", "an object", "login")
    hint = "Medians over repeats with their 95 % confidence intervals, where there are enough for one (Fig. 4)."
    return of_texts("throughput", "Throughput", head, _rows(reports, rows), 3, hint)


def _periods(reports: Sequence[Report]) -> Table:
    """Only of runs that last: the hours of up to two days, and the days and hours of the day of longer ones."""

    def rows(report: Report) -> Iterator[tuple[str, ...]]:
        hours = {row.start_ns for row in report.periods if row.period == HOUR}
        days = {row.start_ns for row in report.periods if row.period == DAY}
        shown = {HOUR: 1 < len(hours) <= _HOURS_SHOWN, DAY: len(days) > 1, HOUR_OF_DAY: len(hours) > _HOURS_SHOWN}
        for row in report.periods:
            if shown[row.period]:
                at = instant(row.start_ns)[:16] if row.hour is None else f"{row.hour:02}:00"
                rates = (row.mean_bps, row.p5_bps, row.median_bps, row.p95_bps)
                yield (
                    printable(row.workload), row.direction, row.period, at, f"{row.whole}/{row.transactions}",
                    *(number_text(rate, 1e-6) for rate in rates),
                )  # fmt: skip

    head = ("run", "workload", "direction", "period", "from (UTC)", "whole", "mean [Mbit/s]", "5 %", "median", "95 %")
    hint = "Throughput of the transactions that began in an hour or on a day; percentiles from twenty on."
    return of_texts("periods", "Throughput by hour and day", head, _rows(reports, rows), 5, hint)


def _overhead(reports: Sequence[Report]) -> Table:
    def rows(report: Report) -> Iterator[tuple[str, ...]]:
        for row in report.overhead:
            bounds = {"tls_record": "≥ ", "signalling": "≤ "} if row.tls_record_is_least else {}
            shares = {part: bounds.get(part, "") + share(value) for part, value in row.shares.items()}
            yield (
                printable(row.workload), row.direction, count(row.transactions), si(row.workload_bytes, "B"),
                ratio(row.tcp_payload_ratio), ratio(row.overhead_ratio), *(shares.get(part, ABSENT) for part in SPLIT),
            )  # fmt: skip

    head = (
        "run", "workload", "direction", "n", "workload bytes", "TCP payload", "overhead",
        *(part.replace("_", " ") for part in SPLIT),
    )  # fmt: skip
    hint = (
        "TCP payload: bytes carried by TCP, each once, over the workload's (Fig. 6b). Overhead: bytes on the wire"
        " beyond the workload's, over those. The shares are of all bytes on the wire and sum to 100 %; with ≥ and ≤,"
        " the snap length cut headers of TLS records."
    )
    return of_texts("overhead", "Overhead", head, _rows(reports, rows), 3, hint)


def _connections(reports: Sequence[Report]) -> Table:
    def rows(report: Report) -> Iterator[tuple[str, ...]]:
        for row in report.connections:
            yield (
                printable(row.workload), row.direction, estimate_text(row.opened), count(row.syn_retransmissions),
                *(number_text(row.by_role[role]) for role in ROLES), row.manner or ABSENT, count(row.at_once),
                number_text(row.objects_per_data_connection), share(row.reused_share),
                f"{row.tls_resumed}/{row.tls_connections - row.tls_unknown}" if row.tls_connections else ABSENT,
            )  # fmt: skip

    head = (
        "run", "workload", "direction", "opened", "SYN retransmissions", *ROLES, "objects", "open at once",
        "objects per connection", "reused", "TLS resumed",
    )  # fmt: skip
    hint = (
        "Of a transaction: connections opened (median), and of which role (mean). Reused: objects that needed no new"
        " connection. Objects each: of a connection that carries objects."
    )
    return of_texts("connections", "Connection management", head, _rows(reports, rows), 3, hint)


def _times(reports: Sequence[Report]) -> Table:
    def rows(report: Report) -> Iterator[tuple[str, ...]]:
        for row in report.times:
            parts = (share(row.shares[part]) for part in PARTS)
            kind = (printable(row.workload), row.direction, row.what)
            yield *kind, count(row.objects), seconds(row.median_s), *parts

    head = ("run", "workload", "direction", "what", "n", "median", *(part.replace("_", " ") for part in PARTS))
    hint = (
        "Shares of the time of all objects, from the SDK's call to its return. An upload's body goes before the answer:"
        " there, the service's own time is part of the transfer. Idle: nothing of the object was on the wire yet."
    )
    return of_texts("times", "Where an object's time goes", head, _rows(reports, rows), 4, hint)


def _limits(reports: Sequence[Report]) -> Table:
    def rows(report: Report) -> Iterator[tuple[str, ...]]:
        for row in report.limits:
            yield (
                printable(row.workload), row.direction, f"{row.judged}/{row.connections}",
                (row.factor or ABSENT).replace("_", " "), share(row.bytes_share), printable(row.slowest or ABSENT),
            )  # fmt: skip

    head = ("run", "workload", "direction", "judged", "limited by", "of the bytes", "the slowest transaction")
    hint = "Verdicts on connections, weighed by the bytes that they moved; those that are undecided do not count."
    return of_texts("limits", "What limited the transfers", head, _rows(reports, rows), 3, hint)


def _round_trips(reports: Sequence[Report]) -> Table:
    def rows(report: Report) -> Iterator[tuple[str, ...]]:
        for row in report.round_trips:
            yield (
                printable(row.front_end), printable(row.method), count(row.sent), count(row.lost), seconds(row.min_s),
                estimate_text(row.median_s, 1e3), seconds(row.max_s),
            )  # fmt: skip

    head = ("run", "front end", "by", "n", "lost", "min", "median [ms]", "max")
    return of_texts("round-trips", "Round-trip times", head, _rows(reports, rows), 3, "Figs. 2 and 3.")


def _servers(reports: Sequence[Report]) -> Table:
    located = any(report.places for report in reports)

    def rows(report: Report) -> Iterator[tuple[str, ...]]:
        for row in report.servers[:_SERVERS_SHOWN]:
            farthest = ABSENT if row.farthest_km is None else f"{number_text(row.farthest_km)} km ({row.rtt_method})"
            yield (
                printable(row.front_end), printable(row.name or ABSENT), count(row.transactions), count(row.objects),
                instant(row.first_seen_ns)[:19], instant(row.last_seen_ns)[:19], seconds(row.min_rtt_s),
                printable(farthest), *([printable(row.place.text if row.place else ABSENT)] if located else []),
            )  # fmt: skip

    head = (
        "run", "front end", "reverse DNS name", "transactions", "objects", "first seen (UTC)", "last seen (UTC)",
        "least RTT", "not farther than", *(["place (by discovery)"] if located else []),
    )  # fmt: skip
    hint = "How far by the least round trip, at two thirds of the speed of light: a bound for what answered, no place."
    return of_texts("servers", "Front ends", head, _rows(reports, rows), 3, hint)


def _groups(reports: Sequence[Report]) -> Table:
    def rows(report: Report) -> Iterator[tuple[str, ...]]:
        for pair in report.groups[:_GROUPS_SHOWN]:
            yield (
                pair.direction, pair.first_block, pair.second_block,
                f"{pair.first_front_ends} / {pair.second_front_ends}",
                f"{pair.first_values} / {pair.second_values}",
                f"{number_text(pair.first_median_bps, 1e-6)} / {number_text(pair.second_median_bps, 1e-6)}",
                estimate_text(pair.ratio_of_medians), number_text(pair.cliffs_delta.value), _p(pair.p_adjusted),
                "yes" if pair.differs else "no",
            )  # fmt: skip

    head = (
        "run", "direction", "block", "other block", "front ends", "values", "median [Mbit/s]", "ratio", "Cliff's delta",
        "p", "differ",
    )  # fmt: skip
    hint = (
        "Every fork in the tree of prefixes of the front ends' addresses: throughput below one side against the other,"
        " within the workloads that both served. p is of a permutation test, adjusted for all forks (Holm)."
    )
    return of_texts("groups", "Groups of front ends", head, _rows(reports, rows), 4, hint)


def _troubles(reports: Sequence[Report]) -> Table:
    def rows(report: Report) -> Iterator[tuple[str, ...]]:
        for row in report.troubles:
            upload = row.direction == "upload"
            write, read = (str(row.retries), ABSENT) if upload else (ABSENT, str(row.retries))
            write_error, read_error = (str(row.errors), ABSENT) if upload else (ABSENT, str(row.errors))
            causes = Counter(row.retry_causes)
            causes.update(row.failed_kinds)  # a cause may be that of retries and of failures
            yield (
                printable(row.workload), row.direction, count(row.objects), share(row.availability),
                share(row.availability_by_retries.get("0")), write, read,
                write_error, read_error, count(row.failed), _counted(causes),
            )  # fmt: skip

    head = (
        "run", "workload", "direction", "objects", "done", "at once", "write retries", "read retries", "write errors",
        "read errors", "failed", "causes",
    )  # fmt: skip
    hint = (
        "Done the first time: without a retry. Retries: requests that repeat one which failed. Errors: what came back,"
        " or arrived, was not what was sent."
    )
    return of_texts("troubles", "Retries and errors", head, _rows(reports, rows), 3, hint)


def _charges(reports: Sequence[Report]) -> Table:
    def rows(report: Report) -> Iterator[tuple[str, ...]]:
        for row in report.charges:
            yield (
                row.category, printable(row.currency), _money(row.predicted), _money(row.invoiced),
                _money(row.difference), ratio(row.difference_share),
            )  # fmt: skip

    head = ("run", "category", "currency", "predicted", "invoiced", "difference", "of predicted")
    hint = "Predicted by the run's table of prices, for what it used, retries included; invoiced by --invoice (Fig. 7)."
    return of_texts("charges", "Charges", head, _rows(reports, rows), 3, hint)


def _money(amount: float | None) -> str:
    return ABSENT if amount is None else number_text(amount)


def _counted(kinds: dict[str, int]) -> str:
    return printable(", ".join(f"{kind}: {number}" for kind, number in kinds.items())) or ABSENT


def _p(value: float | None) -> str:
    return ABSENT if value is None else f"{value:.2g}"
