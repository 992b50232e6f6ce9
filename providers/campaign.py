"""A whole run: set-up, then what the plan's kind does (`kinds/`), then the removal of everything that was created.

The set-up (a client of its own, before any capture) makes the container, loads what SDKs load late, and learns where
the service is. Whatever happens afterwards, what was created is removed, or named.
"""

from __future__ import annotations

import importlib.metadata
import platform
import secrets
import shlex
import ssl
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from vmtrace.capture.ending import Ending
from vmtrace.capture.errors import CaptureError
from vmtrace.capture.host_record import HostRecord
from vmtrace.capture.instance_metadata import check_setting
from vmtrace.capture.provenance import vmtrace_version
from vmtrace.capture.settings import CaptureSettings
from vmtrace.providers import registry
from vmtrace.providers.budget import Budget
from vmtrace.providers.clock import REAL, Clock
from vmtrace.providers.display import Display
from vmtrace.providers.errors import HOPELESS, BudgetError, ErrorKind, ProvidersError, ServiceError, UsageError
from vmtrace.providers.exchanges import HttpObserver
from vmtrace.providers.files import discard
from vmtrace.providers.journal import Journal, outstanding
from vmtrace.providers.kinds.kind import BENCHMARK, SWEEP
from vmtrace.providers.kinds.runners import runner
from vmtrace.providers.kinds.site import Place, Site, translated
from vmtrace.providers.order import Order
from vmtrace.providers.recording import capture_filter, check_capture, interface_for, strays_from
from vmtrace.providers.removal import Remover
from vmtrace.providers.resuming import check_resumable
from vmtrace.providers.reverse_names import reverse_names
from vmtrace.providers.run_folder import COMPLETE, FAILED, INTERRUPTED, OVER_BUDGET, RUNNING, RunFolder
from vmtrace.providers.service import Service, Target

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class End:
    """How a run ended: a status of `run.json`, and the line for a person unless all is well."""

    status: str
    error: str | None
    state: Record


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
            self._provider.name,
            self._container,
            order.endpoint_url,
            order.region,
            order.ca_bundle,
            self._options(),
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
            lambda: self._observer.abort(ServiceError(ErrorKind.OTHER, "interrupted")),
        )
        self._part_bytes: int | None = None
        self._endpoint = order.endpoint_url or ""
        self._archives = False
        self._site: Site | None = None
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
            self._check_rights()
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
        status, unfinished, host = COMPLETE, True, None
        try:
            place = self._set_up(service)
            service.close()  # else its connections end when the service is tired of them, within a transaction
            host = self._begin_host_record(place)
            site = self._site = self._site_at(place)
            runner(self._order.plan, site).run()
            unfinished = site.failed > 0
            if site.failed == site.finished and site.last_failure is not None:
                raise site.last_failure
        except KeyboardInterrupt:
            status = INTERRUPTED
        except BudgetError as error:
            status, self._error = OVER_BUDGET, error
        except ServiceError as error:
            status, self._error = (OVER_BUDGET if error.kind == ErrorKind.BUDGET else FAILED), error
        except (ProvidersError, CaptureError, OSError) as error:
            status, self._error = FAILED, ServiceError(_kind_of(error), str(error), "")
        except Exception as defect:
            self._error = ServiceError(ErrorKind.OTHER, f"{type(defect).__name__}: {defect}", "")
            self._end(FAILED, unfinished)
            raise
        finally:
            discard(self._folder.path / "files")
            if host is not None:
                host.stop()
        return self._end(status, unfinished)

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

    def _end(self, status: str, unfinished: bool) -> End:
        """Remove what is left, and close the books; after Ctrl-C as far as there is time."""
        site = self._site
        self._display.removing()
        if self._interruption.asked:
            self._folder.note(status=status, left_behind=self._named("interrupted"))  # as it is, should time run out
        self._interruption.settle()
        self._observer.resume()
        self._budget.removing = True
        touched = unfinished and self._was_touched()
        left = self._interruption.in_time(lambda: self._remover.everything(self._container, unfinished=touched))
        if left is None:
            self._observer.abort(ServiceError(ErrorKind.OTHER, "interrupted"))
            left = self._named("no time to remove it after the interruption")
        self._folder.note(left_behind=left)
        if self._interruption.asked and status == COMPLETE:
            status = INTERRUPTED
        error = None
        if self._error is not None:
            error = self._error.told(self._about())
        elif status == INTERRUPTED:
            error = "interrupted"
        elif site is not None and site.last_failure is not None:
            last = site.last_failure.told(self._about())
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
        endpoint, region = service.endpoint, service.region
        place = self._place(endpoint, region)
        capture = place.capture
        self._folder.note(
            endpoint=endpoint,
            region=region,
            tls=self._tls(endpoint),
            interface=place.interface,
            capture=None
            if capture is None
            else {"interface": capture.interface, "filter": capture.filter, "snaplen": capture.snaplen},
            front_ends=list(place.peers),
        )
        if capture is not None:
            check_capture(capture)
            towards = strays_from(capture.interface, place.urls, place.peers)
            if towards is not None:
                self._display.warned(
                    f"packets are recorded on {capture.interface}, but those to {self._about()} take {towards}: "
                    f"give --interface {towards}"
                )
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

    def _place(self, endpoint: str, region: str | None) -> Place:
        told = self._order.endpoint_url
        urls = tuple(dict.fromkeys(filter(None, (told, endpoint))))
        peers = tuple(self._observer.front_ends)
        interface = self._order.interface
        if interface is None:
            try:
                interface = interface_for(urls, peers)
            except ProvidersError:
                if self._order.capture:
                    raise
        capture = None
        if self._order.capture and interface is not None:
            expression = self._order.filter if self._order.filter is not None else capture_filter(urls, peers)
            capture = CaptureSettings(interface, expression, self._order.snaplen, also_tagged=True)
        return Place(endpoint, region, urls, peers, interface, capture)

    def _check_rights(self) -> None:
        """Before anything is created: whether packets can be recorded at all, with this filter and snap length."""
        order = self._order
        if order.capture:
            try:
                check_capture(CaptureSettings(order.interface or "lo", order.filter or "tcp", order.snaplen))
            except CaptureError as error:
                raise ProvidersError(f"{error} (or give --no-capture)") from error

    def _begin_host_record(self, place: Place) -> HostRecord:
        host = self._folder.path / "host"
        host.mkdir(mode=0o700, exist_ok=True)
        return HostRecord(host / "facts.json", host / "counters.csv", place.interface, metadata=self._order.metadata)

    def _first_state(self, sdk: Any) -> Record:
        order = self._order
        return {
            "vmtrace": vmtrace_version(),
            "id": self._id,
            "name": order.name or order.out.resolve().name,
            "status": RUNNING,
            "error": None,
            "error_kind": None,
            "start_ns": self._clock.wall_ns(),
            "end_ns": None,
            "command": order.command,
            "provider": self._provider.name,
            "region": order.region,
            "endpoint": self._endpoint or None,
            "endpoint_told": order.endpoint_url,
            "container": self._container,
            "container_created": False,
            "options": dict(order.options),
            "tls": None,
            "sdk": {"name": sdk.name, "version": sdk.version, "settings": dict(sdk.settings)},
            "runtime": {
                "python": platform.python_version(),
                "openssl": ssl.OPENSSL_VERSION,
                "urllib3": importlib.metadata.version("urllib3"),
            },
            "plan": order.plan.as_record(),
            "budget": {"max_bytes": order.limits.max_bytes, "max_cost": order.limits.max_cost},
            "prices": None if self._prices is None or order.prices is None else order.prices.as_record(),
            "used": None,
            "transactions_planned": getattr(order.plan, "transactions", 0),
            "transactions_finished": 0,
            "transactions_failed": 0,
            "front_ends": [],
            "front_end_names": {},
            "interface": None,
            "capture": None,
            "left_behind": [],
            "location": order.location,
            "host": platform.node(),
            "sessions": 1,
        }

    def _tls(self, endpoint: str) -> Record | None:
        if urlsplit(endpoint).scheme != "https":
            return None
        bundle = self._order.ca_bundle
        return {"verified": True, "ca_bundle": None if bundle is None else str(bundle)}

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


def _kind_of(error: Exception) -> ErrorKind:
    return ErrorKind.CAPTURE if isinstance(error, CaptureError) else ErrorKind.OTHER


def command_line(words: list[str]) -> str:
    """As a shell takes it; credentials are never part of it."""
    return shlex.join(["vmtrace", *words])
