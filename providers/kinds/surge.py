"""A surge: in every step some threads request one size without a pause; hosts are in step by the clock alone.

A request that is under way when its step ends is finished and belongs to the step in which it began.
"""

from __future__ import annotations

import queue
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, field

from vmtrace.formats.quantities import shown_decimal_bytes, shown_s
from vmtrace.providers.clock_sync import clock_offset
from vmtrace.providers.errors import HOPELESS, BudgetError, ErrorKind, ServiceError, UsageError
from vmtrace.providers.files import discard
from vmtrace.providers.kinds.accounts import Accounts
from vmtrace.providers.kinds.counters import Counters, cost, counted
from vmtrace.providers.kinds.long_capture import LongCapture
from vmtrace.providers.kinds.requester import Requester, Said
from vmtrace.providers.kinds.run_delay import RunDelay
from vmtrace.providers.kinds.site import Site
from vmtrace.providers.kinds.stock import Stock, crafted, is_gone
from vmtrace.providers.kinds.surge_plan import Step, SurgePlan
from vmtrace.providers.plan import UPLOAD
from vmtrace.providers.resolver import Resolver
from vmtrace.providers.service import LocalFile, Service

_MOST_FAILED_IN_A_ROW = 20
_AFTER_FAILURE_S = 1.0
_ENDS_WITHIN_S = 10.0


@dataclass(slots=True)
class Surge:
    """Runs a `SurgePlan`."""

    site: Site
    plan: SurgePlan
    _step: Step | None = None
    _over: bool = False
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _broken: ServiceError | None = None
    _uploads: int = 0
    _leavings: queue.SimpleQueue[tuple[str, str] | None] = field(default_factory=queue.SimpleQueue)
    _stock: Stock = field(init=False)
    _file: LocalFile | None = None
    _requester: Requester = field(init=False)
    _accounts: Accounts = field(init=False)
    _run_delay: RunDelay = field(init=False)

    def run(self) -> None:
        """All steps from now on, or from `--start-at` on."""
        site = self.site
        self._check_start()
        site.folder.note(clock=clock_offset().as_record())
        with ExitStack() as stack:
            resolver = stack.enter_context(Resolver(site.clock))
            self._requester = Requester(site.observer, resolver, site.provider.error_of, new_connections=False)
            self._accounts = Accounts(site)
            most = max(self.plan.threads)
            with site.interruption.allowed():
                services = [self.site.logged_in(stack) for _ in range(most + 1)]
                site.measure_round_trips(1)
            self._stock = Stock.made(site, services[0], [self.plan.size_bytes], most)
            if UPLOAD in self.plan.directions:
                (self._file,) = crafted(site, site.folder.path / "files" / "surge", 1, self.plan.size_bytes)
            start_ns = self._start_ns()
            site.folder.note(surge_start_ns=start_ns)
            site.display.announced(self._announcement(start_ns))
            began_s = time.monotonic()
            with LongCapture(site), RunDelay() as self._run_delay:
                try:
                    self._all_steps(services, start_ns)
                finally:
                    self._accounts.close()
                    site.folder.note(clock_end=clock_offset().as_record())
                    site.budget.stored(self._stock.size_bytes, time.monotonic() - began_s)
        discard(site.folder.path / "files")

    def _check_start(self) -> None:
        wanted_ns = self.site.order.start_at_ns
        if wanted_ns is not None and not self.site.resumed and wanted_ns <= self.site.clock.wall_ns():
            ago_s = (self.site.clock.wall_ns() - wanted_ns) / 1e9
            raise UsageError(f"--start-at: that was {shown_s(ago_s)} ago by this host's clock: name a time to come")

    def _start_ns(self) -> int:
        """A run that goes on stays in step with where it began."""
        state, wanted_ns, now_ns = self.site.folder.state, self.site.order.start_at_ns, self.site.clock.wall_ns()
        if self.site.resumed and isinstance(state.get("surge_start_ns"), int):
            return int(state["surge_start_ns"])
        if wanted_ns is not None and wanted_ns < now_ns:
            late_s = (now_ns - wanted_ns) / 1e9
            raise UsageError(f"--start-at: the stock was ready {shown_s(late_s)} too late: name a later time")
        return now_ns if wanted_ns is None else wanted_ns

    def _announcement(self, start_ns: int) -> str:
        plan, wait_s = self.plan, (start_ns - self.site.clock.wall_ns()) / 1e9
        begins = f"begins in {shown_s(wait_s)}" if wait_s > 1 else "begins now"
        return (
            f"{plan.name}: {len(list(plan.steps()))} steps of {shown_s(plan.step_s)} with "
            f"{', '.join(map(str, plan.threads))} threads, {shown_decimal_bytes(plan.size_bytes)} each, with "
            f"{self.site.place.endpoint}; {begins}; into {self.site.folder.path}"
        )

    # The main thread: one step after the other.

    def _all_steps(self, services: list[Service], start_ns: int) -> None:
        threads = [
            threading.Thread(target=self._work, args=(index, service), name=f"surge {index + 1}", daemon=True)
            for index, service in enumerate(services[:-1])
        ]
        cleaner = threading.Thread(target=self._clean, args=(services[-1],), name="cleaner", daemon=True)
        for one in (*threads, cleaner):
            one.start()
        try:
            for step in self.plan.steps():
                end_ns = start_ns + round((step.start_s + self.plan.step_s) * 1e9)
                if end_ns <= self.site.clock.wall_ns():
                    continue  # of a run that goes on: its time is over
                self._wait_until(start_ns + round(step.start_s * 1e9))
                before, begin_ns = self._counted(), self.site.clock.wall_ns()
                self._set(step)
                self._wait_until(end_ns)
                self._log_step(step, begin_ns, before)
            self._set(None)
            self._join(threads, None)
        except BaseException:
            self._set(None)
            self.site.observer.abort(ServiceError(ErrorKind.OTHER, "broken off"))
            self._join(threads, _ENDS_WITHIN_S)
            raise
        finally:
            self._leavings.put(None)
            cleaner.join(_ENDS_WITHIN_S)

    def _set(self, step: Step | None) -> None:
        with self._changed:
            self._step, self._over = step, step is None
            self._changed.notify_all()

    def _wait_until(self, due_ns: int) -> None:
        site = self.site
        while (left_ns := due_ns - site.clock.wall_ns()) > 0:
            if self._broken is not None:
                raise self._broken
            self._accounts.look(self._progress())
            with site.interruption.allowed():
                site.clock.sleep(min(left_ns / 1e9, site.clock.longest_sleep_s))

    def _join(self, threads: list[threading.Thread], within_s: float | None) -> None:
        ends_s = None if within_s is None else time.monotonic() + within_s
        for one in threads:
            while one.is_alive() and (ends_s is None or time.monotonic() < ends_s):
                one.join(0.05)
                if ends_s is None:
                    self.site.interruption.sleep(0.0)

    def _log_step(self, step: Step, begin_ns: int, before: Counters) -> None:
        self.site.folder.append(
            "steps",
            {
                "step": step.number,
                "round": step.round,
                "threads": step.threads,
                "direction": step.direction,
                "start_ns": begin_ns,
                "end_ns": self.site.clock.wall_ns(),
                "cost": cost(before, self._counted()).as_record(),
            },
        )

    def _counted(self) -> Counters:
        return counted(run_delay_s=self._run_delay.seconds())

    def _progress(self) -> str:
        step = self._step
        where = "waiting" if step is None else f"step {step.number}: {step.threads} threads, {step.direction}"
        return f"{where}; {self.site.finished} requests, {self.site.failed} failed or with errors"

    # The other threads.

    def _work(self, index: int, service: Service) -> None:
        failed_in_a_row = 0
        try:
            while (step := self._turn(index)) is not None:
                said = self._request(step, index, service)
                if self.site.observer.aborted:
                    return
                about = {"step": step.number, "round": step.round, "threads": step.threads, "thread": index + 1}
                self._accounts.log(said, about)
                failed_in_a_row = failed_in_a_row + 1 if said.error is not None else 0
                self._judge(said.error, failed_in_a_row)
        except ServiceError as error:
            self._broken = error
        except OSError as error:
            self._broken = ServiceError(ErrorKind.OTHER, str(error), "")

    def _turn(self, index: int) -> Step | None:
        """The step in which this thread is to request something; waits for one. None: it is over."""
        with self._changed:
            while not self._over:
                step = self._step
                if step is not None and index < step.threads:
                    return step
                self._changed.wait()
        return None

    def _request(self, step: Step, index: int, service: Service) -> Said:
        site = self.site
        if step.direction == UPLOAD and self._file is not None:
            with self._changed:
                self._uploads += 1
                number = self._uploads
            session = site.folder.state.get("sessions", 1)
            name = f"vmtrace-{site.id}/{session}-{number:07d}"
            site.uploads_began = True
            site.journal.creating([name])
            said = self._requester.upload(service, name, self._file)
            site.budget.stored(self._file.size_bytes, 0.0)  # an hour is charged at the least
            if said.reference is not None:
                if said.reference != name:
                    site.journal.created(name, said.reference)
                self._leavings.put((name, said.reference))
            return said
        one = self._stock.object(self.plan.size_bytes, index)
        said = self._requester.download(service, one.reference, one.size_bytes, one.sha256)
        if is_gone(said.record["error_kind"]):
            self._stock.replace(service, one)
        return said

    def _judge(self, error: ServiceError | None, failed_in_a_row: int) -> None:
        """Raise what makes further requests senseless; rest after a failure, so that it is not asked in a storm."""
        if error is None:
            return
        if isinstance(error, BudgetError) or error.kind in HOPELESS or failed_in_a_row >= _MOST_FAILED_IN_A_ROW:
            raise error
        time.sleep(_AFTER_FAILURE_S)

    def _clean(self, service: Service) -> None:
        """Remove what was uploaded, over a client of its own; what it cannot is tried again at the end of the run."""
        while (one := self._leavings.get()) is not None:
            name, reference = one
            self.site.observer.begin(own_thread=True)
            try:
                service.delete([reference])
            except Exception:  # noqa: BLE001 - the journal still has it
                continue
            finally:
                self.site.observer.end()
            self.site.journal.removed([name])
