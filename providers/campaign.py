"""A whole run: set-up, then what the plan's kind does (`kinds/`), then the removal of everything that was created.

The set-up (a client of its own, before any capture) makes the container, loads what SDKs load late, and learns where
the service is. Whatever happens afterwards, what was created is removed, or named.
"""

from __future__ import annotations

import secrets
from contextlib import ExitStack
from typing import Any

from vmtrace.capture.campaign import COMPLETE, INTERRUPTED, RUNNING, End, begin_host_record, outcome_of
from vmtrace.capture.ending import Ending
from vmtrace.capture.host_record import HostRecord
from vmtrace.capture.instance_metadata import check_setting
from vmtrace.providers import registry
from vmtrace.providers.budget import Budget
from vmtrace.providers.clock import REAL, Clock
from vmtrace.providers.course import error_of, first_state, in_time, interrupted, status_of
from vmtrace.providers.display import Display
from vmtrace.providers.errors import HOPELESS, ErrorKind, ProvidersError, ServiceError, UsageError
from vmtrace.providers.exchanges import HttpObserver
from vmtrace.providers.files import discard
from vmtrace.providers.journal import Journal, outstanding
from vmtrace.providers.kind import BENCHMARK, SWEEP
from vmtrace.providers.kinds.runners import runner
from vmtrace.providers.kinds.site import Site, translated
from vmtrace.providers.order import Order
from vmtrace.providers.place import Place, check_place, check_rights, place_of
from vmtrace.providers.removal import Remover
from vmtrace.providers.resuming import check_resumable
from vmtrace.providers.reverse_names import reverse_names
from vmtrace.providers.run_folder import RunFolder
from vmtrace.providers.service import Service, Target

Record = dict[str, Any]


def run_campaign(order: Order, display: Display, clock: Clock = REAL) -> End:
    """Do what is ordered. Raises `ProvidersError` where it cannot begin; nothing is left at the service then."""
    return _Run(order, display, clock).run()


class _Run:
    def __init__(self, order: Order, display: Display, clock: Clock) -> None:
        self._order, self._display, self._clock = order, display, clock
        self._provider = registry.find(order.provider)
        before = check_resumable(order, self._provider.name) if order.resume else None
        self._before = before
        self._id = secrets.token_hex(8) if before is None else str(before["id"])
        default = f"vmtrace-{self._id}"
        self._container = order.container or (default if before is None else str(before["container"]))
        self._target = Target(
            self._provider.name, self._container, order.endpoint_url, order.region, order.ca_bundle, self._options()
        )
        prices = None if order.prices is None else order.prices.prices(self._provider.name, order.region)
        if order.limits.max_cost is not None and prices is None:
            raise ProvidersError(
                f"--max-cost: the charges of {self._provider.name} are unknown: give a table with --prices"
            )
        self._prices = prices
        self._budget = Budget(order.limits, prices, "" if order.prices is None else order.prices.currency)
        self._observer = HttpObserver(self._budget, clock, order.call_s)
        self._interruption = Ending(
            f"stopped immediately: vmtrace storage clean {order.out} removes what is left at {self._provider.name}",
            lambda: self._observer.abort(interrupted()),
        )
        self._part_bytes: int | None = None
        self._endpoint = order.endpoint_url or ""
        self._archives = False
        self._site: Site | None = None
        self._host: HostRecord | None = None
        self._error: ServiceError | None = None

    def _options(self) -> dict[str, str]:
        """Every kind but benchmark and sweep moves an object whole over one connection."""
        if self._order.plan.kind in {BENCHMARK, SWEEP}:
            return dict(self._order.options)
        return {**self._provider.one_stream, **self._order.options}

    def _build(self) -> Service:
        return registry.build(self._provider, self._target)

    def _about(self) -> str:
        where = self._folder.state.get("endpoint")
        return f"{self._provider.name} ({where})" if where else self._provider.name

    # The course of a run.

    def run(self) -> End:
        with ExitStack() as stack:
            with registry.sdk_of(self._provider.name, self._provider.extra):
                stack.enter_context(self._observer)
            stack.enter_context(self._interruption)
            with self._interruption.allowed():
                service = translated(self._provider, self._build)
            stack.callback(service.close)
            self._part_bytes, self._archives = service.part_bytes, service.archives
            self._endpoint = service.endpoint
            if self._archives and self._order.plan.kind != BENCHMARK:
                kind = self._order.plan.kind
                raise UsageError(f"{self._provider.name}: objects of an archive cannot be read at once: no {kind} plan")
            check_rights(self._order)
            if self._order.metadata:
                check_setting()
            folder = self._open_folder(service.sdk)
            stack.callback(folder.close)
            journal = stack.enter_context(Journal(folder.path))
            self._folder, self._journal = folder, journal
            self._remover = Remover(
                self._build, self._provider.error_of, journal, folder.path, f"vmtrace-{self._id}/", self._observer
            )
            return self._to_the_end(service)

    def _to_the_end(self, service: Service) -> End:
        outcome = outcome_of(lambda: self._work(service), status_of)
        self._error = error_of(outcome)
        discard(self._folder.path / "files")
        if self._host is not None:
            self._host.stop()
        site = self._site
        end = self._end(outcome.status, unfinished=outcome.is_unfinished or (site is not None and site.failed > 0))
        outcome.raise_defect()
        return end

    def _work(self, service: Service) -> None:
        place = self._set_up(service)
        service.close()  # else its connections end when the service is tired of them, within a transaction
        self._host = begin_host_record(self._folder.path, place.interface, metadata=self._order.metadata)
        site = self._site = self._site_at(place)
        runner(self._order.plan, site).run()
        if site.failed == site.finished and site.last_failure is not None:
            raise site.last_failure

    def _open_folder(self, sdk: Any) -> RunFolder:
        """A new one, or that of the run that goes on."""
        if self._before is None:
            return RunFolder.create(self._order.out, self._first_state(sdk))
        folder = RunFolder.reopen(self._order.out)
        folder.note(
            status=RUNNING, error=None, error_kind=None, end_ns=None, sessions=folder.state.get("sessions", 1) + 1
        )
        return folder

    def _site_at(self, place: Place) -> Site:
        return Site(
            order=self._order,
            display=self._display,
            provider=self._provider,
            target=self._target,
            id=self._id,
            observer=self._observer,
            budget=self._budget,
            prices=self._prices,
            interruption=self._interruption,
            folder=self._folder,
            journal=self._journal,
            remover=self._remover,
            place=place,
            part_bytes=self._part_bytes,
            archives=self._archives,
            clock=self._clock,
            resumed=self._before is not None,
        )

    def _end(self, status: str, *, unfinished: bool) -> End:
        """Remove what is left, and close the books; after Ctrl-C as far as there is time."""
        site = self._site
        self._display.removing()
        if self._interruption.asked:
            self._folder.note(status=status, left_behind=self._named("interrupted"))  # as it is, should time run out
        self._budget.removing = True
        touched = unfinished and self._was_touched()
        left = in_time(
            self._interruption, self._observer, lambda: self._remover.everything(self._container, unfinished=touched)
        )
        if left is None:
            left = self._named("no time to remove it after the interruption")
        self._folder.note(left_behind=left)
        if self._interruption.asked and status == COMPLETE:
            status = INTERRUPTED
        error = None
        if self._error is not None:
            error = self._error.shown(self._about())
        elif status == INTERRUPTED:
            error = "interrupted"
        elif site is not None and site.last_failure is not None:
            last = site.last_failure.shown(self._about())
            what = "transactions" if self._order.plan.kind == BENCHMARK else "requests"
            error = f"{site.failed} of {site.finished} {what} had failures, the last: {last}"
        if site is not None:
            site.note_usage()
        if status == COMPLETE:
            self._note_names()
        failure = self._error or (site.last_failure if site is not None else None)
        kind = None if failure is None else str(failure.kind)
        self._folder.end(status, error, kind)
        self._display.ended()
        return End(status, error, self._folder.state)

    # Set-up.

    def _set_up(self, service: Service) -> Place:
        with self._interruption.allowed():
            own = self._order.container is None or self._order.create_container
            if own and outstanding(self._folder.path).container is None:
                self._journal.creating_container(self._container)
                self._create(service)
                self._folder.note(container_created=True)
            self._observer.begin()
            try:
                translated(self._provider, service.login)
            finally:
                self._observer.end()
        place = place_of(self._order, service.endpoint, service.region, self._observer.front_ends)
        self._folder.note(**place.as_record())
        check_place(place, self._about(), self._display.warned)
        return place

    def _create(self, service: Service) -> None:
        self._observer.begin()
        try:
            translated(self._provider, service.create_container)
        except ServiceError as error:
            reached = bool(self._observer.end().connections)
            if not reached or error.kind in HOPELESS | {ErrorKind.NAME_CLASH}:  # not there, or not ours to remove
                self._journal.removed_container(self._container)
            raise
        self._observer.end()
        self._journal.created_container(self._container)

    def _first_state(self, sdk: Any) -> Record:
        order, charged = self._order, self._prices is not None
        return {
            **first_state(order, self._provider.name, self._id, sdk, self._clock.wall_ns(), charged=charged),
            "endpoint": self._endpoint or None,
            "endpoint_told": order.endpoint_url,
            "container": self._container,
            "container_created": False,
            "transactions_planned": getattr(order.plan, "transactions", 0),
            "transactions_finished": 0,
            "transactions_failed": 0,
            "front_end_names": {},
        }

    # Accounts.

    def _named(self, why: str) -> list[Record]:
        """What may be at the service by the journal, with why it is there still."""
        there = outstanding(self._folder.path)
        found = dict(there.objects) | ({} if there.container is None else {there.container: there.container})
        return [{"name": name, "reference": reference, "error": why} for name, reference in found.items()]

    def _was_touched(self) -> bool:
        """Whether anything may be at the service."""
        return (self._site is not None and self._site.uploads_began) or outstanding(
            self._folder.path
        ).container is not None

    def _note_names(self) -> None:
        addresses = (peer.rpartition(":")[0].strip("[]") for peer in self._observer.front_ends)
        self._folder.note(front_end_names=reverse_names(addresses))
