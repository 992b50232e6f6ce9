"""One sentence for each stage on what limited its rate, with the numbers that show it.

Looked for in this order: the service's throttling; a client's processor; the backlog's bound; else the round trip of
requests, which each process makes one after the other. A stage that kept its set rate was limited by nothing but that.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from vmtrace.analyze.reports.queues.latency import LatenessRow
from vmtrace.analyze.reports.queues.rates import CallRow, ProcessRow, RateRow
from vmtrace.analyze.reports.queues.records import PUT, TAKE, QueueRun, Stage
from vmtrace.analyze.tables.schema.typed import one_of
from vmtrace.analyze.words.units import seconds, share

_MUCH_CPU = 0.8
_MUCH_WAITING = 0.3
_THROTTLED_SHARE = 0.01
_KEPT = 0.98
_LATE_S = 1.0
_THROTTLES = ("throttled", "429", "503")
SERVICE, CPU, BACKLOG, ROUND_TRIPS, SET_RATE = (
    "service_throttling", "client_cpu", "backlog_bound", "request_round_trips", "set_rate",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LimitRow:
    """Of one stage."""

    stage: int
    limited_by: Annotated[str, one_of(SERVICE, CPU, BACKLOG, ROUND_TRIPS, SET_RATE)]
    sentence: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """All tables of a run that the sentences draw on."""

    rates: Sequence[RateRow]
    calls: Sequence[CallRow]
    processes: Sequence[ProcessRow]
    lateness: Sequence[LatenessRow]


def limit_rows(run: QueueRun, evidence: Evidence) -> Iterator[LimitRow]:
    """A sentence for each stage that moved messages."""
    for stage in run.stages:
        rates = [row for row in evidence.rates if row.stage == stage.number]
        if rates:
            yield LimitRow(stage.number, *_cause(run, stage, rates, evidence))


def _cause(run: QueueRun, stage: Stage, rates: Sequence[RateRow], evidence: Evidence) -> tuple[str, str]:
    main = next((row for row in rates if row.operation == ("receive" if stage.kind == TAKE else "send")), rates[0])
    calls = [row for row in evidence.calls if row.stage == stage.number]
    processes = [row for row in evidence.processes if row.stage == stage.number]
    throttled = sum(
        sum(row.retry_causes.get(word, 0) + row.errors.get(word, 0) for word in _THROTTLES) for row in calls
    )
    requests = sum(row.requests for row in calls)
    if requests and throttled / requests > _THROTTLED_SHARE:
        return SERVICE, f"the service throttled {throttled:,} of {requests:,} requests ({share(throttled / requests)})"
    if _kept(stage, main, evidence.lateness):
        return (
            SET_RATE,
            f"nothing but the set rate: {main.messages_per_s:.4g} of {stage.rate_per_s:g} messages/s were sent",
        )
    busiest = max(processes, key=lambda row: row.cpu_share or 0.0, default=None)
    if busiest is not None and (busiest.cpu_share or 0.0) > _MUCH_CPU:
        return CPU, f"the client's processor: {busiest.role} {busiest.place} used {share(busiest.cpu_share)} of one"
    waited = [row.waited_share for row in processes if row.role == "sender" and row.waited_share is not None]
    if stage.kind != PUT and waited and float(np.mean(waited)) > _MUCH_WAITING:
        slow = _slowest(rates)
        return BACKLOG, (
            f"the bound on the backlog ({stage.backlog:,} messages): senders waited {share(float(np.mean(waited)))} of "
            f"their time for {slow.operation}s, of which there were {slow.messages_per_s or 0:.4g}/s"
        )
    return ROUND_TRIPS, _round_trips(run, main, calls)


def _kept(stage: Stage, main: RateRow, lateness: Sequence[LatenessRow]) -> bool:
    """Whether the set rate was kept: as many a second, and the last of them not late."""
    if stage.rate_per_s is None or main.messages_per_s is None:
        return False
    late = [row.quantiles.p99_s for row in lateness if row.stage == stage.number and row.after == "due"]
    in_time = not late or late[0] is None or late[0] < _LATE_S
    few = main.messages < stage.rate_per_s  # a second's worth: the first and the last message weigh too much
    return in_time and (few or main.messages_per_s >= _KEPT * stage.rate_per_s)


def _slowest(rates: Sequence[RateRow]) -> RateRow:
    behind = [row for row in rates if row.operation != "send"]
    return min(behind or rates, key=lambda row: row.messages_per_s or 0.0)


def _round_trips(run: QueueRun, main: RateRow, calls: Sequence[CallRow]) -> str:
    call = next((row for row in calls if row.operation == main.operation), None)
    took_s = call.quantiles.p50_s if call is not None else None
    path = ""
    if run.round_trips_s:
        path = f", of which {seconds(float(np.median(run.round_trips_s)))} are the path's round trip"
    each = "each process makes" if main.threads > 1 else "the process makes"
    return (
        f"the round trip of requests: {each} one {main.operation} call at a time, which takes {seconds(took_s)} "
        f"(median{path}) and moves {main.messages_per_call or 0:.3g} of at most {main.batch}"
    )
