"""Asks trackers which peers they know, without connecting to any of them.

The session that asks blocks every address: libtorrent then reports each peer of a tracker's reply as blocked. So the
list is complete and libtorrent's own, over HTTP (BEP 3, 23) and UDP (BEP 15).
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vmtrace.providers.swarm.client import library, session, tracker_trouble, without_exchange
from vmtrace.providers.swarm.errors import SwarmError
from vmtrace.providers.swarm.peers import Peer
from vmtrace.providers.swarm.torrent import Torrent

_POLL_MS = 50
_SETTLE_S = 0.3  # after a reply: those of other trackers, of other address families


@dataclass(slots=True)
class TrackerReplies:
    """What trackers replied."""

    peers: list[Peer] = field(default_factory=list)
    own: set[Peer] = field(default_factory=set)
    """Where the session that asked listened: a tracker sends that along."""
    replies: int = 0
    errors: list[str] = field(default_factory=list)
    duration_s: float = 0.0


def ask_trackers(torrent: Torrent, trackers: Sequence[str], timeout_s: float) -> TrackerReplies:
    """The peers that trackers know, in the order of their replies; raises `SwarmError` if none of them replies."""
    lt = library()
    asking = session("0.0.0.0:0,[::]:0", apply_ip_filter_to_trackers=False)
    everything = lt.ip_filter()
    everything.add_rule("0.0.0.0", "255.255.255.255", 1)
    everything.add_rule("::", "ffff:" * 7 + "ffff", 1)
    asking.set_ip_filter(everything)
    with tempfile.TemporaryDirectory(prefix="vmtrace-swarm-") as folder:
        parameters = torrent.parameters(Path(folder))
        parameters.trackers = list(trackers)
        parameters.flags = lt.torrent_flags.apply_ip_filter | without_exchange(lt)
        handle = asking.add_torrent(parameters)
        found = _replies(asking, len(trackers), timeout_s)
        asking.remove_torrent(handle)
    found.peers = [peer for peer in dict.fromkeys(found.peers) if peer not in found.own]
    if not found.replies:
        why = "; ".join(dict.fromkeys(found.errors)) or f"no reply within {timeout_s:g} s"
        raise SwarmError(f"no tracker replied ({why}): check --tracker, or name seeds with --peers")
    return found


def _replies(asking: Any, trackers: int, timeout_s: float) -> TrackerReplies:
    lt = library()
    found, began_s = TrackerReplies(), time.monotonic()
    ends_s = began_s + timeout_s
    while (now_s := time.monotonic()) < ends_s:
        asking.wait_for_alert(_POLL_MS)
        for alert in asking.pop_alerts():
            if isinstance(alert, lt.peer_blocked_alert):
                found.peers.append((alert.endpoint[0], alert.endpoint[1]))
            elif isinstance(alert, lt.listen_succeeded_alert):
                found.own.add((alert.address, alert.port))
            elif isinstance(alert, lt.tracker_reply_alert):
                found.replies += 1
                found.duration_s = found.duration_s or now_s - began_s
                ends_s = min(ends_s, now_s + _SETTLE_S)
            elif isinstance(alert, lt.tracker_error_alert):
                found.errors += tracker_trouble(alert)
        if not found.replies and len(found.errors) >= trackers:
            ends_s = min(ends_s, now_s + _SETTLE_S)
    return found
