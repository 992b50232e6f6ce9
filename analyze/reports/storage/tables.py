"""All tables of storage runs in one place, so that terminal, page, CSV and JSON have the same rows."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from vmtrace.analyze.findings.joined import JoinedRow, joined
from vmtrace.analyze.reports.storage.campaign import Campaign
from vmtrace.analyze.reports.storage.charges import Amounts, ChargeRow, charge_rows
from vmtrace.analyze.reports.storage.connections import connection_rows
from vmtrace.analyze.reports.storage.contents import ContentRow, content_rows
from vmtrace.analyze.reports.storage.front_ends import FrontEndPlace, FrontEndRow, front_end_rows
from vmtrace.analyze.reports.storage.groups import block_pairs
from vmtrace.analyze.reports.storage.limits import limit_rows
from vmtrace.analyze.reports.storage.measured import MeasuredRun
from vmtrace.analyze.reports.storage.over_time import period_rows, smoothed_line_bps
from vmtrace.analyze.reports.storage.overhead import agreement_row, left_out, overhead_rows
from vmtrace.analyze.reports.storage.round_trips import round_trip_rows
from vmtrace.analyze.reports.storage.throughput import throughput_rows
from vmtrace.analyze.reports.storage.time_ledger import time_rows
from vmtrace.analyze.reports.storage.troubles import trouble_rows
from vmtrace.analyze.tables.schema.typed import as_record

Record = dict[str, Any]
T = TypeVar("T")
Kind = tuple[str, str]


def _of_run(make: Callable[[MeasuredRun], T]) -> cached_property[T]:
    """A table of a report that is made from its run."""
    return cached_property(lambda report: make(report.run))


@dataclass
class Report:
    """One run with its tables, each made when it is first asked for."""

    run: MeasuredRun
    label: str = ""
    """Short and its own among the runs shown together: for the columns of tables and the legends of figures."""
    invoiced: Amounts | None = None
    """What the service charged, by category."""
    campaign: Campaign | None = None
    """Of runs that are no benchmark."""
    places: Mapping[str, FrontEndPlace] = field(default_factory=dict)
    """Of front ends by address, where a discovery run was given."""

    @property
    def name(self) -> str:
        """Of the run."""
        return self.run.name

    throughput = _of_run(throughput_rows)  # Fig. 4
    periods = _of_run(period_rows)  # hours and days
    smoothed_bps = _of_run(smoothed_line_bps)  # the line of Fig. 5, by the number of the transaction
    connections = _of_run(connection_rows)  # Fig. 6a
    overhead = _of_run(overhead_rows)  # Fig. 6b

    @cached_property
    def contents(self) -> list[ContentRow]:
        """What the client saves on."""
        return content_rows(self.run, self.overhead)

    overhead_left_out = _of_run(left_out)  # what Fig. 6b does not have, and why
    times = _of_run(time_rows)  # time ledger of objects
    round_trips = _of_run(round_trip_rows)  # Figs. 2 and 3
    limits = _of_run(limit_rows)  # verdicts

    @cached_property
    def findings(self) -> list[JoinedRow]:
        """What held the transactions back."""
        return joined(self.run.said, "transaction")

    @cached_property
    def servers(self) -> list[FrontEndRow]:
        """Section II.A."""
        return front_end_rows(self.run, self.places)

    groups = _of_run(block_pairs)  # Section III.C
    troubles = _of_run(trouble_rows)  # retries and errors

    @cached_property
    def charges(self) -> list[ChargeRow]:
        """Fig. 7."""
        return charge_rows(self.run.run, self.invoiced)

    agreement = _of_run(agreement_row)  # captures against counters

    @property
    def dropped(self) -> int:
        """Packets that captures missed."""
        if self.campaign is not None:
            return self.campaign.dropped
        return sum(one.transaction.capture_dropped or 0 for one in self.run.transactions)


def reports_of(
    runs: Sequence[MeasuredRun],
    invoiced: Mapping[str, Amounts] | None = None,
    campaigns: Mapping[str, Campaign] | None = None,
) -> list[Report]:
    """Runs with labels: their names if those are short, else their services, else numbers; and with what was invoiced,
    by their names."""
    names = [run.name for run in runs]
    services = [run.run.provider for run in runs]
    short = all(len(name) <= _SHORT_NAME for name in names)
    labels = names if short else services if len(set(services)) == len(runs) else None
    shown, measured = invoiced or {}, campaigns or {}
    return [
        Report(run, labels[at] if labels else f"#{at + 1}", shown.get(run.name), measured.get(run.name))
        for at, run in enumerate(runs)
    ]


_SHORT_NAME = 16

_TABLES: dict[str, Callable[[Report], Iterable[object]]] = {
    "throughput": lambda report: report.throughput,
    "throughput_by_period": lambda report: report.periods,
    "connections": lambda report: report.connections,
    "overhead": lambda report: report.overhead,
    "contents": lambda report: report.contents,
    "times": lambda report: report.times,
    "round_trips": lambda report: report.round_trips,
    "findings": lambda report: report.findings,
    "limits": lambda report: report.limits,
    "front_end_servers": lambda report: report.servers,
    "front_end_groups": lambda report: report.groups,
    "retries_and_errors": lambda report: report.troubles,
    "charges": lambda report: report.charges,
}


_CAMPAIGN_TABLES: dict[str, Callable[[Campaign], Iterable[object]]] = {
    "probe_sizes": lambda campaign: campaign.sizes,
    "probe_daily": lambda campaign: campaign.daily,
    "probe_hourly": lambda campaign: campaign.hourly,
    "probe_hour_tests": lambda campaign: campaign.hour_tests,
    "probe_successive": lambda campaign: campaign.successive,
    "probe_addresses": lambda campaign: campaign.addresses,
    "probe_change_points": lambda campaign: campaign.change_points,
    "probe_events": lambda campaign: campaign.events,
    "availability": lambda campaign: campaign.availability,
    "hedging": lambda campaign: campaign.hedging,
    "outages": lambda campaign: campaign.outages,
    "campaign_retries": lambda campaign: campaign.retries,
    "locations": lambda campaign: campaign.locations,
    "surge": lambda campaign: campaign.surge,
    "surge_knees": lambda campaign: campaign.surge_knees,
    "sweep": lambda campaign: campaign.sweep,
    "sweep_knees": lambda campaign: campaign.sweep_knees,
    "merge": lambda campaign: campaign.merge,
}


def campaign_tables(report: Report) -> dict[str, list[Record]]:
    """Those of its kind, for files of their own."""
    campaign = report.campaign
    if campaign is None:
        return {}
    return {name: [asdict(row) for row in rows(campaign)] for name, rows in _CAMPAIGN_TABLES.items()}  # type: ignore[call-overload]


def tables(report: Report) -> dict[str, list[Record]]:
    """Every table as records, nested as in JSON."""
    return {name: [as_record(row) for row in rows(report)] for name, rows in _TABLES.items()}


def kinds_of(reports: Iterable[Report]) -> list[Kind]:
    """Workload and direction of all runs, in the order in which they come."""
    return list(dict.fromkeys((row.workload, row.direction) for report in reports for row in report.throughput))
