"""One download by libtorrent from chosen sources: what it counted of each, how it ended, what went wrong.

The counters are polled every few milliseconds, because libtorrent forgets those of a connection with it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vmtrace.formats.quantities import shown_s
from vmtrace.providers.swarm.client import library, session, without_exchange
from vmtrace.providers.swarm.counters import WEB_SEED, Counters, SourceCount
from vmtrace.providers.swarm.errors import one_line
from vmtrace.providers.swarm.peers import Peer
from vmtrace.providers.swarm.torrent import Torrent

FINISHED, STOPPED, STALLED, TIMED_OUT = "finished", "stopped", "stalled", "timed_out"
FAILED, INTERRUPTED = "failed", "interrupted"
_POLL_MS = 20
_SAMPLE_NS = 100_000_000
_SETTLE_S = 0.3  # seeds close the connection after the last block: their last counts are read before


@dataclass(frozen=True, slots=True)
class Ask:
    """What to download, and from whom."""

    torrent: Torrent
    peers: tuple[Peer, ...]
    web_seed_url: str | None
    """With its signature: never shown."""
    folder: Path
    timeout_s: float
    stall_s: float
    """Without a byte for so long it is given up."""
    stop_after_s: float | None = None
    """End after so long since the first byte, finished or not: enough to measure a source's capacity."""
    web_request_bytes: int | None = None
    """Most that is asked of the web seed at once; None: libtorrent's 16 MiB."""


@dataclass(slots=True)
class Result:
    """How it went."""

    start_ns: int
    counters: Counters
    status: str = FAILED
    error: str | None = None
    end_ns: int = 0
    """When the last piece was verified, or the download was given up."""
    payload_bytes: int = 0
    """All blocks received, libtorrent's total."""
    redundant_bytes: int = 0
    failed_bytes: int = 0
    """Of pieces with a wrong hash."""
    hash_failures: int = 0
    unattributed_bytes: int = 0
    dropped_alerts: bool = False


class Download:
    """Runs one; Ctrl-C ends it with what was counted until then (`interrupted`)."""

    def __init__(self, ask: Ask, moved: Callable[[int], object] = lambda _: None) -> None:
        self._ask, self._moved, self._lt = ask, moved, library()
        self._counters = Counters(ask.peers)
        self._result = Result(0, self._counters)
        self._finished = self._fatal = False
        self._first_s: float | None = None
        self._progress_s = 0.0
        self._last_sample_ns = 0
        self._now_bytes = 0

    def run(self) -> Result:
        """Download; returns when it is over."""
        more = {} if self._ask.web_request_bytes is None else {"urlseed_max_request_bytes": self._ask.web_request_bytes}
        client = session("", **more)
        self._result.start_ns = time.time_ns()
        handle = self._add(client)
        try:
            self._result.status = self._until_over(client, handle)
            self._result.end_ns = self._result.end_ns or time.time_ns()
            self._settle(client, handle)
        except KeyboardInterrupt:
            self._result.status = INTERRUPTED
            self._result.end_ns = self._result.end_ns or time.time_ns()
        self._close_books(client, handle)
        client.remove_torrent(handle)
        return self._result

    def _add(self, client: Any) -> Any:
        ask, lt = self._ask, self._lt
        parameters = ask.torrent.parameters(ask.folder)
        parameters.flags = lt.torrent_flags.update_subscribe | without_exchange(lt)
        parameters.url_seeds = [] if ask.web_seed_url is None else [ask.web_seed_url]
        handle = client.add_torrent(parameters)
        for peer in ask.peers:
            handle.connect_peer(peer)
        return handle

    def _until_over(self, client: Any, handle: Any) -> str:
        began_s = self._progress_s = time.monotonic()
        while True:
            client.wait_for_alert(_POLL_MS)
            self._poll(client, handle)
            now_s = time.monotonic()
            if self._finished:
                return FINISHED
            if self._fatal:
                return FAILED
            stop_s = self._ask.stop_after_s
            if stop_s is not None and self._first_s is not None and now_s - self._first_s >= stop_s:
                return STOPPED
            if now_s - self._progress_s >= self._ask.stall_s:
                self._result.error = self._stalled()
                return STALLED
            if now_s - began_s >= self._ask.timeout_s:
                return TIMED_OUT

    def _stalled(self) -> str:
        """Why nothing came, as far as the sources' errors show it."""
        said = [
            f"{one.address}: {', '.join(one.errors) or ('it sends nothing' if one.connections else 'not reached')}"
            for one in self._counters.sources.values()
        ]
        return f"nothing received for {shown_s(self._ask.stall_s)} ({'; '.join(said) or 'no source was reached'})"

    def _poll(self, client: Any, handle: Any) -> None:
        for peer in handle.get_peer_info():
            source = self._counters.of((peer.ip[0], peer.ip[1]))
            source.polled(peer.total_download)
            if source.kind != WEB_SEED and peer.client:
                source.program = one_line(peer.client.decode("utf-8", "replace"))
        for alert in client.pop_alerts():
            self._on_alert(alert)
        self._note_progress()

    def _note_progress(self) -> None:
        total = sum(one.bytes for one in self._counters.sources.values())
        if total > self._now_bytes:
            self._moved(total - self._now_bytes)
            self._now_bytes, self._progress_s = total, time.monotonic()
            self._first_s = self._first_s or self._progress_s
        now_ns = time.time_ns()
        if now_ns - self._last_sample_ns >= _SAMPLE_NS:
            self._counters.sample(now_ns)
            self._last_sample_ns = now_ns

    def _on_alert(self, alert: Any) -> None:
        lt, result = self._lt, self._result
        if isinstance(alert, lt.torrent_finished_alert):
            self._finished, result.end_ns = True, time.time_ns()
        elif isinstance(alert, lt.peer_connect_alert):
            self._source(alert).connections += 1
        elif isinstance(alert, lt.peer_disconnected_alert):
            source = self._source(alert)
            source.stale = True
            if not self._finished:
                source.errors[_reason(alert)] += 1
        elif isinstance(alert, lt.peer_error_alert):
            self._source(alert).errors[_reason(alert)] += 1
        elif isinstance(alert, lt.peer_ban_alert):
            self._source(alert).banned = True
        elif isinstance(alert, lt.hash_failed_alert):
            result.hash_failures += 1
        elif isinstance(alert, lt.alerts_dropped_alert):
            result.dropped_alerts = True
        elif isinstance(alert, lt.torrent_error_alert | lt.file_error_alert):
            self._fatal, result.error = True, _reason(alert)

    def _source(self, alert: Any) -> SourceCount:
        return self._counters.of((alert.endpoint[0], alert.endpoint[1]))

    def _settle(self, client: Any, handle: Any) -> None:
        ends_s = time.monotonic() + _SETTLE_S
        while time.monotonic() < ends_s:
            client.wait_for_alert(_POLL_MS)
            self._poll(client, handle)

    def _close_books(self, client: Any, handle: Any) -> None:
        """The session's totals; a source that left between two polls gets what they have more."""
        status, result = handle.status(), self._result
        self._poll(client, handle)  # after the totals: what a store still sends then is no source's lack
        counted = sum(one.bytes for one in self._counters.sources.values())
        result.payload_bytes = max(status.total_payload_download, counted)
        result.redundant_bytes, result.failed_bytes = status.total_redundant_bytes, status.total_failed_bytes
        result.unattributed_bytes = self._counters.settle(status.total_payload_download)
        self._counters.sample(time.time_ns())


def _reason(alert: Any) -> str:
    """Why, in libtorrent's words without addresses, so that equal reasons count together."""
    return one_line(alert.error.message())
