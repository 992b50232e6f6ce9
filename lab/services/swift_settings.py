"""The configuration and rings of a Swift on one disk: proxy, account, container and object server, one replica.

Rings are written by the servers' process: what writes them brings eventlet along, and its locks do not go with the
threads of any other program.
"""

from __future__ import annotations

import getpass
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vmtrace.lab.services.certificates import Certificates
from vmtrace.lab.services.service import REGION

USER, KEY = "test:tester", "testing"
BACKENDS = ("account", "container", "object")
_BACKEND_ADDRESS = "127.0.0.1"  # in whatever namespace the servers run
_MAX_FILE_BYTES = 5 * 1024**3 + 2  # Swift's own default
_PROXY_LINE = (
    "catch_errors gatekeeper healthcheck proxy-logging cache listing_formats bulk tempurl s3api tempauth copy "
    "container_quotas slo dlo versioned_writes symlink proxy-server"
)
TOKEN_LIFE_S = 86_400  # Swift's own default


@dataclass(frozen=True, slots=True)
class Listeners:
    """Where the four servers listen: the proxy's address and port, and a port of each backend on loopback."""

    address: str
    port: int
    backend_ports: tuple[int, int, int]
    tls: bool = True  # of the proxy


def write(folder: Path, listeners: Listeners, certificates: Certificates, token_life_s: int = TOKEN_LIFE_S) -> Path:
    """Write everything that the servers read but rings; returns the folder of settings, `folder/etc`."""
    etc = folder / "etc"
    for path in (etc, folder / "node" / "d1", folder / "cache"):
        path.mkdir(parents=True)
    _write(
        etc / "swift.conf",
        {
            "swift-hash": {"swift_hash_path_suffix": "vmtrace", "swift_hash_path_prefix": "lab"},
            "storage-policy:0": {"name": "one", "default": "yes"},
            "swift-constraints": {"max_file_size": str(_MAX_FILE_BYTES)},
        },
    )
    _write(etc / "proxy-server.conf", _proxy(folder, listeners, certificates, token_life_s))
    for name, port in zip(BACKENDS, listeners.backend_ports, strict=True):
        _write(etc / f"{name}-server.conf", _backend(folder, name, port))
    return etc


def _common(folder: Path, name: str, address: str, port: int) -> dict[str, str]:
    return {
        "bind_ip": address,
        "bind_port": str(port),
        "workers": "0",  # all in the process that starts them
        "user": getpass.getuser(),
        "swift_dir": str(folder / "etc"),
        "devices": str(folder / "node"),
        "mount_check": "false",
        "disable_fallocate": "true",
        "db_preallocation": "off",
        "log_name": name,
        "log_level": "WARNING",
        "log_address": str(folder / "no-syslog"),
        "recon_cache_path": str(folder / "cache"),
    }


def _filters(token_life_s: int) -> Mapping[str, Mapping[str, str]]:
    """Options of the proxy's filters that are not their defaults."""
    return {
        "cache": {"paste.filter_factory": "vmtrace.lab.services.swift_cache:filter_factory"},
        "s3api": {"s3_acl": "false", "location": REGION, "check_bucket_owner": "false"},
        "tempauth": {f"user_{USER.replace(':', '_')}": f"{KEY} .admin", "token_life": str(token_life_s)},
        "versioned_writes": {"allow_versioned_writes": "true", "allow_object_versioning": "true"},
    }


def _proxy(
    folder: Path, listeners: Listeners, certificates: Certificates, token_life_s: int
) -> dict[str, Mapping[str, str]]:
    tls = {"cert_file": str(certificates.chain_path), "key_file": str(certificates.key_path)} if listeners.tls else {}
    sections: dict[str, Mapping[str, str]] = {
        "DEFAULT": {**_common(folder, "proxy", listeners.address, listeners.port), **tls},
        "pipeline:main": {"pipeline": _PROXY_LINE},
        "app:proxy-server": {
            "use": "egg:swift#proxy",
            "account_autocreate": "true",
            "allow_account_management": "true",
        },
    }
    filters = _filters(token_life_s)
    for name in _PROXY_LINE.split()[:-1]:
        options = filters.get(name, {})
        if "paste.filter_factory" not in options:
            options = {"use": f"egg:swift#{name.replace('-', '_')}", **options}
        sections[f"filter:{name}"] = options
    return sections


def _backend(folder: Path, name: str, port: int) -> dict[str, Mapping[str, str]]:
    return {
        "DEFAULT": _common(folder, name, _BACKEND_ADDRESS, port),
        "pipeline:main": {"pipeline": f"{name}-server"},
        f"app:{name}-server": {"use": f"egg:swift#{name}", "replication_server": "false"},
    }


def _write(path: Path, sections: Mapping[str, Mapping[str, str]]) -> None:
    lines: list[str] = []
    for section, options in sections.items():
        lines += [f"[{section}]", *(f"{key} = {value}" for key, value in options.items()), ""]
    path.write_text("\n".join(lines))


def write_rings(etc: Path, backend_ports: Iterable[int]) -> None:
    """Where the backends are, for the proxy."""
    from swift.common.ring import RingBuilder

    for name, port in zip(BACKENDS, backend_ports, strict=True):
        builder = RingBuilder(part_power=6, replicas=1, min_part_hours=0)
        builder.add_dev(_device(port))
        builder.rebalance()
        builder.get_ring().save(str(etc / f"{name}.ring.gz"))


def _device(port: int) -> dict[str, object]:
    where: Sequence[tuple[str, object]] = (("ip", _BACKEND_ADDRESS), ("port", port))
    replication = [(f"replication_{key}", value) for key, value in where]
    return {"region": 1, "zone": 1, "device": "d1", "weight": 1.0, "meta": "", **dict(where), **dict(replication)}
