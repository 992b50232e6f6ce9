"""A whole run: set-up, then every workload of every repeat uploaded, waited for, downloaded and removed.

The set-up (a client of its own, before any capture) makes the container, loads what SDKs load late, and learns where
the service is. Whatever happens afterwards, what was created is removed, or told of.
"""

from __future__ import annotations

import importlib.metadata
import platform
import secrets
import shlex
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlsplit

from capture.errors import CaptureError
from capture.host_record import HostRecord
from capture.instance_metadata import check_setting
from capture.interruption import Interruption
from capture.provenance import vmtrace_version
from capture.settings import CaptureSettings
from providers import registry
from providers.budget import Budget, pair_usage
from providers.display import Display
from providers.errors import HOPELESS, BudgetError, ErrorKind, ProvidersError, ServiceError
from providers.exchanges import HttpObserver
from providers.files import craft, discard
from providers.journal import Journal, outstanding
from providers.order import Order
from providers.plan import DOWNLOAD, UPLOAD, Workload
from providers.recording import Recording, capture_filter, check_capture, interface_for, port_of, strays_from
from providers.removal import Remover
from providers.reverse_names import reverse_names
from providers.round_trips import MOST_FRONT_ENDS, addresses_of, echoes
from providers.run_folder import COMPLETE, FAILED, INTERRUPTED, OVER_BUDGET, RUNNING, RunFolder
from providers.service import Service, Target
from providers.transaction import Outcome, Transactor
from providers.transfer import Item, Job

Record = dict[str, Any]
T = TypeVar("T")
_FIRST_ECHOES, _LATER_ECHOES = 10, 1
_FIRST_POLL_S, _LONGEST_POLL_S = 1.0, 60.0
_MOST_FAILED_IN_A_ROW = 3
"""Transactions in which nothing could be moved: then the service is given up."""


@dataclass(frozen=True, slots=True)
class End:
    """How a run ended: a status of `run.json`, and the line for a person unless all is well."""

    status: str
    error: str | None
    state: Record


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the service turned out to be."""

    endpoint: str
    region: str | None
    urls: tuple[str, ...]
    peers: tuple[str, ...]
    interface: str | None
    capture: CaptureSettings | None


def run_benchmark(order: Order, display: Display) -> End:
    """Do what is ordered. Raises `ProvidersError` where it cannot begin; nothing is left at the service then."""
    return _Run(order, display).run()


class _Run:
    def __init__(self, order: Order, display: Display) -> None:
        self._order, self._display = order, display
        self._provider = registry.find(order.provider)
        self._id = secrets.token_hex(8)
        self._container = order.container or f"vmtrace-{self._id}"
        self._target = Target(
            self._provider.name, self._container, order.endpoint_url, order.region, order.ca_bundle, order.options
        )
        prices = None if order.prices is None else order.prices.prices(self._provider.name, order.region)
        if order.limits.max_cost is not None and prices is None:
            raise ProvidersError(
                f"--max-cost: the charges of {self._provider.name} are unknown: give a table with --prices"
            )
        self._prices = prices
        self._budget = Budget(order.limits, prices, "" if order.prices is None else order.prices.currency)
        self._observer = HttpObserver(self._budget)
        self._interruption = Interruption()
        self._finished = self._failed = self._failed_in_a_row = 0
        self._part_bytes: int | None = None
        self._endpoint = order.endpoint_url or ""
        self._archives = self._uploads_began = False
        self._error: ServiceError | None = None
        self._last_failure: ServiceError | None = None

    def _build(self) -> Service:
        return registry.build(self._provider, self._target)

    def _about(self) -> str:
        where = self._folder.state.get("endpoint")
        return f"{self._provider.name} ({where})" if where else self._provider.name

    # The course of a run.

    def run(self) -> End:
        with ExitStack() as stack:
            with registry.sdk_of(self._provider):
                stack.enter_context(self._observer)
            stack.enter_context(self._interruption)
            with self._interruption.allowed():
                service = self._told(self._build)
            stack.callback(service.close)
            self._part_bytes, self._archives = service.part_bytes, service.archives
            self._endpoint = service.endpoint
            self._check_rights()
            if self._order.metadata:
                check_setting()
            folder = RunFolder.create(self._order.out, self._first_state(service.sdk))
            stack.callback(folder.close)
            journal = stack.enter_context(Journal(folder.path))
            self._folder, self._journal = folder, journal
            self._remover = Remover(self._build, self._provider.error_of, journal, folder.path, f"vmtrace-{self._id}/")
            return self._to_the_end(service)

    def _to_the_end(self, service: Service) -> End:
        status, unfinished, host = COMPLETE, True, None
        try:
            place = self._set_up(service)
            service.close()  # else its connections end when the service is tired of them, within a transaction
            host = self._begin_host_record(place)
            self._display.started(self._order.plan, self._folder.path, place.endpoint, self._expected_charge())
            self._all_pairs(place)
            unfinished = self._failed > 0
            if self._failed == self._finished and self._last_failure is not None:
                raise self._last_failure
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

    def _end(self, status: str, unfinished: bool) -> End:
        """Remove what is left, and close the books. Ctrl-C is heard here only when somebody insists."""
        self._display.removing()
        self._budget.removing = True
        try:
            left = self._remover.everything(self._container, unfinished=unfinished and self._was_touched())
        except KeyboardInterrupt:
            left = [{"name": self._container, "reference": self._container, "error": "interrupted"}]
        if left:
            self._folder.note(left_behind=left)
        error = None
        if self._error is not None:
            error = self._error.told(self._about())
        elif status == INTERRUPTED:
            error = "interrupted"
        elif self._last_failure is not None:
            last = self._last_failure.told(self._about())
            error = f"{self._failed} of {self._finished} transactions had failures, the last: {last}"
        self._note_usage()
        if status == COMPLETE:
            self._note_names()
        failure = self._error or self._last_failure
        kind = None if failure is None else str(failure.kind)
        self._folder.end(status, error, kind)
        self._display.ended()
        return End(status, error, self._folder.state)

    # Set-up.

    def _set_up(self, service: Service) -> _Place:
        with self._interruption.allowed():
            if self._order.container is None or self._order.create_container:
                self._journal.creating_container(self._container)
                self._create(service)
                self._folder.note(container_created=True)
            self._observer.begin()
            try:
                self._told(service.login)
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
            self._told(service.create_container)
        except ServiceError as error:
            reached = bool(self._observer.end().connections)
            if not reached or error.kind in HOPELESS | {ErrorKind.NAME_CLASH}:  # not there, or not ours to remove
                self._journal.removed_container(self._container)
            raise
        self._observer.end()
        self._journal.created_container(self._container)

    def _place(self, endpoint: str, region: str | None) -> _Place:
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
        return _Place(endpoint, region, urls, peers, interface, capture)

    def _check_rights(self) -> None:
        """Before anything is created: whether packets can be recorded at all, with this filter and snap length."""
        order = self._order
        if order.capture:
            try:
                check_capture(CaptureSettings(order.interface or "lo", order.filter or "tcp", order.snaplen))
            except CaptureError as error:
                raise ProvidersError(f"{error} (or give --no-capture)") from error

    def _begin_host_record(self, place: _Place) -> HostRecord:
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
            "start_ns": time.time_ns(),
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
            "transactions_planned": order.plan.transactions,
            "transactions_finished": 0,
            "transactions_failed": 0,
            "front_ends": [],
            "front_end_names": {},
            "interface": None,
            "capture": None,
            "left_behind": [],
        }

    def _tls(self, endpoint: str) -> Record | None:
        if urlsplit(endpoint).scheme != "https":
            return None
        bundle = self._order.ca_bundle
        return {"verified": True, "ca_bundle": None if bundle is None else str(bundle)}

    # Pairs of transactions.

    def _all_pairs(self, place: _Place) -> None:
        about = {"provider": self._provider.name, "region": place.region, "endpoint": place.endpoint}
        transactor = Transactor(
            self._build,
            self._provider.error_of,
            self._observer,
            self._folder,
            self._journal,
            self._interruption,
            self._display,
            about,
        )
        for pair, (repeat, workload) in enumerate(self._pairs()):
            self._budget.check_room(pair_usage(workload, self._held_s()))
            if pair:
                self._pause("idle", self._order.plan.idle_s)
            began_s = time.monotonic()
            uploaded_before = self._budget.used.uploaded_bytes
            try:
                self._pair(transactor, place, 2 * pair + 1, repeat, workload)
            finally:  # what an interrupted pair stored is charged for, too
                stored_bytes = self._budget.used.uploaded_bytes - uploaded_before
                self._budget.stored(stored_bytes, time.monotonic() - began_s)
            self._note_usage()

    def _pairs(self) -> Iterator[tuple[int, Workload]]:
        """Repeats outermost: whatever changes with time is spread over all workloads."""
        for repeat in range(1, self._order.plan.repeat + 1):
            for workload in self._order.plan.workloads:
                yield repeat, workload

    def _pair(self, transactor: Transactor, place: _Place, number: int, repeat: int, workload: Workload) -> None:
        files_folder = self._folder.path / "files"
        try:
            with self._interruption.allowed():
                files = craft(files_folder, workload, self._part_bytes_of(workload))
                self._measure_round_trips(place, number)
            prefix = f"vmtrace-{self._id}/{number:04d}"
            self._uploads_began = True
            items = [Item(f"{prefix}/{position:05d}", file) for position, file in enumerate(files, 1)]
            self._transaction(transactor, place, Job(number, workload, repeat, UPLOAD, items))
            stored = [item for item in items if item.reference is not None]
            if stored:
                self._restore(stored)
                self._pause("wait", self._order.plan.wait_s)
                self._transaction(transactor, place, Job(number + 1, workload, repeat, DOWNLOAD, items))
        finally:
            discard(files_folder)
        self._budget.removing = True
        self._remover.objects([item.name for item in items])  # what it cannot remove now is tried again at the end
        self._budget.removing = False

    def _part_bytes_of(self, workload: Workload) -> int | None:
        part_bytes = self._part_bytes
        return part_bytes if part_bytes is not None and workload.size_bytes >= part_bytes else None

    def _transaction(self, transactor: Transactor, place: _Place, job: Job) -> None:
        path = None if place.capture is None else self._folder.capture_path(job.number)
        recording = Recording(place.interface, place.capture, path)
        self._display.transaction_begins(job)
        outcome = transactor.run(job, recording)
        self._finished += 1
        self._failed += outcome.record["status"] != COMPLETE
        self._folder.note(
            transactions_finished=self._finished,
            transactions_failed=self._failed,
            front_ends=list(self._observer.front_ends),
        )
        self._display.transaction_ends(outcome.record, self._charge_left(job))
        self._failed_in_a_row = 0 if outcome.record["objects_done"] else self._failed_in_a_row + 1
        self._raise_what_ends_the_run(outcome)

    def _raise_what_ends_the_run(self, outcome: Outcome) -> None:
        if outcome.interrupted:
            raise KeyboardInterrupt
        if outcome.failed is not None:
            self._last_failure = outcome.failed
            if outcome.hopeless is not None or self._failed_in_a_row >= _MOST_FAILED_IN_A_ROW:
                raise outcome.failed

    def _restore(self, items: list[Item]) -> None:
        """Ask for archived objects and wait for them; other services have them at hand."""
        if not self._archives:
            return
        service = self._told(self._build)
        try:
            with self._interruption.allowed():
                for item in items:
                    self._told(partial(service.request_restore, str(item.reference)))
            ends_s, poll_s = time.monotonic() + self._order.restore_timeout_s, _FIRST_POLL_S
            for item in items:
                while not self._is_restored(service, str(item.reference)):
                    if time.monotonic() + poll_s > ends_s:
                        raise ServiceError(ErrorKind.NOT_RESTORED, f"{item.name} is still in the archive")
                    self._pause("restore", poll_s)
                    poll_s = min(1.5 * poll_s, _LONGEST_POLL_S)
        finally:
            service.close()

    def _is_restored(self, service: Service, reference: str) -> bool:
        with self._interruption.allowed():
            return self._told(partial(service.is_restored, reference))

    def _pause(self, what: str, seconds: float) -> None:
        if seconds > 0:
            self._display.waiting(what, seconds)
            self._interruption.sleep(seconds)

    def _measure_round_trips(self, place: _Place, transaction: int) -> None:
        count = _FIRST_ECHOES if transaction == 1 else _LATER_ECHOES
        front_ends: dict[tuple[str, int], None] = {}
        for url in place.urls:
            port = port_of(url)
            front_ends.update({(address, port): None for address in addresses_of(urlsplit(url).hostname or "", port)})
        # Names of containers may lead elsewhere than that of the endpoint.
        for peer in list(self._observer.front_ends)[-MOST_FRONT_ENDS:]:
            address, _, seen_port = peer.rpartition(":")
            front_ends[address.strip("[]"), int(seen_port)] = None
        for echo in echoes(front_ends, count):
            self._folder.append(
                "rtt",
                {
                    "time_ns": echo.time_ns,
                    "transaction": transaction,
                    "front_end": echo.front_end,
                    "port": echo.port,
                    "method": echo.method,
                    "rtt_s": echo.rtt_s,
                },
            )

    # Accounts.

    def _told(self, work: Callable[[], T]) -> T:
        """Do something with the SDK; what it raises becomes a `ServiceError`."""
        try:
            return work()
        except ProvidersError:
            raise
        except Exception as error:
            raise self._provider.error_of(error) from error

    def _was_touched(self) -> bool:
        """Whether anything may be at the service."""
        return self._uploads_began or outstanding(self._folder.path).container is not None

    def _held_s(self) -> float:
        """How long objects are stored at the least or, where they must be restored, at the most."""
        return self._order.plan.wait_s + (self._order.restore_timeout_s if self._archives else 0.0)

    def _expected_charge(self) -> float | None:
        return self._charge_of_pairs(list(self._pairs()))

    def _charge_left(self, job: Job) -> float | None:
        pairs = list(self._pairs())
        return self._charge_of_pairs(pairs[(job.number + 1) // 2 :])

    def _charge_of_pairs(self, pairs: list[tuple[int, Workload]]) -> float | None:
        charges = [self._budget.charge(pair_usage(workload, self._held_s())) for _, workload in pairs]
        known = [charge for charge in charges if charge is not None]
        return sum(known) if len(known) == len(charges) and self._prices is not None else None

    def _note_names(self) -> None:
        addresses = (peer.rpartition(":")[0].strip("[]") for peer in self._observer.front_ends)
        self._folder.note(front_end_names=reverse_names(addresses))

    def _note_usage(self) -> None:
        used = self._budget.used
        self._folder.note(
            used={
                "uploaded_bytes": used.uploaded_bytes,
                "downloaded_bytes": used.downloaded_bytes,
                "write_requests": used.write_requests,
                "read_requests": used.read_requests,
                "delete_requests": used.delete_requests,
                "cost": self._budget.cost,
                "charges": self._budget.charges,
            }
        )


def _kind_of(error: Exception) -> ErrorKind:
    return ErrorKind.CAPTURE if isinstance(error, CaptureError) else ErrorKind.OTHER


def command_line(words: list[str]) -> str:
    """As a shell takes it; credentials are never part of it."""
    return shlex.join(["vmtrace", *words])
