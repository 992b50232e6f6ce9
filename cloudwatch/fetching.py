"""`vmtrace cloudwatch fetch`: the metrics of the run's instance, from the service into the run folder.

What was answered is written even when a later request fails or Ctrl-C ends the waiting: half of the metrics are better
than none, and nothing is lost of what was there before.
"""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from vmtrace.capture.ending import Ending
from vmtrace.cloudwatch.answers import Answer, Metric, Query, Series, answer_of, problems_of
from vmtrace.cloudwatch.backoff import Backoff
from vmtrace.cloudwatch.catalog import AGENT
from vmtrace.cloudwatch.discovery import LISTED_FOR_DAYS, agent_metrics
from vmtrace.cloudwatch.errors import CloudWatchError
from vmtrace.cloudwatch.metric_data import Fetch
from vmtrace.cloudwatch.periods import NS, Asked, plan
from vmtrace.cloudwatch.queries import ec2_metrics, queries_for
from vmtrace.cloudwatch.records import Record, iso
from vmtrace.cloudwatch.run_facts import Instance, RunFacts, run_facts
from vmtrace.cloudwatch.service import Account, Service, open_service
from vmtrace.cloudwatch.store import RAW, command_line, kept_fetches, save

DEFAULT_MARGIN_S = 1800
_MOST_AHEAD_S = 300

Tell = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Wish:
    """What a fetch is asked to get; None is left to be found out."""

    instance_id: str | None = None
    side: str | None = None
    period_s: int | None = None
    margin_s: int = DEFAULT_MARGIN_S
    wait: bool = True
    agent_namespace: str = AGENT


@dataclass(frozen=True, slots=True)
class Result:
    """What a fetch or an import brought."""

    instance_id: str | None
    region: str | None
    start_ns: int
    end_ns: int
    monitoring: str | None
    series: tuple[Series, ...]
    notes: tuple[str, ...]
    """What one should know."""
    problems: tuple[str, ...]
    """What could not be had."""


def fetch_run(folder: Path, wish: Wish, account: Account, tell: Tell) -> Result:
    """Get the metrics of a run's instance; `CloudWatchError` if there are none to be had."""
    facts = run_facts(folder)
    earlier = kept_fetches(folder)
    instance = _instance(facts, wish)
    account = replace(account, region=account.region or instance.region)
    _check_clock(facts)
    asked = plan(facts.start_ns, facts.end_ns, time.time_ns(), wish.period_s, wish.margin_s)
    job = _Job(facts, wish, account, instance, asked, tell)
    with Ending(f"ended at once: {folder / RAW} is as it was") as ending:
        try:
            with ending.allowed():
                job.run()
        finally:
            answer = job.keep(earlier)
    if not answer.series:
        raise CloudWatchError(job.nothing_line())
    return Result(
        instance_id=instance.instance_id,
        region=job.service.region,
        start_ns=asked.span.start_ns,
        end_ns=asked.span.end_ns,
        monitoring=answer.monitoring,
        series=answer.series,
        notes=tuple(job.notes),
        problems=tuple(job.problems),
    )


def _instance(facts: RunFacts, wish: Wish) -> Instance:
    known = facts.instance(wish.side)
    if wish.instance_id is None:
        if known is None:
            side = f"the {wish.side}" if wish.side else "neither side"
            raise CloudWatchError(
                f"{facts.folder}: no instance id of {side} in host/*.facts.json (none that is on EC2, or its metadata "
                "was not asked): give --instance-id"
            )
        return known
    for one in facts.instances:
        if one.instance_id == wish.instance_id:
            return one
    # Its region and name are not in the run, or are those of another machine.
    return Instance(wish.side or "sender", wish.instance_id, None, None)


def _check_clock(facts: RunFacts) -> None:
    """Metrics are found by the sender's time: with a wrong clock they are those of another time."""
    ahead_s = (facts.end_ns - time.time_ns()) / NS
    if ahead_s > _MOST_AHEAD_S:
        raise CloudWatchError(
            f"{facts.folder}: the run ends {ahead_s:,.0f} s after now: the sender's clock or this one was "
            "wrong, and so its metrics cannot be found by time"
        )


class _Job:
    """One fetch: what is known of it at each moment."""

    def __init__(
        self, facts: RunFacts, wish: Wish, account: Account, instance: Instance, asked: Asked, tell: Tell
    ) -> None:
        self._facts, self._wish, self._account, self._asked, self._tell = facts, wish, account, asked, tell
        self._instance_id = instance.instance_id or ""
        self._host = instance.host
        self._exchanges: list[Record] = []
        self.service: Service = open_service(account, tell)
        self.notes: list[str] = [asked.note] if asked.note else []
        self.problems: list[str] = []

    def run(self) -> None:
        """Find the metrics, wait until their periods are closed, and get them."""
        if not self._facts.is_over:
            self.notes.append("the run has no end (it is going on, or was killed): metrics up to its last pair")
        metrics = [*ec2_metrics(self._instance_id), *self._agent_metrics()]
        self._wait()
        fetch = Fetch(self.service.ask, self._asked.span, Backoff(), self._tell, self.problems)
        try:
            fetch.run(queries_for(metrics, self._asked.period_s))
        except CloudWatchError as error:
            if not fetch.points:
                raise
            self.problems.append(f"{error}; {fetch.points:,} points came before it")

    def keep(self, earlier: list[Record]) -> Answer:
        """Write what was answered, if there is anything."""
        exchanges = [*self._exchanges, *self.service.exchanges]
        wrong = Counter[str]()
        answer = answer_of(exchanges, wrong)
        self.problems += problems_of(wrong, "CloudWatch's response")
        if answer.series:
            if answer.monitoring is None:
                self.notes.append("these points do not show whether monitoring was detailed or basic")
            save(self._facts.folder, [*earlier, self._record(exchanges, answer)], self.service.redact)
        return answer

    def nothing_line(self) -> str:
        """Why there may be no points at all."""
        span = self._asked.span
        shown = "".join(f"; {line}" for line in self.problems)
        return (
            f"CloudWatch in {self.service.region} has no metrics of {self._instance_id} between "
            f"{iso(span.start_ns)} and {iso(span.end_ns)}: is it the right instance "
            f"(--instance-id), region (--region) and account (--profile)?{shown}"
        )

    def _agent_metrics(self) -> list[Metric]:
        namespace = self._wish.agent_namespace
        try:
            found = agent_metrics(self.service.ask, namespace, self._instance_id, self._host, self.problems)
        except CloudWatchError as error:
            # Whether anything can be had is better known before waiting for periods to close.
            self._get(queries_for(ec2_metrics(self._instance_id)[:1], self._asked.period_s)[:1])
            self.problems.append(f"{error}: no metrics of the CloudWatch agent")
            return []
        if not found:
            age_days = (time.time_ns() - self._facts.end_ns) / NS / 86_400
            gone = f" (not listed when without points for {LISTED_FOR_DAYS} days)" if age_days > LISTED_FOR_DAYS else ""
            self.notes.append(f"no metrics of the CloudWatch agent in {namespace}{gone}")
        return found

    def _get(self, queries: list[Query]) -> None:
        Fetch(self.service.ask, self._asked.span, Backoff(), self._tell, []).run(queries)

    def _wait(self) -> None:
        closed_ns = self._asked.closed_ns()
        if closed_ns <= time.time_ns():
            return
        if not self._wish.wait:
            self.notes.append(f"the last periods are open until {iso(closed_ns)}: fetch again after that")
            return
        while (left_ns := closed_ns - time.time_ns()) > 0:
            until = iso(closed_ns).partition("T")[2]
            self._tell(f"waiting {left_ns // NS:,} s, until {until}, for open periods (--no-wait: take them open)")
            time.sleep(min(1.0, left_ns / NS))
        if self._account.role_arn is not None:  # its credentials last for an hour, the waiting may be longer
            self._exchanges += self.service.exchanges
            self.service = open_service(self._account, self._tell)

    def _record(self, exchanges: list[Record], answer: Answer) -> Record:
        return {
            "kind": "asked",
            "time_ns": time.time_ns(),
            "command": command_line(),
            "instance_id": self._instance_id,
            "region": self.service.region,
            "endpoint_url": self._account.endpoint_url,
            "start_ns": self._asked.span.start_ns,
            "end_ns": self._asked.span.end_ns,
            "period_s": self._asked.period_s,
            "monitoring": answer.monitoring,
            "notes": self.notes,
            "problems": self.problems,
            "exchanges": exchanges,
        }
