"""`vmtrace cloudwatch publish`: a run's own numbers as custom metrics, by PutMetricData.

CloudWatch keeps one value set for each metric and minute, so values of one minute go as one datum. What was put is
written down beside the run (RUN/cloudwatch.published.jsonl): a value put twice would count twice.
"""

import json
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from vmtrace.capture.ending import Ending
from vmtrace.cloudwatch.errors import CloudWatchError
from vmtrace.cloudwatch.files import append_line, lines, read
from vmtrace.cloudwatch.records import Record, as_json, iso, moment, one_line, parse, record
from vmtrace.cloudwatch.run_facts import run_facts
from vmtrace.cloudwatch.service import Account, Service, open_service
from vmtrace.cloudwatch.transfer_metrics import Value, few, values_of

NAMESPACE = "vmtrace"
PUBLISHED = "cloudwatch.published.jsonl"
MOST_VALUES = 1000
"""Of one request."""
MOST_VALUES_OF_DATUM = 150
MOST_REQUEST_BYTES = 1_000_000

_OLDEST_S = 14 * 86_400
_NEWEST_S = 2 * 3600
_MINUTE_NS = 60 * 10**9
_LONGEST_DIMENSION = 1024
# The limit is on the request as sent; the query protocol repeats long names before each value.
_BYTES_FOR_ONE = 3
# Values of other sizes CloudWatch refuses; all that is not zero lies between.
_SMALLEST, _LARGEST = 8.515920e-109, 1.174271e108

# List prices of us-east-1 per metric and month, prorated by the hour: https://aws.amazon.com/cloudwatch/pricing/
# (the first 10,000, and those up to 250,000).
_FIRST_METRICS, _FIRST_USD, _FURTHER_USD = 10_000, 0.30, 0.10

Tell = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Datum:
    """The values of one metric in one minute."""

    run: str
    values: tuple[Value, ...]

    def as_record(self) -> Record:
        """As PutMetricData takes it."""
        first = self.values[0]
        wanted = (("run", self.run), ("index", first.index), ("part", first.part), ("factor", first.factor))
        dimensions = {name: value for name, value in wanted if value is not None}
        counted = Counter(value.value for value in self.values)
        return {
            "MetricName": first.metric,
            "Dimensions": [{"Name": name, "Value": value} for name, value in dimensions.items()],
            "Timestamp": moment(first.time_ns // _MINUTE_NS * _MINUTE_NS),
            "Values": list(counted),
            "Counts": [float(count) for count in counted.values()],
            "Unit": first.unit,
        }


@dataclass(frozen=True, slots=True)
class Published:
    """What was put, or would be."""

    data: tuple[Datum, ...]
    requests: int
    region: str | None
    notes: tuple[str, ...]
    problems: tuple[str, ...]
    """Values that CloudWatch does not take."""

    @property
    def values(self) -> int:
        """How many."""
        return sum(len(datum.values) for datum in self.data)

    @property
    def metrics(self) -> int:
        """How many custom metrics that is: each name with its own dimensions is one, and is charged as one."""
        first = (datum.values[0] for datum in self.data)
        return len({(one.metric, one.index, one.part, one.factor) for one in first})

    @property
    def most_usd_a_month(self) -> float:
        """What AWS charges for the metrics in a month with values in every hour; less with values in fewer hours."""
        return min(self.metrics, _FIRST_METRICS) * _FIRST_USD + max(0, self.metrics - _FIRST_METRICS) * _FURTHER_USD


@dataclass(frozen=True, slots=True)
class Selection:
    """Which values to put, and whether to put them at all."""

    dry_run: bool = False
    again: bool = False
    """Also those that were put before."""
    verdicts: bool = True
    detailed: bool = False
    """By index, and with every metric of verdicts: hundreds of custom metrics instead of 40."""


def publish_run(
    folder: Path, account: Account, tell: Tell, selection: Selection, announce: Callable[[Published], object]
) -> Published:
    """Put the values of a run that were not put before; `CloudWatchError` if nothing can be put.

    `announce` gets what will be put, before it is: custom metrics are charged.
    """
    facts = run_facts(folder)
    instance = facts.instance(None)
    account = replace(account.checked(), region=account.region or (instance.region if instance else None))
    notes: list[str] = []
    found = values_of(folder, notes, verdicts=selection.verdicts)
    if not selection.detailed:
        found = few(found)
    if not found:
        raise CloudWatchError(f"{folder}: no complete pair: there is nothing to publish")
    service = None if selection.dry_run else open_service(account, tell)
    target = _target(account, service.region if service else account.region)
    wanted = found if selection.again else _not_yet(found, _put_before(folder, target), notes)
    taken, problems = _taken(wanted, time.time_ns())
    if wanted and not taken:
        raise CloudWatchError(f"{folder}: {'; '.join(problems)}")
    data = data_of(_dimension(facts.name), taken)
    requests = list(requests_of(data))
    region = service.region if service else account.region
    published = Published(tuple(data), len(requests), region, tuple(notes), tuple(problems))
    if service is not None:
        announce(published)
        _put(service, requests, folder / PUBLISHED, target, tell)
    return published


def _put(service: Service, requests: Sequence[list[Datum]], published: Path, target: str, tell: Tell) -> None:
    """Each request is written down as soon as it was taken."""
    done, due = 0, sum(map(len, requests))
    with Ending("stopped immediately: the last request may have been taken, and would then count twice") as ending:
        for request in requests:
            with ending.allowed():
                service.ask("put_metric_data", _as_request(request))
            done += len(request)
            append_line(published, _line(request, target))
            tell(f"{done:,} of {due:,} data points published")


def data_of(run: str, values: Sequence[Value]) -> list[Datum]:
    """The values by metric, dimensions and minute, in order of time; no datum has more values than are taken."""
    groups = dict[tuple[int, str | None, str, str, str | None], list[Value]]()
    for value in sorted(values, key=lambda value: value.time_ns):
        key = (value.time_ns // _MINUTE_NS, value.index, value.part, value.metric, value.factor)
        groups.setdefault(key, []).append(value)
    return [
        Datum(run, tuple(group[first : first + MOST_VALUES_OF_DATUM]))
        for group in groups.values()
        for first in range(0, len(group), MOST_VALUES_OF_DATUM)
    ]


def requests_of(data: Sequence[Datum]) -> Iterator[list[Datum]]:
    """The data in as few requests as are taken."""
    request, values, size = list[Datum](), 0, 0
    for datum in data:
        own = len(json.dumps(datum.as_record(), default=as_json)) * _BYTES_FOR_ONE
        if request and (values + len(datum.values) > MOST_VALUES or size + own > MOST_REQUEST_BYTES):
            yield request
            request, values, size = [], 0, 0
        request.append(datum)
        values += len(datum.values)
        size += own
    if request:
        yield request


def _as_request(request: Sequence[Datum]) -> Record:
    return {"Namespace": NAMESPACE, "MetricData": [datum.as_record() for datum in request]}


def _taken(values: Sequence[Value], now_ns: int) -> tuple[list[Value], list[str]]:
    """The values that CloudWatch takes, and lines for the others."""
    oldest_ns, newest_ns = now_ns - _OLDEST_S * 10**9, now_ns + _NEWEST_S * 10**9
    old = [value for value in values if value.time_ns // _MINUTE_NS * _MINUTE_NS < oldest_ns]
    new = [value for value in values if value.time_ns > newest_ns]
    odd = [value for value in values if value.value and not _SMALLEST <= math.fabs(value.value) <= _LARGEST]
    problems = []
    if old:
        limit = iso(oldest_ns // 10**9 * 10**9)
        problems.append(f"{len(old):,} values are of before {limit}: CloudWatch takes none older than two weeks")
    if new:
        problems.append(f"{len(new):,} values are more than two hours in the future: the sender's clock was wrong")
    if odd:
        problems.append(f"{len(odd):,} values are too small or too large for CloudWatch")
    refused = {id(value) for value in (*old, *new, *odd)}
    return [value for value in values if id(value) not in refused], problems


def _target(account: Account, region: str | None) -> str:
    return f"{account.endpoint_url or 'AWS'} {region or ''}".strip()


def _put_before(folder: Path, target: str) -> set[str]:
    put = set[str]()
    for line in lines(read(folder, PUBLISHED) or b""):
        try:
            entry = record(parse(line, PUBLISHED))
        except ValueError:
            continue  # no line of ours
        values = entry.get("values")
        if entry.get("target") == target and isinstance(values, list):
            put |= {value for value in values if isinstance(value, str)}
    return put


def _not_yet(values: Sequence[Value], put: set[str], notes: list[str]) -> list[Value]:
    wanted = [value for value in values if value.identity not in put]
    if len(wanted) < len(values):
        notes.append(f"{len(values) - len(wanted):,} values were published before (--again publishes them once more)")
    return wanted


def _line(request: Sequence[Datum], target: str) -> str:
    values = [value.identity for datum in request for value in datum.values]
    entry = {"time_ns": time.time_ns(), "namespace": NAMESPACE, "target": target, "values": values}
    return json.dumps(entry, separators=(",", ":"))


def _dimension(name: str) -> str:
    """A name as a dimension may be: ASCII, not empty, no colon at its start."""
    return (one_line(name).lstrip(":").strip() or "run")[:_LONGEST_DIMENSION]
