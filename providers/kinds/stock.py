"""The stock of a campaign: objects that are made before its first request, to be read again and again.

What is in stock stands in `run.json`, so that a run that goes on reads the same objects. One that has disappeared is
made anew, and counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vmtrace.providers.errors import ErrorKind
from vmtrace.providers.files import craft, discard
from vmtrace.providers.journal import outstanding
from vmtrace.providers.kinds.site import Site
from vmtrace.providers.plan import Workload
from vmtrace.providers.service import LocalFile, Service


@dataclass(frozen=True, slots=True)
class StockObject:
    """One object at the service."""

    name: str
    reference: str
    size_bytes: int
    sha256: str


@dataclass(slots=True)
class Stock:
    """`each` objects of every size."""

    site: Site
    each: int
    objects: dict[int, list[StockObject]]

    @classmethod
    def made(cls, site: Site, service: Service, sizes_bytes: Iterable[int], each: int) -> Stock:
        """Have it at the service; raises `ServiceError`. What a run that goes on has already is not made again."""
        stock = cls(site, each, _known(site))
        for size_bytes in sizes_bytes:
            there = stock.objects.setdefault(size_bytes, [])
            for position in range(len(there), each):
                with site.interruption.allowed():
                    there.append(stock._make(service, size_bytes, position))
                stock.note()
        return stock

    @property
    def size_bytes(self) -> int:
        """Of all of it."""
        return sum(one.size_bytes for some in self.objects.values() for one in some)

    def object(self, size_bytes: int, position: int) -> StockObject:
        """One of a size, in turns."""
        return self.objects[size_bytes][position % self.each]

    def replace(self, service: Service, lost: StockObject) -> None:
        """Make an object anew that somebody removed; raises `ServiceError`."""
        there = self.objects[lost.size_bytes]
        if lost in there:
            there[there.index(lost)] = self._make(service, lost.size_bytes, there.index(lost))
            self.site.folder.note(stock_replaced=self.site.folder.state.get("stock_replaced", 0) + 1)
            self.note()

    def note(self) -> None:
        """Into `run.json`."""
        self.site.folder.note(stock=[asdict(one) for some in self.objects.values() for one in some])

    def _make(self, service: Service, size_bytes: int, position: int) -> StockObject:
        site = self.site
        name = f"vmtrace-{site.id}/stock/{size_bytes}/{position}"
        folder = site.folder.path / "files" / "stock"
        try:
            (file,) = crafted(site, folder, 1, size_bytes)
            site.uploads_began = True
            site.journal.creating([name])
            site.observer.begin(metered=True, own_thread=True, size_bytes=size_bytes)
            try:
                stored = site.translated(lambda: service.upload(name, file))
            finally:
                site.observer.end(keep_connections=False)
            if stored.reference != name:
                site.journal.created(name, stored.reference)
            return StockObject(name, stored.reference, size_bytes, file.sha256)
        finally:
            discard(folder)


def crafted(site: Site, folder: Path, count: int, size_bytes: int) -> list[LocalFile]:
    """Files of random bytes in a folder of their own."""
    folder.parent.mkdir(mode=0o700, exist_ok=True)
    part_bytes = site.part_bytes if site.part_bytes is not None and size_bytes >= site.part_bytes else None
    return craft(folder, Workload("request", count, size_bytes), part_bytes)


def is_gone(kind: str | None) -> bool:
    """Whether an error says that the object is not there."""
    return kind == ErrorKind.NO_SUCH_OBJECT


def _known(site: Site) -> dict[int, list[StockObject]]:
    """What the run that goes on had, as far as its journal says that it is still there."""
    if not site.resumed:
        return {}
    there = outstanding(site.folder.path).objects
    found: dict[int, list[StockObject]] = {}
    for record in site.folder.state.get("stock") or []:
        one = _stock_object(record)
        if one is not None and one.name in there:
            found.setdefault(one.size_bytes, []).append(one)
    return found


def _stock_object(record: Any) -> StockObject | None:
    if not isinstance(record, Mapping):
        return None
    name, reference, size, sha256 = (record.get(key) for key in ("name", "reference", "size_bytes", "sha256"))
    if isinstance(name, str) and isinstance(reference, str) and isinstance(size, int) and isinstance(sha256, str):
        return StockObject(name, reference, size, sha256)
    return None
