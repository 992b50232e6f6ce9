"""A proxy in front of a stand-in that makes chosen requests fail, and logs what it did to each: the truth of a test.

It terminates TLS and opens one connection to the server for each of a client's, so the client's connections are as
many as they would be. `started` runs it (`fault_server`) as a process of its own.
"""

from __future__ import annotations

import json
import ssl
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from vmtrace.lab.services import fault_server, faults, site
from vmtrace.lab.services.certificates import Certificates
from vmtrace.lab.services.faults import Action, Fault
from vmtrace.lab.services.service import LOOPBACK, Place, Service


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
    behind: Service,
    rules: Sequence[Fault],
    certificates: Certificates,
    place: Place = LOOPBACK,
    most_connections: int | None = None,
) -> Iterator[FaultProxy]:
    """A proxy in front of a running server, on the same network; raises `process.ServiceError` as the servers do.

    With `most_connections` it resets each connection that is opened beyond so many.
    """
    with site.prepared("faults", certificates, place) as here:
        settings_path, requests_path = here.folder / "settings.json", here.folder / "requests.jsonl"
        settings = {
            "address": place.address,
            "port": here.port,
            "server_address": behind.address,
            "server_port": behind.port,
            "ca": str(behind.ca_path),
            "chain": str(certificates.chain_path),
            "key": str(certificates.key_path),
            "azure": behind.name == "azurite",
            "faults": faults.to_json(rules),
            "most_connections": most_connections,
            "requests": str(requests_path),
            "accepted": str(here.accepted_path),
        }
        settings_path.write_text(json.dumps(settings))
        parts = urlsplit(behind.endpoint_url)
        old = f"{parts.scheme}://{parts.netloc}"
        program = site.Program(
            name="the fault proxy",
            words=[sys.executable, "-m", "vmtrace.lab.services.fault_server", str(settings_path)],
            ready_path=fault_server.READY_PATH,
            # Those of the service behind, with every address of it turned into the proxy's.
            endpoint_url=behind.endpoint_url.replace(old, here.url),
            environment={name: value.replace(old, here.url) for name, value in behind.environment.items()},
            tls_terminated_by=f"asyncio of Python {sys.version.split()[0]} ({ssl.OPENSSL_VERSION})",
        )
        with here.serving(program) as service:
            yield FaultProxy(replace(service, name=behind.name, region=behind.region), requests_path)
