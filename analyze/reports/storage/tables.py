"""All tables of storage runs in one place, so that terminal, page, CSV and JSON have the same rows."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from vmtrace.analyze.findings.joined import JoinedRow, joined
from vmtrace.analyze.reports.storage.campaign import Campaign
from vmtrace.analyze.reports.storage.charges import Amounts, ChargeRow, charge_rows
from vmtrace.analyze.reports.storage.connections import ConnectionRow, connection_rows
from vmtrace.analyze.reports.storage.contents import ContentRow, content_rows
from vmtrace.analyze.reports.storage.front_ends import FrontEndPlace, FrontEndRow, front_end_rows
from vmtrace.analyze.reports.storage.groups import BlockPair, block_pairs
from vmtrace.analyze.reports.storage.limits import LimitRow, limit_rows
from vmtrace.analyze.reports.storage.measured import MeasuredRun
from vmtrace.analyze.reports.storage.over_time import PeriodRow, period_rows, smoothed_bps
from vmtrace.analyze.reports.storage.overhead import (
    AgreementRow,
    LeftOut,
    OverheadRow,
    agreement,
    left_out,
    overhead_rows,
)
from vmtrace.analyze.reports.storage.round_trips import RoundTripRow, round_trip_rows
from vmtrace.analyze.reports.storage.throughput import ThroughputRow, throughput_rows
from vmtrace.analyze.reports.storage.time_ledger import TimeRow, time_rows
from vmtrace.analyze.reports.storage.troubles import TroubleRow, trouble_rows
from vmtrace.analyze.tables.schema.typed import as_record

Record = dict[str, Any]
Kind = tuple[str, str]


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

    @cached_property
    def throughput(self) -> list[ThroughputRow]:
        """Fig. 4."""
        return throughput_rows(self.run)

    @cached_property
    def periods(self) -> list[PeriodRow]:
        """Hours and days."""
        return period_rows(self.run)

    @cached_property
    def smoothed_bps(self) -> dict[int, float | None]:
        """The line of Fig. 5, by the number of the transaction."""
        return smoothed_bps(self.run)

    @cached_property
    def connections(self) -> list[ConnectionRow]:
        """Fig. 6a."""
        return connection_rows(self.run)

    @cached_property
    def overhead(self) -> list[OverheadRow]:
        """Fig. 6b."""
        return overhead_rows(self.run)

    @cached_property
    def contents(self) -> list[ContentRow]:
        """What the client saves on."""
        return content_rows(self.run, self.overhead)

    @cached_property
    def overhead_left_out(self) -> list[LeftOut]:
        """What Fig. 6b does not have, and why."""
        return left_out(self.run)

    @cached_property
    def times(self) -> list[TimeRow]:
        """Time ledger of objects."""
        return time_rows(self.run)

    @cached_property
    def round_trips(self) -> list[RoundTripRow]:
        """Figs. 2 and 3."""
        return round_trip_rows(self.run)

    @cached_property
    def limits(self) -> list[LimitRow]:
        """Verdicts."""
        return limit_rows(self.run)

    @cached_property
    def findings(self) -> list[JoinedRow]:
        """What held the transactions back."""
        return joined(self.run.said, "transaction")

    @cached_property
    def servers(self) -> list[FrontEndRow]:
        """Section II.A."""
        return front_end_rows(self.run, self.places)

    @cached_property
    def groups(self) -> list[BlockPair]:
        """Section III.C."""
        return block_pairs(self.run)

    @cached_property
    def troubles(self) -> list[TroubleRow]:
        """Retries and errors."""
        return trouble_rows(self.run)

    @cached_property
    def charges(self) -> list[ChargeRow]:
        """Fig. 7."""
        return charge_rows(self.run.run, self.invoiced)

    @cached_property
    def agreement(self) -> AgreementRow | None:
        """Captures against counters."""
        return agreement(self.run)

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
    told, measured = invoiced or {}, campaigns or {}
    return [
        Report(run, labels[at] if labels else f"#{at + 1}", told.get(run.name), measured.get(run.name))
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
