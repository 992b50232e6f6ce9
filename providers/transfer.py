"""One object on its way to a service or back: the call of the SDK, its digest checked, its line in the metadata log.

The digest of a large download is worked out beside the transfer of the next object, of which it takes no time; so is
its check. At most one object waits for that (its bytes in memory meanwhile are those its SDK handed over last), lines
are logged in the order of the transfers, and the times in a line are the transfer's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from vmtrace.capture.interruption import Interruption
from vmtrace.providers.digest_sink import DigestSink
from vmtrace.providers.errors import ErrorKind, ServiceError
from vmtrace.providers.exchanges import Exchange, HttpObserver
from vmtrace.providers.plan import UPLOAD, Workload
from vmtrace.providers.service import LocalFile, Service, Stored

Record = dict[str, Any]
DONE, WRITE_ERROR, READ_ERROR, FAILED = "done", "write_error", "read_error", "failed"


class Listener(Protocol):
    """Hears how far it is."""

    def moved(self, size_bytes: int) -> None:
        """So much more was transferred."""


@dataclass(slots=True)
class Item:
    """One file: as it is here, and as the service knows it."""

    name: str
    file: LocalFile
    reference: str | None = None
    """None until it was uploaded."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a transaction is to do."""

    number: int
    workload: Workload
    repeat: int
    direction: str
    items: Sequence[Item]


@dataclass(slots=True)
class Tally:
    """What a transaction has come to."""

    login: Exchange | None = None
    done: int = 0
    failed: int = 0
    failed_in_a_row: int = 0
    retries: int = 0
    moved_bytes: int = 0
    last_error: ServiceError | None = None


@dataclass(frozen=True, slots=True)
class _Unchecked:
    """A download that is over; its digest is not."""

    number: int
    item: Item
    exchange: Exchange
    sink: DigestSink
    resumed: int


@dataclass(slots=True)
class Mover:
    """Moves the objects of one transaction."""

    service: Service
    error_of: Callable[[Exception], ServiceError]
    observer: HttpObserver
    interruption: Interruption
    listener: Listener
    log: Callable[[Record], None]
    created: Callable[[str, str], None]
    """Hears the name and the reference of an object whose reference the service chose."""
    job: Job
    tally: Tally
    _unchecked: _Unchecked | None = field(default=None, init=False)

    def move(self, number: int, item: Item) -> ServiceError | None:
        """Upload or download one, and log it; returns what went wrong with it or with the one that awaited its check.

        Raises only `KeyboardInterrupt`. After the last one call `settle`.
        """
        move = self._upload if self.job.direction == UPLOAD else self._download
        self.observer.begin(metered=True, size_bytes=item.file.size_bytes)
        try:
            came = move(item)
        except KeyboardInterrupt:
            self._interrupted(number, item)
            raise
        except Exception as trouble:
            if self.interruption.asked:  # an SDK took it for trouble of its own
                self._interrupted(number, item)
                raise KeyboardInterrupt from trouble
            error = self.observer.late or self.error_of(trouble)
            exchange = self.observer.end()
            self.settle()
            facts = _given_up(error)
            if error.kind == ErrorKind.DIGEST:  # the service, or its SDK, compared and refused
                facts = {**facts, "digest_ok": False, "outcome": self._mismatch}
            self._log(number, item, exchange, facts)
            self.tally.last_error = ServiceError(error.kind, f"{item.name}: {error}", error.remedy)
            return self.tally.last_error
        exchange = self.observer.end()
        if isinstance(came, Stored):
            return self._log(number, item, exchange, self._checked(item, _stored(item, came)))
        sink, resumed = came
        digesting = sink.end()
        earlier = self.settle()
        self._unchecked = _Unchecked(number, item, exchange, sink, resumed)
        return earlier if digesting else self.settle() or earlier

    def _interrupted(self, number: int, item: Item) -> None:
        exchange = self.observer.end()
        self.settle()
        self._log(number, item, exchange, _given_up(ServiceError(ErrorKind.OTHER, "interrupted")))

    def settle(self) -> ServiceError | None:
        """Wait for the digest of the object downloaded last, check and log it; returns what is wrong with it."""
        one, self._unchecked = self._unchecked, None
        if one is None:
            return None
        digest = one.sink.sha256()
        facts = {
            "digest": digest,
            "digest_ok": digest == one.item.file.sha256,
            "resumed": one.resumed,
            "got": one.sink.size_bytes,
        }
        return self._log(one.number, one.item, one.exchange, self._checked(one.item, facts))

    @property
    def _mismatch(self) -> str:
        return WRITE_ERROR if self.job.direction == UPLOAD else READ_ERROR

    def _upload(self, item: Item) -> Stored:
        with self.interruption.allowed():
            stored = self.service.upload(item.name, item.file)
        item.reference = stored.reference
        if stored.reference != item.name:
            self.created(item.name, stored.reference)
        return stored

    def _download(self, item: Item) -> tuple[DigestSink, int]:
        sink = DigestSink(self._received, item.file.size_bytes)
        with self.interruption.allowed():
            resumed = self.service.download(item.reference or item.name, sink)
        if self.interruption.asked and sink.size_bytes < item.file.size_bytes:
            raise KeyboardInterrupt  # boto3 without threads keeps it to itself
        return sink, resumed

    def _received(self, size_bytes: int) -> None:
        self.observer.received(size_bytes)
        self.listener.moved(size_bytes)

    def _checked(self, item: Item, facts: Record) -> Record:
        """The SDK was content; whether we are, too."""
        got_bytes = facts.pop("got", item.file.size_bytes)
        if facts["digest_ok"] is not False:
            return {**facts, "moved_bytes": item.file.size_bytes, "outcome": DONE, "error_kind": None, "error": None}
        what = "the digest of the service is not the file's"
        if self.job.direction != UPLOAD:
            what = f"what came back is not what was sent ({got_bytes} of {item.file.size_bytes} bytes)"
        return {**facts, "outcome": self._mismatch, "error_kind": str(ErrorKind.DIGEST), "error": what}

    def _log(self, number: int, item: Item, exchange: Exchange, facts: Record) -> ServiceError | None:
        said = exchange.as_record()
        resumed = facts.pop("resumed", 0)
        if resumed:
            said["retries"] += resumed
            said["retry_causes"]["body"] = said["retry_causes"].get("body", 0) + resumed
        line = {
            "transaction": self.job.number,
            "workload": self.job.workload.name,
            "repeat": self.job.repeat,
            "direction": self.job.direction,
            "object": number,
            "name": item.name,
            "reference": item.reference,
            "bytes": item.file.size_bytes,
            "moved_bytes": 0,
            "digest": item.file.sha256 if self.job.direction == UPLOAD else None,
            "service_digest": None,
            "digest_ok": None,
            **facts,
            **said,
        }
        self.log(line)
        return self._counted(line)

    def _counted(self, line: Record) -> ServiceError | None:
        tally = self.tally
        tally.retries += line["retries"]
        tally.moved_bytes += line["moved_bytes"]
        if line["outcome"] == DONE:
            tally.done += 1
            tally.failed_in_a_row = 0
            if self.job.direction == UPLOAD:
                self.listener.moved(line["bytes"])
            return None
        tally.failed += 1
        tally.failed_in_a_row += 1
        tally.last_error = ServiceError(ErrorKind(line["error_kind"]), f"{line['name']}: {line['error']}")
        return tally.last_error


def _stored(item: Item, stored: Stored) -> Record:
    return {"digest": item.file.sha256, "service_digest": stored.service_digest, "digest_ok": stored.digest_ok}


def _given_up(error: ServiceError) -> Record:
    return {"outcome": FAILED, "error_kind": str(error.kind), "error": str(error)}
