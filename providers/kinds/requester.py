"""One object up or down for a campaign, in the calling thread: name resolved anew, a new connection, a line of the log.

Requests of several threads go on side by side; each has an exchange of its own (`HttpObserver`, `own_thread`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from vmtrace.providers.digest_sink import DigestSink
from vmtrace.providers.errors import ErrorKind, ServiceError, manner_of
from vmtrace.providers.exchanges import Attempt, Exchange, HttpObserver
from vmtrace.providers.own_network import OwnNetwork
from vmtrace.providers.plan import DOWNLOAD, UPLOAD
from vmtrace.providers.resolver import NameLookup, Resolver
from vmtrace.providers.service import LocalFile, Service
from vmtrace.providers.transfer import DONE, FAILED, READ_ERROR, WRITE_ERROR

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Said:
    """What came of one request: the outcome, what was said, and its error (None if all is well)."""

    record: Record
    error: ServiceError | None
    reference: str | None = None


@dataclass(slots=True)
class Requester:
    """`new_connections`: every request opens one, and resolves the name for it."""

    observer: HttpObserver
    resolver: Resolver | None
    error_of: Callable[[Exception], ServiceError]
    new_connections: bool = True
    all_attempts: bool = False
    """Log the attempts of each request; else only of those that were retried or failed."""
    own_network: OwnNetwork | None = None
    """Asked after a request without a response."""

    def upload(self, service: Service, name: str, file: LocalFile) -> Said:
        """Put a file under a name."""

        def work() -> tuple[Record, str]:
            stored = service.upload(name, file)
            good = stored.digest_ok is not False
            facts = {"digest_ok": stored.digest_ok, "outcome": DONE if good else WRITE_ERROR}
            return facts, stored.reference

        return self._request(UPLOAD, name, file.size_bytes, work)

    def download(self, service: Service, reference: str, size_bytes: int, sha256: str) -> Said:
        """Get an object and compare what comes."""
        sink = DigestSink(self.observer.received, size_bytes)

        def work() -> tuple[Record, str]:
            service.download(reference, sink)
            return {}, reference

        return self._request(DOWNLOAD, reference, size_bytes, work, lambda: sink.sha256() == sha256)

    def _request(
        self,
        direction: str,
        name: str,
        size_bytes: int,
        work: Callable[[], tuple[Record, str]],
        is_right: Callable[[], bool] | None = None,
    ) -> Said:
        mismatch = WRITE_ERROR if direction == UPLOAD else READ_ERROR
        error: ServiceError | None = None
        reference: str | None = None
        facts: Record = {}
        manner: str | None = None
        if self.resolver is not None:
            self.resolver.listen()
        self.observer.begin(metered=True, own_thread=True, size_bytes=size_bytes)
        try:
            facts, reference = work()
        except Exception as trouble:  # noqa: BLE001 - every SDK has its own; `error_of` tells what it means
            error = self.observer.late or self.error_of(trouble)
            manner = "timeout" if self.observer.late else manner_of(trouble)
        attempts = self.observer.attempts()
        exchange = self.observer.end(keep_connections=not self.new_connections)
        lookups = self.resolver.collected() if self.resolver is not None else []
        if error is not None:
            wrong = error.kind == ErrorKind.DIGEST
            facts = {"digest_ok": False if wrong else None, "outcome": mismatch if wrong else FAILED}
        elif is_right is not None:  # outside of the time that is measured
            good = is_right()
            facts = {"digest_ok": good, "outcome": DONE if good else READ_ERROR}
        if error is None and facts["outcome"] != DONE:
            error = ServiceError(ErrorKind.DIGEST, f"{name}: its digest is not that of the file")
        record = _record(direction, name, size_bytes, facts, error) | {"failure": manner, "own_network": None}
        if manner is not None and self.own_network is not None:
            record["own_network"] = self.own_network.state()
        return Said({**record, **self._on_wire(exchange, attempts, lookups, facts)}, error, reference)

    def _on_wire(self, exchange: Exchange, attempts: list[Attempt], lookups: list[NameLookup], facts: Record) -> Record:
        interesting = self.all_attempts or exchange.retries or facts["outcome"] != DONE
        return {
            "lookups": [one.as_record() for one in lookups],
            "attempts": [one.as_record() for one in attempts] if interesting else [],
            **exchange.as_record(),
        }


def _record(direction: str, name: str, size_bytes: int, facts: Record, error: ServiceError | None) -> Record:
    return {
        "direction": direction,
        "name": name,
        "bytes": size_bytes,
        "moved_bytes": size_bytes if facts["outcome"] == DONE else 0,
        **facts,
        "error_kind": None if error is None else str(error.kind),
        "error": None if error is None else str(error),
    }
