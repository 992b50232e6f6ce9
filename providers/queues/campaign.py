"""A queue run from first to last: the queue, its stages one after the other, collecting what is left, and removal.

The set-up makes the queue (journaled before it is asked for) and learns where the service is. Whatever happens later,
the folder says what became of each message, and the queue is removed, or named as left behind.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeVar

from vmtrace.capture.campaign import COMPLETE, INTERRUPTED, OVER_BUDGET, RUNNING, End, begin_host_record, outcome_of
from vmtrace.capture.ending import Ending
from vmtrace.capture.host_record import HostRecord
from vmtrace.capture.instance_metadata import check_setting
from vmtrace.formats.durable import read_lines
from vmtrace.providers.budget import Limits
from vmtrace.providers.clock import ClockWatch
from vmtrace.providers.course import error_of, first_state, in_time, interrupted, status_of
from vmtrace.providers.endpoints import shown_endpoint
from vmtrace.providers.errors import HOPELESS, ErrorKind, ProvidersError, ServiceError, UsageError
from vmtrace.providers.exchanges import HttpObserver
from vmtrace.providers.journal import Journal, outstanding
from vmtrace.providers.place import Place, check_place, check_rights, place_of, round_trips
from vmtrace.providers.queues import registry
from vmtrace.providers.queues.call_log import CallLog
from vmtrace.providers.queues.collecting import MARGIN_S, Collector, collector_log
from vmtrace.providers.queues.contract import QueueFacts, QueueService
from vmtrace.providers.queues.display import QueueDisplay
from vmtrace.providers.queues.message import Seal
from vmtrace.providers.queues.meter import usage_of_killed
from vmtrace.providers.queues.order import QueueOrder, fitted
from vmtrace.providers.queues.plan import Kind, Stage, plan_of_record
from vmtrace.providers.queues.prices import QueuePrices, Usage
from vmtrace.providers.queues.progress import Progress, Seen, progress_of
from vmtrace.providers.queues.run_folder import QueueFolder
from vmtrace.providers.queues.services.sqs import FIFO_SUFFIX
from vmtrace.providers.queues.stage_run import Counts, StageEnd, StageRun
from vmtrace.providers.queues.task import KEY_FILE, StageTask
from vmtrace.providers.queues.two_hosts import ClockLink, Half, address_of, half_of
from vmtrace.providers.recording import Recording
from vmtrace.providers.registry import sdk_of
from vmtrace.providers.service import Target

Record = dict[str, Any]
T = TypeVar("T")
_ECHOES = 10
_HURRIED_S = 1.0
"""For messages that are quickly found, after Ctrl-C."""


def run_queue(order: QueueOrder, display: QueueDisplay) -> End:
    """Do what is ordered. Raises `ProvidersError` where it cannot begin; nothing is left at the service then."""
    run_id = str(order.other.state["id"]) if order.other else secrets.token_hex(8)
    provider = registry.find(order.provider)
    if order.fifo and not provider.has_fifo:
        raise UsageError(f"--fifo: {provider.name} has no FIFO queues")
    queue = order.queue or f"vmtrace-{run_id}" + (FIFO_SUFFIX if order.fifo else "")
    plan = order.plan if order.half is None else half_of(order.plan, order.half)
    order = replace(order, plan=fitted(plan, provider.limits, provider.name))
    return _Run(order, display, run_id, queue, provider, session=1).run(None)


def resume_queue(folder: Path, ca_bundle: Path | None, display: QueueDisplay, *, capture: bool) -> End:
    """Go on with a run that was killed or interrupted, from the first message that it had not tried to send."""
    opened = QueueFolder.resume(folder)
    try:
        state = opened.state
        if state.get("status") == COMPLETE:
            raise ProvidersError(f"{folder}: this run is complete: there is nothing to resume")
        if state.get("queue_removed"):
            raise ProvidersError(f"{folder}: its queue is removed: begin a new run")
        order = _order_of(folder, state, ca_bundle, capture=capture)
        provider = registry.find(order.provider)
        session = int(state["sessions"]) + 1
        run = _Run(order, display, str(state["id"]), str(state["queue"]), provider, session)
    except (KeyError, TypeError, ValueError) as error:
        opened.close()
        raise ProvidersError(f"{folder / 'run.json'}: {error!r}: this run cannot be resumed") from error
    except BaseException:
        opened.close()
        raise
    return run.run(opened)


def _order_of(folder: Path, state: Record, ca_bundle: Path | None, *, capture: bool) -> QueueOrder:
    tls = state.get("tls") or {}
    bundle = ca_bundle or (Path(tls["ca_bundle"]) if tls.get("ca_bundle") else None)
    recorded = state.get("capture") or {}
    return QueueOrder(
        provider=str(state["provider"]),
        out=folder,
        plan=plan_of_record(state["plan"]),
        queue=str(state["queue"]),
        fifo=bool(state["fifo"]),
        half=None if state.get("half") is None else Half(state["half"]),
        clock=None if state.get("clock") is None else address_of(state["clock"]),
        endpoint_url=state.get("endpoint_named"),
        region=state.get("region"),
        location=state.get("location"),
        ca_bundle=bundle,
        options={str(name): str(value) for name, value in state["options"].items()},
        interface=state.get("interface"),
        capture=capture and bool(recorded),
        capture_s=state.get("capture_s"),
        snaplen=recorded.get("snaplen"),
        filter=recorded.get("filter"),
        limits=Limits(**state["budget"]),
        name=state.get("name"),
        command=str(state.get("command", "")),
    )


class _Run:
    def __init__(
        self,
        order: QueueOrder,
        display: QueueDisplay,
        run_id: str,
        queue: str,
        provider: registry.QueueProvider,
        session: int,
    ) -> None:
        self._order, self._display, self._id, self._queue = order, display, run_id, queue
        self._provider, self._session = provider, session
        self._target = Target(
            provider.name, queue, order.endpoint_url, order.region, order.ca_bundle, dict(order.options)
        )
        self._prices: QueuePrices | None = None
        if order.prices is not None:
            self._prices = order.prices.prices(provider.name, order.region)
        if order.limits.max_cost is not None and self._prices is None and session == 1:
            raise ProvidersError(f"--max-cost: charges of {provider.name} are unknown: give a table with --prices")
        self._observer = HttpObserver()
        self._interruption = Ending(
            f"stopped immediately: what is left at {provider.name} is removed by vmtrace queue clean {order.out}",
            lambda: self._observer.abort(interrupted()),
        )
        self._clock = ClockWatch()
        self._used = Usage()
        self._error: ServiceError | None = None
        self._host: HostRecord | None = None
        self._is_whole = False

    # The course of a run.

    def run(self, resumed: QueueFolder | None) -> End:
        with ExitStack() as stack:
            if resumed is not None:
                stack.callback(resumed.close)
            with sdk_of(self._provider.name, self._provider.extra):
                stack.enter_context(self._observer)
            stack.enter_context(self._interruption)
            with self._interruption.allowed():
                service = registry.build(self._provider, self._target)
            stack.callback(service.close)
            check_rights(self._order)
            if self._order.metadata:
                check_setting()
            if resumed is None:
                self._folder = QueueFolder.create(self._order.out, self._first_state(service))
                stack.callback(self._folder.close)
                self._folder.make_key(self._order.other.key if self._order.other else None)
            else:
                self._folder = resumed
                self._prices = _prices_of(resumed.state)
                self._used = _usage_of(resumed.state) + usage_of_killed(resumed.path)
                resumed.note(status=RUNNING, error=None, error_kind=None, sessions=self._session)
            key = bytes.fromhex((self._folder.path / KEY_FILE).read_text().strip())
            self._seal = Seal(self._id, key)
            if self._order.half is not None and self._order.clock is not None:
                stack.enter_context(ClockLink(self._order.half, self._order.clock, key))
            self._journal = stack.enter_context(Journal(self._folder.path))
            return self._to_the_end(service, is_new=resumed is None)

    def _to_the_end(self, service: QueueService, *, is_new: bool) -> End:
        outcome = outcome_of(lambda: self._work(service, is_new=is_new), status_of)
        self._error = error_of(outcome)
        if self._host is not None:
            self._host.stop()
        self._display.ended()
        end = self._end(service, outcome.status, whole=self._is_whole)
        outcome.raise_defect()
        return end

    def _work(self, service: QueueService, *, is_new: bool) -> None:
        place = self._set_up(service, is_new=is_new)
        self._host = begin_host_record(
            self._folder.path, place.interface, metadata=self._order.metadata, session=self._session
        )
        self._display.started(self._order.plan, self._queue, place.endpoint)
        self._is_whole = self._all_stages(place)

    def _end(self, service: QueueService, status: str, *, whole: bool) -> End:
        """Collect and remove after a run that came to its end, was interrupted or over its budget.

        What failed, such as a process that was killed, stays for `--resume` or `clean`, unless no message was sent.
        """
        progress = progress_of(self._folder.path, self._order.plan.messages)
        self._clock.look()
        self._folder.note(clock_moved_s=self._clock.moved_s)
        hurried = self._interruption.asked
        if hurried:
            self._left("interrupted")  # as it is, should time run out
            self._folder.note(status=status)
        if status in {COMPLETE, INTERRUPTED, OVER_BUDGET} or not progress.count(Seen.ATTEMPTED):
            try:
                finish = lambda: self._finish(service, progress, whole=whole, hurried=hurried)  # noqa: E731
                if not in_time(self._interruption, self._observer, finish):
                    self._left("no time to remove it after the interruption")
            except ServiceError as error:
                self._left(str(error))
        else:
            self._left("kept for --resume or clean")
        error_text = None
        if self._error is not None:
            error_text = self._error.shown(f"{self._provider.name} ({self._queue})")
        elif status == INTERRUPTED:
            error_text = "interrupted"
        self._note_usage()
        self._folder.end(status, error_text, None if self._error is None else str(self._error.kind))
        return End(status, error_text, self._folder.state)

    def _finish(self, service: QueueService, progress: Progress, *, whole: bool, hurried: bool) -> bool:
        """Who pressed Ctrl-C does not wait for messages to become visible in a queue that is about to be removed."""
        own = outstanding(self._folder.path).container == self._queue
        left = progress.outstanding()
        sure = whole or not left or self._order.half == Half.SEND
        if not sure:
            longest_s = max((stage.visibility_s for stage in self._order.plan.stages), default=0.0)
            invisible_s = 0.0 if hurried and own else longest_s
            self._display.collecting(left, invisible_s)
            with CallLog(collector_log(self._folder.path)) as log:
                poll_s = _HURRIED_S if hurried else 2.0
                collector = Collector(service, self._seal, log, self._provider.error_of, self._observer, poll_s)
                found = collector.collect(left, invisible_s, _HURRIED_S if hurried else MARGIN_S)
            sure = invisible_s >= longest_s or found >= left
        self._folder.note(collected=sure and self._order.half != Half.SEND)
        if own:
            self._attempt(service.remove_queue)
            self._journal.removed_container(self._queue)
            self._folder.note(queue_removed=True)
        self._folder.note(left_behind=[])
        return True

    def _left(self, why: str) -> None:
        own = outstanding(self._folder.path).container == self._queue
        progress = progress_of(self._folder.path, self._order.plan.messages)
        left = []
        if own or (progress.outstanding() and self._order.half != Half.SEND):
            left = [{"name": self._queue, "messages": progress.outstanding(), "error": why}]
        self._folder.note(left_behind=left)

    # Set-up.

    def _set_up(self, service: QueueService, *, is_new: bool) -> Place:
        with self._interruption.allowed():
            self._observer.begin()
            try:
                if is_new and self._order.queue is None:
                    self._create(service)
                facts = self._attempt(service.facts)
            finally:
                self._observer.end()
        self._check_queue(facts, is_new=is_new)
        more = () if self._order.clock is None else (self._order.clock[1],)
        place = place_of(self._order, service.endpoint, service.region, self._observer.front_ends, more)
        self._folder.note(**place.as_record())
        check_place(place, "the service", self._display.warned)
        return place

    def _create(self, service: QueueService) -> None:
        visibility_s = max(stage.visibility_s for stage in self._order.plan.stages)
        self._journal.creating_container(self._queue)
        try:
            self._attempt(lambda: service.create_queue(fifo=self._order.fifo, visibility_s=visibility_s))
        except ServiceError as error:
            if error.kind in HOPELESS | {ErrorKind.NAME_CLASH} or not self._observer.front_ends:
                self._journal.removed_container(self._queue)  # it is not there, or not ours to remove
            raise
        self._journal.created_container(self._queue)
        self._folder.note(queue_created=True)

    def _check_queue(self, facts: QueueFacts, *, is_new: bool) -> None:
        if facts.fifo and not self._order.fifo:
            raise ServiceError(
                ErrorKind.UNSUPPORTED,
                f"{self._queue} is a FIFO queue, and the run is for a standard one",
                "add --fifo, or name another queue",
            )
        if self._order.fifo and not facts.fifo:
            raise ServiceError(
                ErrorKind.UNSUPPORTED, f"{self._queue} is not a FIFO queue", "leave --fifo out, or name another queue"
            )
        if is_new and facts.waiting:
            self._display.warned(
                f"about {facts.waiting:,} messages are in {self._queue} already: they are left alone, but are "
                "delivered between ours"
            )
            self._folder.note(waiting_before=facts.waiting)

    def _first_state(self, service: QueueService) -> Record:
        order, charged = self._order, self._prices is not None
        return {
            **first_state(order, self._provider.name, self._id, service.sdk, time.time_ns(), charged=charged),
            "endpoint": service.endpoint,
            "endpoint_named": order.endpoint_url,
            "queue": self._queue,
            "queue_created": False,
            "queue_removed": False,
            "fifo": order.fifo,
            "half": order.half,
            "clock": None if order.clock is None else shown_endpoint(order.clock),
            "waiting_before": 0,
            "price": None if self._prices is None else asdict(self._prices),
            "capture_s": order.capture_s,
            "clock_moved_s": None,
            "collected": False,
        }

    # Stages.

    def _all_stages(self, place: Place) -> bool:
        """All stages that are not complete; whether nothing is left in the queue."""
        plan, done = self._order.plan, _complete_stages(self._folder.path)
        whole = True
        for number, (stage, first) in enumerate(zip(plan.rounds(), plan.first_numbers(), strict=True), 1):
            if number in done:
                continue
            progress = progress_of(self._folder.path, plan.messages)
            with self._interruption.allowed():
                for line in round_trips(place, place.peers, _ECHOES):
                    self._folder.append("rtt", {**line, "stage": number})
            end = self._stage(place, number, stage, first, progress)
            self._folder.append("stages", end.record)
            self._folder.sync()
            self._used = self._used + end.used
            self._note_usage()
            self._clock.look()
            self._display.stage_ends(end.record)
            if end.interrupted:
                raise KeyboardInterrupt
            if end.error is not None:
                raise end.error
            whole = end.whole and stage.receives
        return whole

    def _stage(self, place: Place, number: int, stage: Stage, first: int, progress: Progress) -> StageEnd:
        takes = stage.kind == Kind.TAKE
        task = StageTask(
            folder=self._folder.path.resolve(),
            run=self._id,
            target=replace(self._target, region=place.region),
            stage=stage,
            number=number,
            session=self._session,
            first_message=0 if takes else first,
            messages=first if takes else stage.messages,
            first_batch=_first_batches(stage, progress.flags[first : first + stage.messages]),
            limits=self._order.limits,
            prices=self._prices,
            used=self._used,
        )
        path = None
        if place.capture is not None:
            path = self._folder.capture_path(number if self._session == 1 else 1000 * self._session + number)
        waiting = progress.outstanding()
        charge = None if self._prices is None else self._prices.charge(self._used)
        self._display.stage_begins(number, len(self._order.plan.rounds()), stage, waiting, charge)

        def tick(counts: Counts) -> None:
            self._clock.look()
            self._display.tick(counts)

        recording = Recording(place.interface, place.capture, path)
        return StageRun(task, waiting, recording, self._order.capture_s, self._interruption, tick).run()

    # Accounts.

    def _attempt(self, work: Callable[[], T]) -> T:
        """Do something with the SDK; what it raises becomes a `ServiceError`."""
        try:
            return work()
        except ProvidersError:
            raise
        except Exception as error:
            raise self._observer.late or self._provider.error_of(error) from error

    def _note_usage(self) -> None:
        used = asdict(self._used)
        charges = None if self._prices is None else self._prices.charges(self._used)
        cost = None if charges is None else sum(charges.values())
        self._folder.note(used={**used, "cost": cost, "charges": charges})


def _first_batches(stage: Stage, flags: bytearray) -> tuple[int, ...]:
    """Of each sender, the first of its batches of which it tried no message."""
    found = []
    for place in range(stage.senders):
        batch = place
        while batch * stage.send_batch < len(flags) and flags[batch * stage.send_batch] & Seen.ATTEMPTED:
            batch += stage.senders
        found.append(batch)
    return tuple(found)


def _complete_stages(folder: Path) -> set[int]:
    path = folder / "stages.jsonl"
    lines = [json.loads(line) for line in read_lines(path)] if path.exists() else []
    return {int(line["stage"]) for line in lines if line["status"] == COMPLETE}


def _prices_of(state: Record) -> QueuePrices | None:
    price = state.get("price")
    return None if price is None else QueuePrices(**price)


def _usage_of(state: Record) -> Usage:
    used = state.get("used") or {}
    return Usage(**{name: int(used.get(name, 0)) for name in Usage.__slots__})
