"""The place where a campaign happens: the service as it was found, the run folder, and the accounts of the run."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, TypeVar

from vmtrace.capture.interruption import Interruption
from vmtrace.providers import registry
from vmtrace.providers.budget import Budget
from vmtrace.providers.clock import REAL, Clock
from vmtrace.providers.display import Display
from vmtrace.providers.errors import ProvidersError, ServiceError
from vmtrace.providers.exchanges import HttpObserver
from vmtrace.providers.journal import Journal
from vmtrace.providers.order import Order
from vmtrace.providers.place import Place, round_trips
from vmtrace.providers.prices import Prices
from vmtrace.providers.registry import Provider
from vmtrace.providers.removal import Remover
from vmtrace.providers.run_folder import RunFolder
from vmtrace.providers.service import Service, Target

T = TypeVar("T")
_FIRST_ECHOES, _LATER_ECHOES = 10, 1


@dataclass(slots=True)
class Site:
    """Everything a runner works with. `finished` and `failed` count transactions or requests."""

    order: Order
    display: Display
    provider: Provider
    target: Target
    id: str
    observer: HttpObserver
    budget: Budget
    prices: Prices | None
    interruption: Interruption
    folder: RunFolder
    journal: Journal
    remover: Remover
    place: Place
    part_bytes: int | None
    archives: bool
    clock: Clock = REAL
    resumed: bool = False
    finished: int = 0
    failed: int = 0
    failed_in_a_row: int = 0
    uploads_began: bool = False
    last_failure: ServiceError | None = field(default=None)

    @property
    def about(self) -> dict[str, Any]:
        """Keys that stand in every line of the metadata log."""
        return {"provider": self.provider.name, "region": self.place.region, "endpoint": self.place.endpoint}

    def build(self) -> Service:
        """A client of its own."""
        return registry.build(self.provider, self.target)

    def logged_in(self, stack: ExitStack) -> Service:
        """A client of its own; its connections are closed, so that the first request opens one."""
        service = self.translated(self.build)
        stack.callback(service.close)
        self.observer.begin(own_thread=True)
        try:
            self.translated(service.login)
        finally:
            self.observer.end(keep_connections=False)
        return service

    def translated(self, work: Callable[[], T]) -> T:
        """Do something with the SDK; what it raises becomes a `ServiceError`."""
        return translated(self.provider, work)

    def pause(self, what: str, seconds: float) -> None:
        """Wait, and show what for."""
        if seconds > 0:
            self.display.waiting(what, seconds)
            self.interruption.sleep(seconds)

    def measure_round_trips(self, transaction: int) -> None:
        """Echoes to each front end, into `rtt.jsonl`."""
        count = _FIRST_ECHOES if transaction == 1 else _LATER_ECHOES
        for record in round_trips(self.place, self.observer.front_ends, count):
            self.folder.append("rtt", {**record, "transaction": transaction})

    def note_usage(self) -> None:
        """What was used so far, into `run.json`."""
        used = self.budget.used
        names = ("uploaded_bytes", "downloaded_bytes", "write_requests", "read_requests", "delete_requests")
        counts = {name: getattr(used, name) for name in names}
        self.folder.note(used={**counts, "cost": self.budget.cost, "charges": self.budget.charges})

    def stored_since(self, uploaded_before_bytes: int, began_s: float) -> None:
        """Charge for what was uploaded since, as kept until now."""
        stored_bytes = self.budget.used.uploaded_bytes - uploaded_before_bytes
        self.budget.stored(stored_bytes, time.monotonic() - began_s)


def translated(provider: Provider, work: Callable[[], T]) -> T:
    """Do something with the SDK; what it raises becomes a `ServiceError`."""
    try:
        return work()
    except ProvidersError:
        raise
    except Exception as error:
        raise provider.error_of(error) from error
