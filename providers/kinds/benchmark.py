"""Benchmarks: every workload of every repeat uploaded, waited for, downloaded and removed; a capture for each half."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from vmtrace.capture.campaign import COMPLETE
from vmtrace.providers.budget import pair_usage
from vmtrace.providers.errors import ErrorKind, ServiceError
from vmtrace.providers.files import craft, discard
from vmtrace.providers.kinds.site import Site
from vmtrace.providers.plan import DOWNLOAD, UPLOAD, Plan, Workload
from vmtrace.providers.recording import Recording
from vmtrace.providers.service import Service
from vmtrace.providers.transaction import Outcome, Transactor
from vmtrace.providers.transfer import Item, Job

_FIRST_POLL_S, _LONGEST_POLL_S = 1.0, 60.0
_MOST_FAILED_IN_A_ROW = 3
"""Transactions in which nothing could be moved: then the service is given up."""


@dataclass(slots=True)
class Benchmark:
    """Runs a `Plan`."""

    site: Site
    plan: Plan

    def run(self) -> None:
        """All pairs of transactions."""
        site = self.site
        charge = self._charge_of_pairs(list(self._pairs()))
        site.display.started(self.plan, site.folder.path, site.place.endpoint, charge)
        transactor = Transactor(
            site.build,
            site.provider.error_of,
            site.observer,
            site.folder,
            site.journal,
            site.interruption,
            site.display,
            site.about,
        )
        for pair, (repeat, workload) in enumerate(self._pairs()):
            site.budget.check_room(pair_usage(workload, self._held_s()))
            if pair:
                site.pause("idle", self.plan.idle_s)
            began_s, uploaded_before = time.monotonic(), site.budget.used.uploaded_bytes
            try:
                self._pair(transactor, 2 * pair + 1, repeat, workload)
            finally:  # what an interrupted pair stored is charged for, too
                site.stored_since(uploaded_before, began_s)
            site.note_usage()

    def _pairs(self) -> Iterator[tuple[int, Workload]]:
        """Repeats outermost: whatever changes with time is spread over all workloads."""
        for repeat in range(1, self.plan.repeat + 1):
            for workload in self.plan.workloads:
                yield repeat, workload

    def _pair(self, transactor: Transactor, number: int, repeat: int, workload: Workload) -> None:
        site = self.site
        files_folder = site.folder.path / "files"
        try:
            with site.interruption.allowed():
                files = craft(files_folder, workload, self._part_bytes_of(workload))
                site.measure_round_trips(number)
            prefix = f"vmtrace-{site.id}/{number:04d}"
            site.uploads_began = True
            items = [Item(f"{prefix}/{position:05d}", file) for position, file in enumerate(files, 1)]
            self._transaction(transactor, Job(number, workload, repeat, UPLOAD, items))
            stored = [item for item in items if item.reference is not None]
            if stored:
                self._restore(stored)
                site.pause("wait", self.plan.wait_s)
                self._transaction(transactor, Job(number + 1, workload, repeat, DOWNLOAD, items))
        finally:
            discard(files_folder)
        site.budget.removing = True
        site.remover.objects([item.name for item in items])  # what it cannot remove now is tried again at the end
        site.budget.removing = False

    def _part_bytes_of(self, workload: Workload) -> int | None:
        part_bytes = self.site.part_bytes
        return part_bytes if part_bytes is not None and workload.size_bytes >= part_bytes else None

    def _transaction(self, transactor: Transactor, job: Job) -> None:
        site = self.site
        path = None if site.place.capture is None else site.folder.capture_path(job.number)
        recording = Recording(site.place.interface, site.place.capture, path)
        site.display.transaction_begins(job)
        outcome = transactor.run(job, recording)
        site.finished += 1
        site.failed += outcome.record["status"] != COMPLETE
        site.folder.note(
            transactions_finished=site.finished,
            transactions_failed=site.failed,
            front_ends=list(site.observer.front_ends),
        )
        site.display.transaction_ends(outcome.record, self._charge_left(job))
        site.failed_in_a_row = 0 if outcome.record["objects_done"] else site.failed_in_a_row + 1
        self._raise_what_ends_the_run(outcome)

    def _raise_what_ends_the_run(self, outcome: Outcome) -> None:
        if outcome.interrupted:
            raise KeyboardInterrupt
        if outcome.failed is not None:
            self.site.last_failure = outcome.failed
            if outcome.hopeless is not None or self.site.failed_in_a_row >= _MOST_FAILED_IN_A_ROW:
                raise outcome.failed

    def _restore(self, items: list[Item]) -> None:
        """Ask for archived objects and wait for them; other services have them at hand."""
        site = self.site
        if not site.archives:
            return
        service = site.translated(site.build)
        try:
            with site.interruption.allowed():
                for item in items:
                    site.translated(partial(service.request_restore, str(item.reference)))
            ends_s, poll_s = time.monotonic() + site.order.restore_timeout_s, _FIRST_POLL_S
            for item in items:
                while not self._is_restored(service, str(item.reference)):
                    if time.monotonic() + poll_s > ends_s:
                        raise ServiceError(ErrorKind.NOT_RESTORED, f"{item.name} is still in the archive")
                    site.pause("restore", poll_s)
                    poll_s = min(1.5 * poll_s, _LONGEST_POLL_S)
        finally:
            service.close()

    def _is_restored(self, service: Service, reference: str) -> bool:
        with self.site.interruption.allowed():
            return self.site.translated(partial(service.is_restored, reference))

    def _held_s(self) -> float:
        """How long objects are stored at the least or, where they must be restored, at the most."""
        return self.plan.wait_s + (self.site.order.restore_timeout_s if self.site.archives else 0.0)

    def _charge_left(self, job: Job) -> float | None:
        pairs = list(self._pairs())
        return self._charge_of_pairs(pairs[(job.number + 1) // 2 :])

    def _charge_of_pairs(self, pairs: list[tuple[int, Workload]]) -> float | None:
        charges = [self.site.budget.charge(pair_usage(workload, self._held_s())) for _, workload in pairs]
        known = [charge for charge in charges if charge is not None]
        return sum(known) if len(known) == len(charges) and self.site.prices is not None else None
