"""A sweep: a file uploaded in parts by the SDK, step after step, with what it cost this host.

A source on the disk is read with a cold cache: its pages are dropped before each step. Files of merges have holes
instead of content; only how long the service takes to make one object of the parts counts there.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from vmtrace.formats.quantities import shown_decimal_bytes
from vmtrace.providers import registry
from vmtrace.providers.errors import HOPELESS, BudgetError, ErrorKind, ProvidersError, ServiceError, UsageError
from vmtrace.providers.exchanges import Attempt, Exchange
from vmtrace.providers.files import discard
from vmtrace.providers.kind import SWEEP
from vmtrace.providers.kinds.counters import cost, counted
from vmtrace.providers.kinds.long_capture import LongCapture
from vmtrace.providers.kinds.run_delay import RunDelay
from vmtrace.providers.kinds.site import Site
from vmtrace.providers.kinds.stock import crafted
from vmtrace.providers.kinds.sweep_plan import MEMORY, SweepPlan, SweepStep
from vmtrace.providers.prices import Usage
from vmtrace.providers.service import LocalFile, Stored
from vmtrace.providers.transfer import DONE, FAILED, WRITE_ERROR

Record = dict[str, Any]
_MEMORY_FOLDER = Path("/dev/shm")
_SPARE_BYTES = 64 << 20
_BLOCK_BYTES = 1 << 20
_MERGE = re.compile(r"[?&](?:uploadId=(?!.*partNumber=)|comp=blocklist(?:&|$))")


@dataclass(slots=True)
class Sweep:
    """Runs a `SweepPlan`."""

    site: Site
    plan: SweepPlan
    _files: dict[tuple[str, int, int], LocalFile] = field(default_factory=dict)
    _memory: Path | None = None
    _run_delay: RunDelay = field(init=False)

    def run(self) -> None:
        """All steps, but those that a run which goes on has done."""
        site = self.site
        if site.provider.parted_options is None:
            raise UsageError(f"{site.provider.name}: its SDK does not upload in parts: no {SWEEP} plan")
        with ExitStack() as stack:
            if MEMORY in self.plan.sources:
                self._memory = self._memory_folder(stack)
            with site.interruption.allowed():
                site.measure_round_trips(1)
            steps = list(self.plan.steps())
            done = int(site.folder.state.get("requests_finished") or 0) if site.resumed else 0
            site.display.announced(
                f"{self.plan.name}: {len(steps)} uploads of {shown_decimal_bytes(self.plan.size_bytes)} and merges, "
                f"to {site.place.endpoint}; into {site.folder.path}"
            )
            with LongCapture(site) as capture, RunDelay() as self._run_delay:
                for step in steps[done:]:
                    self._check_room(step)
                    self._step(step, len(steps), capture)
                    site.finished = max(site.finished, step.number)
                    site.folder.note(requests_finished=site.finished, requests_failed=site.failed)
                    site.note_usage()

    def _memory_folder(self, stack: ExitStack) -> Path:
        """Gone at the end, whatever happens."""
        needed = self.plan.largest_bytes + _SPARE_BYTES
        try:
            free_bytes = shutil.disk_usage(_MEMORY_FOLDER).free
            folder = Path(tempfile.mkdtemp(prefix="vmtrace-sweep-", dir=_MEMORY_FOLDER))
        except OSError as error:
            raise ProvidersError(f"{_MEMORY_FOLDER}: no source in memory: {error.strerror}") from error
        stack.callback(discard, folder)
        if free_bytes < needed:
            shown = shown_decimal_bytes(needed)
            raise ProvidersError(f"{_MEMORY_FOLDER}: {shown} are needed for a source in memory: choose a smaller size")
        return folder

    def _check_room(self, step: SweepStep) -> None:
        self.site.budget.check_room(Usage(uploaded_bytes=step.size_bytes, write_requests=step.parts + 2))

    # One step.

    def _step(self, step: SweepStep, of: int, capture: LongCapture) -> None:
        site = self.site
        with site.interruption.allowed():
            file = self._source(step)
        name = f"vmtrace-{site.id}/sweep/{site.folder.state.get('sessions', 1)}-{step.number:05d}"
        parted = site.provider.parted_options
        options = {**(parted(step.connections, step.part_bytes) if parted else {}), **site.order.options}
        target = replace(site.target, options=options)
        site.uploads_began = True
        site.journal.creating([name])
        service = site.translated(lambda: registry.build(site.provider, target))
        began_s, uploaded = time.monotonic(), site.budget.used.uploaded_bytes
        stored: Stored | None = None
        error: ServiceError | None = None
        dropped = capture.dropped
        try:
            with site.interruption.allowed():
                site.translated(service.login)
                _drop_pages(file.path)
                before = counted(file.path, run_delay_s=self._run_delay.seconds())
                site.observer.begin(metered=True, size_bytes=step.size_bytes)
                try:
                    stored = site.translated(lambda: service.upload(name, file))
                except ServiceError as trouble:
                    error = site.observer.late or trouble
                attempts = site.observer.attempts()
                exchange = site.observer.end()
                after = counted(file.path, run_delay_s=self._run_delay.seconds())
                spent = cost(before, after).as_record()
        finally:
            service.close()
            site.stored_since(uploaded, began_s)
        if stored is not None and stored.digest_ok is False:
            error = ServiceError(ErrorKind.DIGEST, f"{name}: the digest of the service is not the file's")
        self._log(step, exchange, attempts, spent, error, capture.dropped - dropped)
        site.display.announced(_told(step, of, exchange, error))
        site.budget.removing = True
        site.remover.objects([name])
        site.budget.removing = False
        if error is not None:
            site.failed += 1
            site.last_failure = error
            if isinstance(error, BudgetError) or error.kind in HOPELESS:
                raise error

    def _log(
        self,
        step: SweepStep,
        exchange: Exchange,
        attempts: list[Attempt],
        spent: Record,
        error: ServiceError | None,
        dropped: int,
    ) -> None:
        outcome = DONE if error is None else WRITE_ERROR if error.kind == ErrorKind.DIGEST else FAILED
        merge = next((one for one in reversed(attempts) if _MERGE.search(one.url)), None)
        merge_s = None if merge is None or error is not None else (exchange.end_ns - merge.start_ns) / 1e9
        said = exchange.as_record()
        uses = said.pop("connections")
        self.site.folder.append(
            "steps",
            {
                "step": step.number,
                "repeat": step.repeat,
                "connections": step.connections,
                "part_bytes": step.part_bytes,
                "parts": step.parts,
                "bytes": step.size_bytes,
                "source": step.source,
                "merge": step.merge,
                "merge_s": merge_s,
                "connections_used": len(exchange.connections),
                "dropped": dropped,
                "cost": spent,
                "outcome": outcome,
                "error_kind": None if error is None else str(error.kind),
                "error": None if error is None else str(error),
                **said,
                "uses": uses,
            },
        )

    # Sources.

    def _source(self, step: SweepStep) -> LocalFile:
        """The file of a step, with the digests of its parts."""
        if step.merge:
            return self._with_holes(step)
        key = step.source, step.size_bytes, step.part_bytes
        if key not in self._files:
            base = self._random_file(step.source, step.size_bytes)
            self._files[key] = replace(base, part_md5s=_part_md5s(base.path, step.part_bytes))
        return self._files[key]

    def _random_file(self, source: str, size_bytes: int) -> LocalFile:
        for (other, size, _), file in self._files.items():
            if (other, size) == (source, size_bytes):
                return file
        folder = self.site.folder.path / "files" / f"sweep-{size_bytes}"
        if source == MEMORY and self._memory is not None:
            folder = self._memory / str(size_bytes)
        (file,) = crafted(self.site, folder, 1, size_bytes)
        return file

    def _with_holes(self, step: SweepStep) -> LocalFile:
        path = self.site.folder.path / "files" / "holes"
        path.parent.mkdir(mode=0o700, exist_ok=True)
        with path.open("wb") as file:
            file.truncate(step.size_bytes)
        part = hashlib.md5(bytes(step.part_bytes), usedforsecurity=False).hexdigest()
        return LocalFile(path, step.size_bytes, "", "", (part,) * step.parts)


def _part_md5s(path: Path, part_bytes: int) -> tuple[str, ...]:
    found: list[str] = []
    with path.open("rb") as file:
        while True:
            digest, left = hashlib.md5(usedforsecurity=False), part_bytes
            while left and (block := file.read(min(_BLOCK_BYTES, left))):
                digest.update(block)
                left -= len(block)
            if left == part_bytes:
                return tuple(found)
            found.append(digest.hexdigest())


def _drop_pages(path: Path) -> None:
    """The next reader gets the file from the disk (posix_fadvise(2)); what lies in memory stays there."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _told(step: SweepStep, of: int, exchange: Exchange, error: ServiceError | None) -> str:
    what = f"{step.parts} parts merged" if step.merge else f"{step.source}, parts of {step.part_bytes:,} bytes"
    rate = "" if error is not None else f", {8 * step.size_bytes / max(exchange.duration_s, 1e-9) / 1e6:.1f} Mbit/s"
    end = f": {error}" if error is not None else ""
    return f"[{step.number}/{of}] {step.connections} connections, {what}{rate}{end}"
