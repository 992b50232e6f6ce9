"""A swarm run: seeds are found, the web seed is asked, then every planned download is made, recorded and checked.

What was measured is in the run folder after each download; the files themselves are discarded.
"""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar

from vmtrace.capture.campaign import COMPLETE, INTERRUPTED, End, begun, capture_record, outcome_of
from vmtrace.capture.errors import CaptureError
from vmtrace.capture.interruption import Interruption
from vmtrace.capture.settings import ANY, CaptureSettings
from vmtrace.formats.durable import make_folder, write_aside
from vmtrace.formats.quantities import shown_decimal_bytes
from vmtrace.formats.schemas import SWARM_RUN
from vmtrace.providers.course import error_of, status_of
from vmtrace.providers.endpoints import shown_endpoint
from vmtrace.providers.errors import ProvidersError
from vmtrace.providers.files import discard
from vmtrace.providers.recording import Recorded, Recording, capture_filter, check_capture, interface_for
from vmtrace.providers.run_folder import RunFolder
from vmtrace.providers.swarm import client
from vmtrace.providers.swarm.counters import Sample
from vmtrace.providers.swarm.display import SwarmDisplay
from vmtrace.providers.swarm.download import FAILED as DOWNLOAD_FAILED
from vmtrace.providers.swarm.download import FINISHED, STOPPED, Ask, Download, Result
from vmtrace.providers.swarm.download import INTERRUPTED as DOWNLOAD_INTERRUPTED
from vmtrace.providers.swarm.errors import SwarmError
from vmtrace.providers.swarm.order import SwarmOrder
from vmtrace.providers.swarm.peers import Peer, reachable
from vmtrace.providers.swarm.plan import CAPACITY, Planned, planned
from vmtrace.providers.swarm.torrent import check_file
from vmtrace.providers.swarm.tracker import TrackerReplies, ask_trackers
from vmtrace.providers.swarm.web_seed import FORBIDDEN, NONE, PUBLIC, Access, asked

_HEAD = "time_ns,kind,address,bytes"


class SwarmFolder(RunFolder):
    """One run's folder, open for writing."""

    schema: ClassVar[str] = SWARM_RUN
    lines: ClassVar[tuple[str, ...]] = ("downloads",)

    def write_samples(self, number: int, samples: list[Sample]) -> str:
        """Write the client's counters over time; returns the file's name in the folder."""
        make_folder(self.path / "client")
        name = f"client/{number:04d}.csv"
        rows = [f"{one.time_ns},{one.kind},{one.address},{one.bytes}" for one in samples]
        write_aside(self.path / name, "\n".join([_HEAD, *rows, ""]).encode())
        return name

    def download_folder(self, number: int) -> Path:
        """Where a download's file goes; it is discarded once it is checked."""
        folder = self.path / "files" / f"{number:04d}"
        folder.mkdir(mode=0o700, parents=True)
        return folder


Record = dict[str, Any]
_TRACKER_TIMEOUT_S = 20.0
_SPARE_BYTES = 64 << 20
_CONNECTS_WITHIN_S = 5.0
_CAPACITY_STALLS_S = 15.0


def run_swarm(order: SwarmOrder, display: SwarmDisplay) -> End:
    """Do what is ordered. Raises `ProvidersError` where it cannot begin."""
    return _Run(order, display).run()


class _Run:
    def __init__(self, order: SwarmOrder, display: SwarmDisplay) -> None:
        self._order, self._display = order, display
        self._interruption = Interruption()
        self._sha256 = order.sha256
        self._finished = self._failed = 0
        self._capture: CaptureSettings | None = None
        self._interface: str | None = None

    def run(self) -> End:
        order = self._order
        client.library()
        client.trust(order.ca_bundle)
        with ExitStack() as stack:
            stack.enter_context(self._interruption)
            if order.capture:
                _check_rights(order)
            found = self._seeds()
            peers = self._reachable(found.peers)
            numbers = self._possible(len(peers))
            self._check_web_seeds()
            self._choose_capture(peers[: max(numbers, default=0)])
            plan = planned(numbers, order.cases, order.repeats, peers, capacity=order.capacity)
            if not plan:
                raise SwarmError("nothing can be downloaded: no seeds were found, and no web seed is public")
            _check_room(order)
            folder = SwarmFolder.create(order.out, self._first_state(found, plan))
            stack.callback(folder.close)
            self._folder = folder
            stack.callback(self._display.close)
            return self._all(plan)

    # Set-up.

    def _seeds(self) -> TrackerReplies:
        order = self._order
        if order.peers:
            return TrackerReplies(list(order.peers))
        if not order.trackers or not any(order.seeds):
            if any(order.seeds):
                raise SwarmError("the torrent names no tracker: give --tracker URL, or seeds with --peers")
            return TrackerReplies()
        with self._interruption.allowed():
            found = ask_trackers(order.torrent, order.trackers, _TRACKER_TIMEOUT_S)
        self._display.said(f"tracker: {len(found.peers)} seeds in {found.duration_s:.2f} s")
        return found

    def _reachable(self, known: Sequence[Peer]) -> tuple[Peer, ...]:
        """Those seeds that answer: one that does not would hold every download up that it is chosen for."""
        with self._interruption.allowed():
            there = reachable(known, _CONNECTS_WITHIN_S)
        for peer in known:
            if peer not in there:
                self._display.warned(f"seed {shown_endpoint(peer)}: it accepts no connection: left out")
        return tuple(there)

    def _possible(self, known: int) -> tuple[int, ...]:
        """The numbers of seeds that there are enough seeds for."""
        possible = tuple(number for number in self._order.seeds if number <= known)
        for number in self._order.seeds:
            if number > known:
                self._display.warned(f"--seeds {number}: only {known} seeds are known: left out")
        return possible

    def _check_web_seeds(self) -> None:
        for case in self._order.cases:
            self._access(case)

    def _access(self, case: str) -> Access | None:
        """How the store answers in this case; raises `SwarmError` where it is not the answer that the case is about."""
        order = self._order
        seed = {PUBLIC: order.web_seed, FORBIDDEN: order.forbidden}.get(case)
        if seed is None:
            return None
        with self._interruption.allowed():
            access = asked(seed, order.torrent.size_bytes, order.ca_bundle)
        if access.access != case:
            hint = (
                "sign the URL again, or make the object public"
                if case == PUBLIC
                else "make the object private, or name a URL that is refused with --forbidden-url"
            )
            raise SwarmError(
                f"web seed {seed.shown}: HTTP {access.status}, so it is {access.access}, not {case}: {hint}"
            )
        return access

    def _choose_capture(self, peers: Sequence[Peer]) -> None:
        order = self._order
        shown = [shown_endpoint(peer) for peer in peers]
        urls = [seed.shown for seed in (order.web_seed, order.forbidden) if seed is not None]
        self._interface = order.interface or _one_interface(urls, shown, needed=order.capture)
        if not order.capture or self._interface is None:
            return
        expression = capture_filter(urls, shown)
        self._capture = CaptureSettings(self._interface, expression, order.snaplen, also_tagged=True)
        check_capture(self._capture)

    def _first_state(self, found: TrackerReplies, plan: Sequence[Planned]) -> Record:
        order = self._order
        return {
            **begun(secrets.token_hex(8), order.out, order.name, order.command, time.time_ns()),
            "client": {"name": "libtorrent", "version": client.library().version, "settings": dict(client.SETTINGS)},
            "torrent": order.torrent.as_record(),
            "web_seed": None if order.web_seed is None else order.web_seed.shown,
            "forbidden_web_seed": None if order.forbidden is None else order.forbidden.shown,
            "trackers": list(order.trackers) if not order.peers else [],
            "tracker_reply_s": found.duration_s if found.replies else None,
            "seeds": [shown_endpoint(peer) for peer in found.peers],
            "plan": {"seeds": list(order.seeds), "cases": list(order.cases), "repeats": order.repeats},
            "downloads_planned": len(plan),
            "downloads_finished": 0,
            "downloads_failed": 0,
            "sha256": order.sha256,
            "interface": self._interface,
            "capture": capture_record(self._capture),
        }

    # The downloads.

    def _all(self, plan: Sequence[Planned]) -> End:
        outcome = outcome_of(lambda: self._downloads(plan), status_of)
        discard(self._folder.path / "files")
        failure = error_of(outcome)
        error = "interrupted" if outcome.status == INTERRUPTED else None if failure is None else str(failure)
        if outcome.status == COMPLETE and self._failed:
            error = f"{self._failed} of {self._finished} downloads did not finish"
        self._folder.end(outcome.status, error, None if failure is None else str(failure.kind))
        outcome.raise_defect()
        return End(outcome.status, error, self._folder.state)

    def _downloads(self, plan: Sequence[Planned]) -> None:
        for number, one in enumerate(plan, 1):
            if not self._one(number, len(plan), one):
                raise KeyboardInterrupt

    def _one(self, number: int, of: int, one: Planned) -> bool:
        """Make, record and check a download; False if somebody asked to end."""
        order = self._order
        access = self._access(one.web_seed)
        folder = self._folder.download_folder(number)
        seed = {PUBLIC: order.web_seed, FORBIDDEN: order.forbidden, NONE: None}[one.web_seed]
        ask = Ask(
            order.torrent, one.peers, None if seed is None else seed.url(), folder, order.timeout_s,
            min(order.stall_s, _CAPACITY_STALLS_S) if one.purpose == CAPACITY else order.stall_s,
            order.capacity_s if one.purpose == CAPACITY else None, order.web_request_bytes,
        )  # fmt: skip
        self._display.begins(number, of, one, order.torrent.size_bytes)
        place = None if self._capture is None else self._folder.capture_path(number)
        recording = Recording(self._interface, self._capture, place)
        recording.start()
        try:
            with self._interruption.allowed():
                result = Download(ask, self._display.moved).run()
        except KeyboardInterrupt:
            recording.stop()
            return False
        recorded = recording.stop()
        self._make_known(number, one, result, recorded, access)
        shutil.rmtree(folder, ignore_errors=True)
        return result.status != DOWNLOAD_INTERRUPTED and not self._interruption.asked

    def _make_known(self, number: int, one: Planned, result: Result, recorded: Recorded, access: Access | None) -> None:
        checked = self._checked(number, result)
        record = _record(number, one, result, recorded, access) | checked
        record["client_samples"] = self._folder.write_samples(number, result.counters.samples)
        self._folder.append("downloads", record)
        self._folder.sync()
        self._finished += 1
        self._failed += result.status != FINISHED and not (one.purpose == CAPACITY and result.status == STOPPED)
        self._folder.note(downloads_finished=self._finished, downloads_failed=self._failed, sha256=self._sha256)
        self._display.ended(record)

    def _checked(self, number: int, result: Result) -> Record:
        """The digests of a finished file; a wrong one makes the download a failed one."""
        if result.status != FINISHED:
            return {"sha256": None, "digest_ok": None}
        torrent = self._order.torrent
        try:
            found = check_file(torrent.place(self._folder.path / "files" / f"{number:04d}"), torrent)
        except OSError as error:
            result.status, result.error = DOWNLOAD_FAILED, f"the file cannot be read again: {error.strerror}"
            return {"sha256": None, "digest_ok": None, "status": result.status, "error": result.error}
        self._sha256 = self._sha256 or found.sha256
        right = not found.wrong_pieces and found.sha256 == self._sha256
        if not right:
            result.status, result.error = DOWNLOAD_FAILED, "the file's digest is not what it must be"
        return {"sha256": found.sha256, "digest_ok": right, "status": result.status, "error": result.error}


def _record(number: int, one: Planned, result: Result, recorded: Recorded, access: Access | None) -> Record:
    return {
        "number": number,
        **one.as_record(),
        "status": result.status,
        "error": result.error,
        "http_status": None if access is None else access.status,
        "server": None if access is None else access.server,
        "start_ns": result.start_ns,
        "end_ns": result.end_ns,
        "duration_s": (result.end_ns - result.start_ns) / 1e9,
        "payload_bytes": result.payload_bytes,
        "redundant_bytes": result.redundant_bytes,
        "failed_bytes": result.failed_bytes,
        "hash_failures": result.hash_failures,
        "unattributed_bytes": result.unattributed_bytes,
        "sources": [source.as_record() for source in result.counters.sources.values()],
        "capture": recorded.capture,
        "interface": recorded.interface,
    }


def _check_rights(order: SwarmOrder) -> None:
    try:
        check_capture(CaptureSettings(order.interface or "lo", "tcp", order.snaplen))
    except CaptureError as error:
        raise SwarmError(f"{error} (or give --no-capture)") from error


def _check_room(order: SwarmOrder) -> None:
    place = next(folder for folder in (order.out, *order.out.resolve().parents) if folder.is_dir())
    free_bytes = shutil.disk_usage(place).free
    wanted = order.torrent.size_bytes + _SPARE_BYTES
    if free_bytes < wanted:
        raise SwarmError(
            f"{order.out}: {shown_decimal_bytes(wanted)} do not fit ({shown_decimal_bytes(free_bytes)} free): "
            "choose another --out"
        )


def _one_interface(urls: Sequence[str], peers: Sequence[str], *, needed: bool) -> str | None:
    """The interface towards all sources; where they are several, the one that records all."""
    found: set[str] = set()
    for source in [*(([url], []) for url in urls), *(([], [peer]) for peer in peers)]:
        try:
            found.add(interface_for(*source))
        except ProvidersError:
            if needed:
                raise
    return found.pop() if len(found) == 1 else ANY if found else None
