"""The JSON document `vmtrace.storage_report/1` (docs/report.md), and the same tables as CSV files.

Its parts are the rows that are measured: what they declare is its schema, too.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Literal, NotRequired, TypedDict

from vmtrace.analyze.findings.joined import JoinedRow
from vmtrace.analyze.read.records.service_run import RunHead
from vmtrace.analyze.reports.storage.availability import AvailabilityRow, Outage
from vmtrace.analyze.reports.storage.campaign import AVAILABILITY, LOCATIONS, PROBES, SURGE, SWEEP, tables_of
from vmtrace.analyze.reports.storage.change_points import ChangePoint
from vmtrace.analyze.reports.storage.charges import ChargeRow
from vmtrace.analyze.reports.storage.connections import ConnectionRow
from vmtrace.analyze.reports.storage.contents import ContentRow
from vmtrace.analyze.reports.storage.front_ends import FrontEndRow
from vmtrace.analyze.reports.storage.groups import BlockPair
from vmtrace.analyze.reports.storage.hedging import HedgingRow
from vmtrace.analyze.reports.storage.hours import HourTest
from vmtrace.analyze.reports.storage.limits import LimitRow
from vmtrace.analyze.reports.storage.locations import LocationRow
from vmtrace.analyze.reports.storage.measured import MeasuredRun, MeasuredTransaction
from vmtrace.analyze.reports.storage.network_events import NetworkEvent
from vmtrace.analyze.reports.storage.over_time import PeriodRow, smoothed_line_bps
from vmtrace.analyze.reports.storage.overhead import AgreementRow, LeftOut, OverheadRow
from vmtrace.analyze.reports.storage.probes import AddressRow, ProbePeriodRow, SizeRow, SuccessiveRow
from vmtrace.analyze.reports.storage.records import Direction
from vmtrace.analyze.reports.storage.round_trips import RoundTripRow
from vmtrace.analyze.reports.storage.surge import SurgeRow
from vmtrace.analyze.reports.storage.surge_hosts import all_hosts
from vmtrace.analyze.reports.storage.sweep import MergeRow, SweepRow
from vmtrace.analyze.reports.storage.tables import Record, Report, campaign_tables, tables
from vmtrace.analyze.reports.storage.throughput import ThroughputRow, throughput_bps
from vmtrace.analyze.reports.storage.time_ledger import TimeRow, object_times
from vmtrace.analyze.reports.storage.troubles import TroubleRow
from vmtrace.analyze.stats.estimates import CONFIDENCE
from vmtrace.analyze.tables.csv_files import flat, with_names
from vmtrace.analyze.tables.provenance import of_report
from vmtrace.analyze.tables.schema.typed import FLAT, Count, Positive, one_of, record_of
from vmtrace.analyze.trace import version


@dataclass(frozen=True, slots=True)
class TransactionRow:
    """One transaction."""

    transaction: Count
    workload: str
    direction: Direction
    repeat: Count
    start_ns: int
    status: str
    objects: Count
    moved_bytes: Count
    throughput_bps: Positive | None
    smoothed_bps: Positive | None
    """Running median of its workload and direction; null near the ends and where there are few."""
    connections: Count | None
    """None without a capture."""
    wire_bytes: Count | None
    """Of the connections to the service."""
    application_bytes: Count | None
    packets: Count | None
    dropped: Count | None
    lookups: Count | None
    other_connections: Count | None
    """In the capture, not to the service."""


def transaction_rows(run: MeasuredRun) -> list[TransactionRow]:
    """In the order of the run."""
    smoothed = smoothed_line_bps(run)
    return [_row(one, smoothed[one.transaction.number]) for one in run.transactions]


def _row(one: MeasuredTransaction, smoothed: float | None) -> TransactionRow:
    transaction, captured = one.transaction, one.captured
    overhead = one.overhead
    return TransactionRow(
        transaction=transaction.number,
        workload=transaction.workload,
        direction=transaction.direction,
        repeat=transaction.repeat,
        start_ns=transaction.start_ns,
        status=transaction.status,
        objects=len(one.objects),
        moved_bytes=sum(stored.moved_bytes for stored in one.objects),
        throughput_bps=throughput_bps(one),
        smoothed_bps=smoothed,
        connections=len(one.connections) if captured else None,
        wire_bytes=overhead.wire_bytes if captured else None,
        application_bytes=overhead.application_bytes if captured else None,
        packets=one.packets,
        dropped=transaction.capture_dropped,
        lookups=len(one.lookups) if captured else None,
        other_connections=one.other_connections if captured else None,
    )


SCHEMA = "vmtrace.storage_report/1"


class Event(TypedDict):
    """A dated step of several sizes and directions."""

    event: Annotated[NetworkEvent, FLAT]
    steps: Annotated[int, "How many."]


class CampaignAbout(TypedDict):
    """Of a run that is no benchmark."""

    kind: Annotated[str, one_of(PROBES, SURGE, AVAILABILITY, LOCATIONS, SWEEP)]
    location: str | None
    requests: int | None


class Probes(TypedDict):
    """Of probes, availability and locations."""

    sizes: list[SizeRow]
    daily: list[ProbePeriodRow]
    hourly: list[ProbePeriodRow]
    hour_tests: list[HourTest]
    successive: list[SuccessiveRow]
    addresses: list[AddressRow]
    change_points: list[ChangePoint]
    events: NotRequired[list[Event]]


class Run(RunHead):
    """A run, and everything measured of it."""

    provider: str
    region: str | None
    endpoint: str | None
    sdk: str | None
    plan: str | None
    scale: float | None
    front_ends: list[str]
    left_behind: Annotated[Count, "Objects that could not be removed from the service"]
    dropped_packets: Count
    problems: list[str]
    overhead_left_out: Annotated[
        list[LeftOut], "Transactions whose overhead is not known, by workload, direction and reason"
    ]
    interface_agreement: AgreementRow | None
    throughput: list[ThroughputRow]
    throughput_by_period: NotRequired[list[PeriodRow]]
    connections: list[ConnectionRow]
    overhead: list[OverheadRow]
    contents: NotRequired[list[ContentRow]]
    times: list[TimeRow]
    round_trips: list[RoundTripRow]
    findings: Annotated[list[JoinedRow], "What held the transfers back, by their packets"]
    limits: list[LimitRow]
    front_end_servers: NotRequired[list[FrontEndRow]]
    front_end_groups: list[BlockPair]
    retries_and_errors: list[TroubleRow]
    charges: NotRequired[Annotated[list[ChargeRow], "Empty without a table of prices"]]
    campaign: NotRequired[CampaignAbout | None]
    probes: NotRequired[Probes | None]
    surge: NotRequired[list[SurgeRow]]
    locations: NotRequired[list[LocationRow]]
    sweep: NotRequired[list[SweepRow]]
    merge: NotRequired[list[MergeRow]]
    availability: NotRequired[list[AvailabilityRow]]
    outages: NotRequired[list[Outage]]
    hedging: NotRequired[list[HedgingRow]]
    transactions: list[TransactionRow]


class Document(TypedDict):
    """What `vmtrace storage report --json` writes. Seconds are _s, instants _ns (Unix nanoseconds), sizes _bytes,
    rates _bps (bits/s), shares 0..1. A number that could not be measured is null. Keys are only added within
    version 1.
    """

    schema: Literal["vmtrace.storage_report/1"]
    vmtrace: str
    confidence: Positive
    runs: list[Run]


def document(reports: Sequence[Report]) -> Record:
    """Everything measured of these runs."""
    return {
        "schema": SCHEMA,
        "vmtrace": version(),
        "confidence": CONFIDENCE,
        "runs": [_run(report) for report in reports],
        "surge_all_hosts": [asdict(row) for row in _all_hosts(reports)],
    }


def _all_hosts(reports: Sequence[Report]) -> list[SurgeRow]:
    return all_hosts([report.campaign for report in reports if report.campaign is not None])


def provenance(reports: Sequence[Report]) -> Record:
    """Where the results come from."""
    runs = [{"path": str(one.run.run.folder), "name": one.name, "id": one.run.run.id} for one in reports]
    return of_report(SCHEMA, runs=runs)


def csv_tables(reports: Sequence[Report]) -> dict[str, list[Record]]:
    """Every table as flat rows, with the run in the first column."""
    rows = with_names("run", ((one.name, _csv_tables(one)) for one in reports))
    return rows | {"surge_all_hosts": [flat(asdict(row)) for row in _all_hosts(reports)]}


def _csv_tables(report: Report) -> dict[str, list[Record]]:
    return {
        **tables(report),
        **campaign_tables(report),
        "transactions": [asdict(row) for row in transaction_rows(report.run)],
        "object_times": [asdict(times) for one in report.run.transactions for times in object_times(one)],
    }


def _run(report: Report) -> Record:
    run = report.run.run
    return record_of(
        Run,
        run,
        path=str(run.folder),
        name=report.name,
        dropped_packets=report.dropped,
        problems=list(report.run.problems),
        overhead_left_out=report.overhead_left_out,
        interface_agreement=report.agreement,
        **tables(report),
        **tables_of(report.campaign),
        transactions=transaction_rows(report.run),
    )
