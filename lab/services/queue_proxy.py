"""A proxy in front of an SQS stand-in that does to chosen messages what its script says, and logs each message's fate.

The log is the truth that a report on queues is held to. `started` runs it (`queue_server`) as a process of its own.
"""

from __future__ import annotations

import json
import ssl
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from vmtrace.lab.services import queue_faults, queue_server, site
from vmtrace.lab.services.certificates import Certificates
from vmtrace.lab.services.queue_faults import Rule
from vmtrace.lab.services.service import LOOPBACK, Place, Service


@dataclass(frozen=True, slots=True)
class Passed:
    """A message that passed the proxy: `sent`, `delivered` or `deleted`."""

    what: str
    number: int
    time_ns: int
    due_ns: int = 0
    sent_ns: int = 0
    dropped: bool = False


@dataclass(frozen=True, slots=True)
class QueueProxy:
    """A running proxy: `service` is what clients are given in the place of the server behind it."""

    service: Service
    messages_path: Path

    def passed(self) -> list[Passed]:
        """All that passed so far, in order."""
        lines = self.messages_path.read_text().splitlines() if self.messages_path.exists() else []
        return [Passed(**line) for line in map(json.loads, lines)]


@contextmanager
def started(
    behind: Service, rules: Sequence[Rule], certificates: Certificates, place: Place = LOOPBACK
) -> Iterator[QueueProxy]:
    """A proxy in front of a running server; raises `process.ServiceError` as the servers do."""
    with site.prepared("queues", certificates, place) as here:
        settings_path, messages_path = here.folder / "settings.json", here.folder / "messages.jsonl"
        parts = urlsplit(behind.endpoint_url)
        settings: dict[str, Any] = {
            "address": place.address,
            "port": here.port,
            "server_address": behind.address,
            "server_port": behind.port,
            "server_tls": parts.scheme == "https",
            "ca": str(behind.ca_path),
            "chain": str(certificates.chain_path),
            "key": str(certificates.key_path),
            "rules": queue_faults.to_json(rules),
            "messages": str(messages_path),
            "accepted": str(here.accepted_path),
        }
        settings_path.write_text(json.dumps(settings))
        old = f"{parts.scheme}://{parts.netloc}"
        program = site.Program(
            name="the queue proxy",
            words=[sys.executable, "-m", "vmtrace.lab.services.queue_server", str(settings_path)],
            ready_path=queue_server.READY_PATH,
            endpoint_url=behind.endpoint_url.replace(old, here.url),
            environment={name: value.replace(old, here.url) for name, value in behind.environment.items()},
            tls_terminated_by=f"asyncio of Python {sys.version.split()[0]} ({ssl.OPENSSL_VERSION})",
        )
        with here.serving(program) as service:
            yield QueueProxy(replace(service, name=behind.name, region=behind.region), messages_path)
