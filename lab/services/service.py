"""What a started server is to those who use it, and where a server is to be started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from vmtrace.lab.services import accepted
from vmtrace.lab.services.accepted import AcceptedConnection

REGION = "us-east-1"  # the default of the servers and of the SDKs: no location constraint is needed


@dataclass(frozen=True, slots=True)
class Place:
    """Where a server listens: an address of a network namespace (None: this process's), and its names there."""

    address: str = "127.0.0.1"
    namespace: str | None = None
    port: int | None = None  # None: a free one
    host_name: str | None = None  # what clients call it; None: by its address
    scheme: str = "https"  # or "http": of the servers only Swift can do without TLS

    def url(self, port: int) -> str:
        """The endpoint at that port, without a port that the scheme implies."""
        host = self.host_name or self.address
        implied = {"https": 443, "http": 80}[self.scheme]
        return f"{self.scheme}://{host}" if port == implied else f"{self.scheme}://{host}:{port}"


LOOPBACK = Place()


@dataclass(frozen=True, slots=True)
class Service:
    """One running server.

    `environment` holds what the official SDKs read: endpoint, credentials (of the stand-in, worth nothing) and trust.
    """

    name: str
    endpoint_url: str
    address: str
    port: int
    ca_path: Path
    environment: Mapping[str, str]
    tls_terminated_by: str  # with its version: TLS bytes follow it
    log_path: Path
    accepted_path: Path
    accepted_before_ready: int  # the starter's own probes
    process_id: int
    region: str = REGION

    def connections(self) -> list[AcceptedConnection]:
        """The TCP connections that the server accepted since it was ready, in order, by its own log."""
        return accepted.read(self.accepted_path)[self.accepted_before_ready :]

    def connections_accepted(self) -> int:
        """How many TCP connections the server accepted since it was ready."""
        return len(self.connections())
