"""Probes, availability and locations: objects written and read at due times, with all packets in one capture.

The main thread waits for due times and prepares files; probes run in threads with a client each, so that a slow probe
delays none of the next. What cannot begin on time is late: that is logged with the probe, and counted. With room for
one probe at a time it runs in the main thread.
"""

from __future__ import annotations

import queue
import random
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vmtrace.providers.errors import HOPELESS, BudgetError, ErrorKind, ServiceError
from vmtrace.providers.files import discard
from vmtrace.providers.kind import AVAILABILITY
from vmtrace.providers.kinds.accounts import Accounts
from vmtrace.providers.kinds.long_capture import LongCapture
from vmtrace.providers.kinds.requester import Requester, Said
from vmtrace.providers.kinds.sampling_plan import SamplingPlan
from vmtrace.providers.kinds.site import Site
from vmtrace.providers.kinds.stock import Stock, crafted, is_gone
from vmtrace.providers.own_network import OwnNetwork
from vmtrace.providers.plan import UPLOAD
from vmtrace.providers.prices import Usage
from vmtrace.providers.resolver import Resolver
from vmtrace.providers.resuming import last_lines
from vmtrace.providers.service import LocalFile, Service

_ENDS_WITHIN_S = 10.0
_PREPARED_AHEAD = 4
_SPARE_NS = 50_000_000
_SPARE_FOR_THE_DISK_NS = 500_000_000  # an fsync of a busy disk takes 50 ms and more


@dataclass(frozen=True, slots=True)
class Probe:
    """One due time: its objects, of one size after the other, are made before it."""

    number: int
    due_ns: int
    sizes_bytes: tuple[int, ...]
    files: dict[int, list[LocalFile]]
    folder: Path
    session: int


@dataclass(slots=True)
class Sampling:
    """Runs a `SamplingPlan`."""

    site: Site
    plan: SamplingPlan
    late: int = 0
    probes: int = 0
    _stock: Stock = field(init=False)
    _requester: Requester = field(init=False)
    _accounts: Accounts = field(init=False)
    _idle: queue.SimpleQueue[Service] = field(default_factory=queue.SimpleQueue)
    _broken: ServiceError | None = None

    def run(self) -> None:
        """All probes of the plan's duration, or what is left of it."""
        site = self.site
        with ExitStack() as stack:
            resolver = stack.enter_context(Resolver(site.clock))
            all_attempts = self.plan.kind == AVAILABILITY
            self._requester = Requester(
                site.observer, resolver, site.provider.error_of, all_attempts=all_attempts,
                own_network=OwnNetwork.known(site.place.interface) if all_attempts else None,
            )  # fmt: skip
            self._accounts = Accounts(site)
            with site.interruption.allowed():
                for _ in range(self.plan.at_once):
                    self._idle.put(self.site.logged_in(stack))
                site.measure_round_trips(1)
            service = self._idle.get()
            self._stock = Stock.made(site, service, self.plan.sizes_bytes, self.plan.pair)
            self._idle.put(service)
            site.display.announced(self._announcement())
            began_s = time.monotonic()
            with LongCapture(site):
                try:
                    self._all_probes()
                finally:
                    self._accounts.close()
                    site.budget.stored(self._stock.size_bytes, time.monotonic() - began_s)

    def _announcement(self) -> str:
        from vmtrace.formats.quantities import shown_decimal_bytes, shown_s

        plan = self.plan
        sizes = ", ".join(shown_decimal_bytes(size) for size in plan.sizes_bytes)
        pace = f"every {shown_s(plan.interval_s)}" + (" on average" if plan.mean_interval_s else "")
        return (
            f"{plan.name}: {pace} for {shown_s(plan.duration_s)}, about {plan.expected_probes} probes of {sizes} "
            f"with {self.site.place.endpoint}; into {self.site.folder.path}"
        )

    # The course of it.

    def _all_probes(self) -> None:
        pool = None if self.plan.at_once == 1 else ThreadPoolExecutor(self.plan.at_once, "probe")
        running: set[Future[None]] = set()
        try:
            for probe in self._due_probes():
                if self._broken is not None:
                    raise self._broken
                if pool is None:
                    with self.site.interruption.allowed():
                        self._run(probe)
                    continue
                running = {one for one in running if not one.done()}
                running.add(pool.submit(self._run, probe))
            self._wait_for(running)
            if self._broken is not None:
                raise self._broken
        except BaseException:
            self._break_off(running)
            raise
        finally:
            if pool is not None:
                pool.shutdown(wait=False, cancel_futures=True)

    def _wait_for(self, running: set[Future[None]]) -> None:
        for one in running:
            while not one.done():
                self.site.interruption.sleep(0.05)

    def _break_off(self, running: set[Future[None]]) -> None:
        """Probes in flight end by an error; what they made is removed at the end of the run."""
        if any(not one.done() for one in running):
            self.site.observer.abort(ServiceError(ErrorKind.OTHER, "broken off"))
        ends_s = time.monotonic() + _ENDS_WITHIN_S
        for one in running:
            while not one.done() and time.monotonic() < ends_s:
                time.sleep(0.02)

    def _due_probes(self) -> Iterator[Probe]:
        """Each when its time has come."""
        site, session = self.site, int(self.site.folder.state.get("sessions", 1))
        first, left_s = self._first_number(), self._left_s()
        start_ns = site.clock.wall_ns()
        chance = random.Random(f"{site.id}/{session}/sizes")
        times = enumerate(self.plan.due_times(f"{site.id}/{session}"), first)
        ready: deque[Probe] = deque()

        def prepare_next() -> bool:
            number, due_s = next(times, (0, left_s))
            if due_s >= left_s:
                return False
            sizes = self.plan.sizes_bytes if self.plan.every_size else (chance.choice(self.plan.sizes_bytes),)
            ready.append(self._prepared(number, start_ns + round(due_s * 1e9), sizes, session))
            return True

        more = prepare_next()
        while ready:
            # Files are made ahead of time: what is due soon after another probe must not wait for its own.
            while more and len(ready) < _PREPARED_AHEAD and ready[0].due_ns - site.clock.wall_ns() > _SPARE_NS:
                more = prepare_next()
            self._wait_until(ready[0].due_ns)
            self._check_room(ready[0].sizes_bytes)
            yield ready.popleft()
            if more and not ready:
                more = prepare_next()
        self._wait_until(start_ns + round(min(left_s, self.plan.duration_s) * 1e9))

    def _wait_until(self, due_ns: int) -> None:
        site = self.site
        while (left_ns := due_ns - site.clock.wall_ns()) > 0:
            self._accounts.look(self._progress(), has_time=left_ns > _SPARE_FOR_THE_DISK_NS)
            still_s = (due_ns - site.clock.wall_ns()) / 1e9  # the look took its time, too
            if still_s > 0:
                with site.interruption.allowed():
                    site.clock.sleep(min(still_s, site.clock.longest_sleep_s))

    def _first_number(self) -> int:
        if not self.site.resumed:
            return 1
        import json

        numbers = [0]
        for line in last_lines(self.site.folder.path / "requests.jsonl"):
            try:
                numbers.append(int(json.loads(line)["probe"]))
            except (ValueError, KeyError, TypeError):
                continue
        return max(numbers) + 1

    def _left_s(self) -> float:
        """Of the plan's duration: time in which a killed run stood still counts, as it does for a study of weeks."""
        if not self.site.resumed:
            return self.plan.duration_s
        since_s = (self.site.clock.wall_ns() - int(self.site.folder.state["start_ns"])) / 1e9
        return max(0.0, self.plan.duration_s - since_s)

    def _prepared(self, number: int, due_ns: int, sizes: tuple[int, ...], session: int) -> Probe:
        folder = self.site.folder.path / "files" / f"{number}"
        files: dict[int, list[LocalFile]] = {}
        if UPLOAD in self.plan.directions:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for size in sizes:
                files[size] = crafted(self.site, folder / str(size), self.plan.pair, size)
        return Probe(number, due_ns, sizes, files, folder, session)

    def _check_room(self, sizes: tuple[int, ...]) -> None:
        each = self.plan.pair * sum(sizes)
        requests = self.plan.pair * len(sizes)
        up = each if UPLOAD in self.plan.directions else 0
        down = each if len(self.plan.directions) > 1 or not up else 0
        self.site.budget.check_room(
            Usage(
                uploaded_bytes=up, downloaded_bytes=down, write_requests=requests, read_requests=2 * requests,
                delete_requests=requests,
            )
        )  # fmt: skip

    # One probe, in whatever thread.

    def _run(self, probe: Probe) -> None:
        service = self._idle.get()
        late_s = max(0.0, (self.site.clock.wall_ns() - probe.due_ns) / 1e9)
        self.probes += 1
        self.late += late_s > self.plan.late_after_s
        about = {"probe": probe.number, "session": probe.session, "due_ns": probe.due_ns, "late_s": late_s}
        try:
            for size in probe.sizes_bytes:
                for direction in self.plan.directions:
                    if direction == UPLOAD:
                        self._write(service, probe, size, about)
                    else:
                        self._read(service, size, about)
        except ServiceError as error:
            self._broken = error
        except OSError as error:  # the log cannot be written
            self._broken = ServiceError(self.site.provider.error_of(error).kind, str(error), "")
        finally:
            self._idle.put(service)
            discard(probe.folder)

    def _write(self, service: Service, probe: Probe, size: int, about: dict[str, Any]) -> None:
        site = self.site
        prefix = f"vmtrace-{site.id}/{probe.session}-{probe.number:07d}/{size}"
        names = [f"{prefix}/{position}" for position in range(1, self.plan.pair + 1)]
        site.uploads_began = True
        site.journal.creating(names)
        references = []
        try:
            for position, (name, file) in enumerate(zip(names, probe.files[size], strict=True), 1):
                said = self._requester.upload(service, name, file)
                if said.reference is not None:
                    references.append(said.reference)
                    if said.reference != name:
                        site.journal.created(name, said.reference)
                self._logged(said, {**about, "position": position})
        finally:
            site.budget.stored(self.plan.pair * size, 0.0)  # an hour is charged at the least
            self._removed(service, names, references)

    def _removed(self, service: Service, names: list[str], references: list[str]) -> None:
        """What cannot be removed now is tried again at the end of the run."""
        site = self.site
        if len(references) < len(names):  # an upload may have arrived all the same, under a reference unheard of
            return
        site.observer.begin(own_thread=True)
        try:
            service.delete(references)
        except Exception:  # noqa: BLE001 - the journal still has them
            return
        finally:
            site.observer.end(keep_connections=False)
        site.journal.removed(names)

    def _read(self, service: Service, size: int, about: dict[str, Any]) -> None:
        for position in range(1, self.plan.pair + 1):
            one = self._stock.object(size, position - 1)
            said = self._requester.download(service, one.reference, size, one.sha256)
            self._logged(said, {**about, "position": position})
            if is_gone(said.record["error_kind"]):
                self._stock.replace(service, one)

    def _logged(self, said: Said, about: dict[str, Any]) -> None:
        if self.site.observer.aborted:  # the run ends: this is no failure of the service
            raise ServiceError(ErrorKind.OTHER, "broken off")
        self._accounts.log(said, about)
        error = said.error
        if error is not None and (isinstance(error, BudgetError) or error.kind in HOPELESS):
            raise error

    def _progress(self) -> str:
        site = self.site
        return f"{self.probes} probes ({self.late} late), {site.finished} requests, {site.failed} failed or with errors"
