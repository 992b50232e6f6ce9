"""libtorrent sessions for measuring: TCP without encryption, and no source that was not named.

DHT, local discovery, peer exchange and port mapping are off: only the chosen seeds and the web seed can deliver.
uTP is off, since the engine measures TCP. Encryption is off, since random padding would blur the protocol's overhead.
"""

from __future__ import annotations

import os
import ssl
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from vmtrace.providers.swarm.errors import SwarmError, one_line

TICK_MS = 100
_ALERT_QUEUE = 1_000_000
SETTINGS: Mapping[str, Any] = {
    "enable_dht": False,
    "enable_lsd": False,
    "enable_upnp": False,
    "enable_natpmp": False,
    "enable_outgoing_utp": False,
    "enable_incoming_utp": False,
    "in_enc_policy": 2,  # libtorrent's `disabled`
    "out_enc_policy": 2,
    "allow_multiple_connections_per_ip": True,  # seeds behind one address translator
    "announce_to_all_trackers": True,
    "announce_to_all_tiers": True,
    "tick_interval": TICK_MS,  # libtorrent connects once per tick
    "alert_queue_size": _ALERT_QUEUE,
    "max_retry_port_bind": 0,  # a port in use is an error, not another port
    "listen_system_port_fallback": False,
    # The web seed is the user's own choice: with this, libtorrent refuses a signed URL at a private address.
    "ssrf_mitigation": False,
    "validate_https_trackers": True,  # of web seeds, too
    "close_redundant_connections": False,  # else counters of peers are gone when the file is complete
    "user_agent": "vmtrace",
}


def library() -> ModuleType:
    """The `libtorrent` module; raises `SwarmError` where it is not installed or too old."""
    try:
        import libtorrent
    except ImportError as error:
        missing = isinstance(error, ModuleNotFoundError)
        what = "libtorrent is not installed" if missing else f"libtorrent cannot be loaded ({error})"
        raise SwarmError(f"{what}: {sys.executable} -m pip install 'libtorrent>=2.1,<3'") from error
    if tuple(map(int, libtorrent.version.split(".")[:2])) < (2, 1):
        raise SwarmError(f"libtorrent {libtorrent.version} is too old: pip install 'libtorrent>=2.1'")
    module: ModuleType = libtorrent
    return module


def session(listen: str, **more: Any) -> Any:
    """A new session that listens at `ADDRESS:PORT` ("" listens nowhere); `more` are libtorrent's own settings."""
    lt = library()
    kinds = lt.alert_category
    wanted = kinds.error | kinds.peer | kinds.connect | kinds.status | kinds.storage | kinds.tracker | kinds.ip_block
    return lt.session({**SETTINGS, "listen_interfaces": listen, "alert_mask": wanted, **more})


def without_exchange(lt: ModuleType) -> Any:
    """Flags of a torrent that finds no peer by itself."""
    flags = lt.torrent_flags
    return flags.disable_dht | flags.disable_lsd | flags.disable_pex


def tracker_trouble(alert: Any) -> list[str]:
    """Why a tracker gave no peers, at most one line; nothing where libtorrent only left out an interface of this host
    from which the tracker cannot be reached."""
    text = one_line(alert.error_message() or alert.error.message())
    return [] if text.startswith("skipping tracker announce") else [text]


def trust(ca_bundle: Path | None) -> None:
    """Have sessions made from now on verify certificates with this bundle, or with the system's authorities.

    The library's own build looks for certificates where its builder had them; OpenSSL reads these variables first.
    """
    if ca_bundle is not None:
        os.environ["SSL_CERT_FILE"] = str(ca_bundle)
        return
    paths = ssl.get_default_verify_paths()
    for name, place in (("SSL_CERT_FILE", paths.cafile), ("SSL_CERT_DIR", paths.capath)):
        if place is not None:
            os.environ.setdefault(name, place)
