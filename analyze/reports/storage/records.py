"""What a storage run wrote down (`vmtrace.storage_run/1`, docs/storage.md), as values: transactions, objects, echoes.

Absent is None. Only the fields that the report uses are taken; what has the wrong type raises `FieldError`.
"""

from dataclasses import dataclass
from typing import Annotated, Any

from vmtrace.analyze.read.records.fields import Count, Fields, Positive
from vmtrace.analyze.read.records.service_run import ServiceRun
from vmtrace.analyze.read.records.window import ALL_TIME, Window
from vmtrace.analyze.tables.schema.typed import one_of

DIRECTIONS = ("upload", "download")
Direction = Annotated[str, one_of(*DIRECTIONS)]
BENCHMARK = "benchmark"
RANDOM = "random"

Endpoint = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Use:
    """One TCP connection that an exchange used."""

    local: Endpoint | None
    peer: Endpoint | None
    requests: Count
    opened: bool
    """It was opened in this exchange."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """What was said to the service for one object, or for the login."""

    start_ns: int
    end_ns: int
    first_byte_ns: int | None
    requests: Count
    retries: Count
    retry_causes: tuple[tuple[str, int], ...]
    status: int | None
    front_end: Endpoint | None
    connections: tuple[Use, ...]

    @property
    def duration_s(self) -> float:
        """Never negative: a clock that was set back leaves 0."""
        return max(self.end_ns - self.start_ns, 0) / 1e9


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One object in one direction: a line of the metadata log."""

    transaction: int
    number: int
    bytes: Count
    moved_bytes: Count
    outcome: str
    error_kind: str | None
    exchange: Exchange


@dataclass(frozen=True, slots=True)
class Counters:
    """What an interface counted before and after a transaction."""

    packets: int
    bytes: int
    quiet: bool


@dataclass(frozen=True, slots=True)
class Transaction:
    """All files of one workload in one direction, in one repeat."""

    number: int
    workload: str
    repeat: Count
    direction: str
    files: Count
    file_bytes: Count
    bytes: Count
    start_ns: int
    end_ns: int
    status: str
    error_kind: str | None
    login: Exchange | None
    moved_bytes: Count
    capture_file: str | None
    capture_dropped: int | None
    capture_written: int | None
    capture_wire_bytes: int | None
    counters: Counters | None
    content: str = RANDOM
    """Of its files."""
    command: bool = False
    """A program of its own moved it, and said nothing of its requests."""


@dataclass(frozen=True, slots=True)
class Echo:
    """One round trip to a front end; `rtt_s` is None if no answer came."""

    front_end: str
    method: str
    rtt_s: Positive | None
    time_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Used:
    """Bodies and requests of the whole run, retries and removals included."""

    uploaded_bytes: int
    downloaded_bytes: int
    write_requests: int
    read_requests: int
    delete_requests: int


@dataclass(frozen=True, slots=True)
class StorageRun(ServiceRun):
    """A run folder."""

    provider: str
    region: str | None
    endpoint: str | None
    sdk: str | None
    plan: str | None
    scale: float | None
    start_ns: int | None
    interface: str | None
    front_ends: tuple[str, ...]
    front_end_names: dict[str, str]
    """Their names in reverse, by address; those that have one."""
    transactions: tuple[Transaction, ...]
    objects: tuple[StoredObject, ...]
    echoes: tuple[Echo, ...]
    left_behind: int
    currency: str | None
    """Of its table of prices; None without one."""
    cost: float | None
    charges: dict[str, float] | None
    """The cost by category; None in runs that did not write it down."""
    problems: tuple[str, ...]
    used: Used | None = None
    kind: str = BENCHMARK
    """Of its plan."""
    location: str | None = None
    host: str | None = None
    late_after_s: float | None = None
    clock_offset_s: float | None = None
    clock_error_s: float | None = None
    surge_start_ns: int | None = None
    plan_record: str | None = None
    """The plan as JSON, to see whether two runs have the same."""
    stock_replaced: int = 0
    window: Window = ALL_TIME
    """Of its requests and steps; transactions and echoes are those within already."""


def exchange_record(fields: Fields) -> Exchange:
    """An EXCHANGE."""
    causes = fields.part("retry_causes")
    counted = tuple((cause, causes.count(cause) or 0) for cause in causes.names()) if causes else ()
    return fields.read(Exchange, retry_causes=counted)


def object_record(fields: Fields) -> StoredObject:
    """A line of `objects.jsonl`."""
    outcome = fields.text("outcome") or "failed"
    return fields.read(
        StoredObject, number=fields.count("object") or 0, outcome=outcome, exchange=exchange_record(fields)
    )


def transaction_record(fields: Fields) -> Transaction:
    """A line of `transactions.jsonl`."""
    direction = fields.text("direction")
    if direction not in DIRECTIONS:
        raise fields.wrong("direction", "upload or download")
    login = fields.part("login")
    return fields.read(
        Transaction,
        number=fields.needed("transaction"),
        workload=fields.text("workload") or "",
        status=fields.text("status") or "failed",
        login=exchange_record(login) if login and "start_ns" in login and "end_ns" in login else None,
        **fields.capture("dropped", "written", "wire_bytes"),
        counters=_counters(fields.part("interface")),
        content=fields.text("content") or RANDOM,
        command=fields.part("tool") is not None,
    )


def _counters(interface: Fields | None) -> Counters | None:
    if interface is None:
        return None
    before, after = interface.part("before"), interface.part("after")
    if before is None or after is None:
        return None
    changes = {}
    for name in ("rx_packets", "tx_packets", "rx_bytes", "tx_bytes"):
        first, last = before.integer(name), after.integer(name)
        if first is None or last is None or last < first:
            return None
        changes[name] = last - first
    quiet = interface.flag("quiet_before") is True and interface.flag("quiet_after") is True
    packets, size = (changes[f"rx_{what}"] + changes[f"tx_{what}"] for what in ("packets", "bytes"))
    return Counters(packets, size, quiet)


def names_record(names: Fields | None) -> dict[str, str]:
    """`front_end_names` of `run.json`."""
    return {} if names is None else {one: name for one in names.names() if (name := names.text(one)) is not None}


def charges_record(used: Fields | None) -> dict[str, float] | None:
    """What `used` of `run.json` says of charges by category."""
    charges = used.part("charges") if used is not None else None
    if charges is None:
        return None
    return {name: amount for name in charges.names() if (amount := charges.amount(name)) is not None}


def used_record(used: Fields | None) -> Used | None:
    """What `used` of `run.json` counted; None unless it counted all of it."""
    counts = [used.count(name) for name in Used.__slots__] if used is not None else [None]
    known = [count for count in counts if count is not None]
    return Used(*known) if len(known) == len(counts) else None


def campaign_record(record: Fields) -> dict[str, Any]:
    """What `run.json` says of a campaign that is no benchmark."""
    plan, clock = record.part("plan"), record.part("clock")
    return {
        "kind": (plan.text("kind") if plan else None) or BENCHMARK,
        "location": record.text("location"),
        "host": record.text("host"),
        "late_after_s": plan.amount("late_after_s") if plan else None,
        "clock_offset_s": clock.number("offset_s") if clock else None,
        "clock_error_s": clock.amount("error_s") if clock else None,
        "surge_start_ns": record.integer("surge_start_ns"),
        "plan_record": plan.as_json() if plan else None,
        "stock_replaced": record.count("stock_replaced") or 0,
    }


def echo_record(fields: Fields) -> Echo:
    """A line of `rtt.jsonl`."""
    front_end, method = fields.text("front_end"), fields.text("method")
    if front_end is None or method is None:
        raise fields.wrong("front_end" if front_end is None else "method", "text")
    return fields.read(Echo)
