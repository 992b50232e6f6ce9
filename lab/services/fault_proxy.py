"""A proxy in front of a stand-in that makes chosen requests fail, and logs what it did to each: the truth of a test.

It terminates TLS and opens one connection to the server for each of a client's, so the client's connections are as
many as they would be. `started` runs it (`fault_server`) as a process of its own.
"""

from __future__ import annotations

import json
import ssl
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from lab.services import accepted, fault_server, faults, process
from lab.services.certificates import Certificates
from lab.services.faults import Action, Fault
from lab.services.service import LOOPBACK, Place, Service


@dataclass(frozen=True, slots=True)
class Request:
    """One request that reached the proxy, with the fault it met (None: it passed)."""

    unix_ns: int
    method: str
    target: str
    fault: Action | None


@dataclass(frozen=True, slots=True)
class FaultProxy:
    """A running proxy: `service` is what clients are given in the place of the server behind it."""

    service: Service
    requests_path: Path

    def requests(self) -> list[Request]:
        """Every request that reached the proxy so far, in order."""
        if not self.requests_path.exists():
            return []
        lines = self.requests_path.read_text().splitlines()
        return [
            Request(line["unix_ns"], line["method"], line["target"], Action(line["fault"]) if line["fault"] else None)
            for line in map(json.loads, lines)
        ]


@contextmanager
def started(
    behind: Service, rules: Sequence[Fault], certificates: Certificates, place: Place = LOOPBACK
) -> Iterator[FaultProxy]:
    """A proxy in front of a running server, on the same network; raises `process.ServiceError` as the servers do."""
    with tempfile.TemporaryDirectory(prefix="vmtrace-faults-") as name:
        folder = Path(name)
        port = place.port or process.free_ports(place.address, 1, place.namespace)[0]
        settings_path, requests_path = folder / "settings.json", folder / "requests.jsonl"
        log_path, accepted_path = folder / "proxy.log", folder / "accepted.log"
        settings = {
            "address": place.address,
            "port": port,
            "server_address": behind.address,
            "server_port": behind.port,
            "ca": str(behind.ca_path),
            "chain": str(certificates.chain_path),
            "key": str(certificates.key_path),
            "azure": behind.name == "azurite",
            "faults": faults.to_json(rules),
            "requests": str(requests_path),
            "accepted": str(accepted_path),
        }
        settings_path.write_text(json.dumps(settings))
        words = [sys.executable, "-m", "lab.services.fault_server", str(settings_path)]
        ready = process.answers_https(place, port, certificates.ca_path, fault_server.READY_PATH)
        command = process.Command("the fault proxy", words, {}, log_path, ready)
        with process.serving(command, place.namespace) as running:
            service = _in_place_of(behind, place.url(port))
            service = replace(
                service,
                address=place.address,
                port=port,
                ca_path=certificates.ca_path,
                tls_terminated_by=f"asyncio of Python {sys.version.split()[0]} ({ssl.OPENSSL_VERSION})",
                log_path=log_path,
                accepted_path=accepted_path,
                accepted_before_ready=len(accepted.read(accepted_path)),
                process_id=running.pid,
            )
            yield FaultProxy(service, requests_path)


def _in_place_of(behind: Service, url: str) -> Service:
    """The service behind with every address of it turned into the proxy's."""
    parts = urlsplit(behind.endpoint_url)
    old = f"{parts.scheme}://{parts.netloc}"
    environment = {name: value.replace(old, url) for name, value in behind.environment.items()}
    return replace(behind, endpoint_url=behind.endpoint_url.replace(old, url), environment=environment)
