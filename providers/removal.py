"""Removing what a run created: after each pair, at its end, after Ctrl-C, and by `vmtrace storage clean`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vmtrace.providers.errors import ErrorKind, ProvidersError, ServiceError
from vmtrace.providers.exchanges import HttpObserver
from vmtrace.providers.journal import Journal, outstanding
from vmtrace.providers.service import Service

Record = dict[str, Any]
_AT_ONCE = 1000
_FURTHER_COPIES = 10
"""Of one object, where each attempt of an upload left one under an id of its own."""


@dataclass(slots=True)
class Remover:
    """Removes and tells the journal. `build` makes a client, `error_of` says what its exceptions mean."""

    build: Callable[[], Service]
    error_of: Callable[[Exception], ServiceError]
    journal: Journal
    folder: Path
    prefix: str
    """That names of the run's objects have, and no others."""
    observer: HttpObserver
    were_there: int = field(default=0, init=False)
    """Objects that the service had when `everything` began, and has no more."""
    container_went: bool = field(default=False, init=False)

    def objects(self, names: Iterable[str]) -> ServiceError | None:
        """Remove these of the run's objects; returns why some are left, if so."""
        some = list(names)
        return self._in_session(lambda service: self._remove(service, some), len(some))

    def everything(self, container: str, *, unfinished: bool) -> list[Record]:
        """Remove all that may be left, the run's own container too; returns what still is.

        `unfinished`: something went wrong, so that the service is also asked what it has of this run.
        """
        left = outstanding(self.folder)
        if not left.objects and left.container is None and not unfinished:
            return []
        error = self._in_session(
            lambda service: self._remove_all(service, container, list(left.objects), unfinished), len(left.objects)
        )
        if error is not None and error.kind == ErrorKind.NO_SUCH_CONTAINER:
            self.journal.removed(list(left.objects))
            if left.container == container:
                self.journal.removed_container(container)
            return []
        if error is None:
            return []
        left = outstanding(self.folder)
        shown = str(error)
        if error.kind == ErrorKind.CONTAINER_NOT_EMPTY and error.remedy:  # unlike the others it is no passing trouble
            shown = f"{shown}: {error.remedy}"
        names = [{"name": name, "reference": reference, "error": shown} for name, reference in left.objects.items()]
        if left.container is not None or not names:
            names.append({"name": container, "reference": container, "error": shown})
        return names

    def _remove_all(self, service: Service, own: str, names: list[str], unfinished: bool) -> None:
        if unfinished or names:
            service.login()
        known = outstanding(self.folder).objects
        # An upload that broke off may be there under an id that we never heard.
        unknown = any(reference == name for name, reference in known.items())
        listed = self._listed(service) if unfinished and service.lists_at_once else set()
        try:
            self._remove(service, names)
            if unfinished:
                service.abandon_uploads(self.prefix)
                if not service.lists_at_once and unknown:
                    listed = self._listed(service)
                service.delete(sorted(listed - set(names)))
        except ServiceError:
            self._note_gone(service, listed, names)
            raise
        except Exception as error:
            self._note_gone(service, listed, names)
            raise self.observer.late or self.error_of(error) from error
        confirmed = sum(reference != name for name, reference in known.items())
        self.were_there = len(listed) if service.lists_at_once else confirmed + len(listed)
        container = outstanding(self.folder).container
        if container == own:
            service.remove_container()
            self.journal.removed_container(container)
            self.container_went = True

    def _listed(self, service: Service) -> set[str]:
        """References of what the service has of this run. A listing of more than the run can have made has no end."""
        found: set[str] = set()
        most = _FURTHER_COPIES * outstanding(self.folder).made + _AT_ONCE
        for seen, reference in enumerate(service.own_objects(self.prefix), 1):
            if service.lists_at_once and not reference.startswith(self.prefix):
                continue
            found.add(reference)
            if seen > most:
                raise ServiceError(ErrorKind.SERVICE, f"its listing of {self.prefix} has no end ({seen:,} objects)")
        return found

    def _note_gone(self, service: Service, listed: set[str], names: list[str]) -> None:
        """Deleting failed in its midst: what went all the same is known only by another listing."""
        if not listed or not service.lists_at_once:
            return
        try:
            gone = listed - self._listed(service)
        except Exception:  # noqa: BLE001 - the service does not even list: what is there stays in the journal
            return
        self.were_there = len(gone)
        self.journal.removed([name for name in names if name in gone])

    def _remove(self, service: Service, names: list[str]) -> None:
        references = outstanding(self.folder).objects
        known = [name for name in names if name in references]
        # A folder may come from elsewhere. Only a service that does not list at once chooses references of its own.
        foreign = {
            name
            for name in known
            if not name.startswith(self.prefix) or (references[name] != name and service.lists_at_once)
        }
        known = [name for name in known if name not in foreign]
        for start in range(0, len(known), _AT_ONCE):
            some = known[start : start + _AT_ONCE]
            service.delete([references[name] for name in some])
            self.journal.removed(some)
        if foreign:
            raise ServiceError(ErrorKind.OTHER, f"{min(foreign)} is not of this run: it stays")

    def _in_session(self, work: Callable[[Service], None], objects: int) -> ServiceError | None:
        service: Service | None = None
        self.observer.begin(objects=objects)
        try:
            service = self.build()
            work(service)
        except ServiceError as error:
            return error
        except ProvidersError as error:
            return ServiceError(ErrorKind.OTHER, str(error))
        except Exception as error:  # noqa: BLE001 - every SDK has its own; `error_of` tells what it means
            return self.observer.late or self.error_of(error)
        finally:
            self.observer.end()
            if service is not None:
                service.close()
        return None
