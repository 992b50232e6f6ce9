"""Whose service a connection went to, guessed from the server name in its TLS handshake (else from the port)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from statistics import median

_SUFFIXES = (
    ("amazonaws.com", "AWS"),
    ("amazonaws.com.cn", "AWS"),
    ("cloudfront.net", "AWS"),
    ("aws.dev", "AWS"),
    ("awsstatic.com", "AWS"),
    ("core.windows.net", "Azure"),
    ("azure.com", "Azure"),
    ("azureedge.net", "Azure"),
    ("azurewebsites.net", "Azure"),
    ("googleapis.com", "Google Cloud"),
    ("googleusercontent.com", "Google Cloud"),
    ("run.app", "Google Cloud"),
    ("digitaloceanspaces.com", "DigitalOcean"),
    ("backblazeb2.com", "Backblaze"),
    ("wasabisys.com", "Wasabi"),
    ("r2.cloudflarestorage.com", "Cloudflare"),
    ("cloudflare.com", "Cloudflare"),
    ("workers.dev", "Cloudflare"),
    ("aliyuncs.com", "Alibaba Cloud"),
    ("oraclecloud.com", "Oracle Cloud"),
    ("appdomain.cloud", "IBM Cloud"),
    ("linodeobjects.com", "Akamai"),
    ("akamaized.net", "Akamai"),
    ("scw.cloud", "Scaleway"),
    ("ovh.net", "OVHcloud"),
    ("dropboxapi.com", "Dropbox"),
    ("dropbox.com", "Dropbox"),
)
OTHER = "other"

COLUMNS = (
    "server",
    "tls_sni",
    "handshake_rtt_s",
    "tls_handshake_s",
    "ledger_wire_bytes",
    "ledger_application_bytes",
    "ledger_tls_handshake_bytes",
    "ledger_retransmitted_bytes",
)
"""The columns of the connection table that `by_provider` wants, in this order."""


@dataclass(slots=True)
class Provider:
    """What the connections to one provider cost together."""

    name: str
    connections: int = 0
    wire_bytes: int = 0
    application_bytes: int = 0
    tls_handshake_bytes: int = 0
    retransmitted_bytes: int = 0
    handshake_rtts_s: list[float] = field(default_factory=list)
    tls_handshakes_s: list[float] = field(default_factory=list)

    def as_record(self) -> dict[str, str | int | float | None]:
        """The same as one flat row; times are medians over the connections that have one."""
        overhead = self.wire_bytes - self.application_bytes
        return {
            "provider": self.name,
            "connections": self.connections,
            "wire_bytes": self.wire_bytes,
            "application_bytes": self.application_bytes,
            "tls_handshake_bytes": self.tls_handshake_bytes,
            "retransmitted_bytes": self.retransmitted_bytes,
            "overhead_ratio": overhead / self.application_bytes if self.application_bytes else None,
            "handshake_rtt_s": median(self.handshake_rtts_s) if self.handshake_rtts_s else None,
            "tls_handshake_s": median(self.tls_handshakes_s) if self.tls_handshakes_s else None,
        }


def provider_of(server_name: str | None, server: str) -> str:
    """The provider's name; `other` for a name nobody knows, `no name, port N` where there is no name."""
    if server_name:
        name = server_name.lower().rstrip(".")
        for suffix, provider in _SUFFIXES:
            if name == suffix or name.endswith("." + suffix):
                return provider
        return OTHER
    return f"no name, port {server.rpartition(':')[2]}"


def by_provider(rows: Iterable[tuple[object, ...]] | Iterator[tuple[object, ...]]) -> list[Provider]:
    """Sum up rows of `COLUMNS`, the provider of most bytes first."""
    providers: dict[str, Provider] = {}
    for server, server_name, rtt, tls_time, wire, application, tls_bytes, retransmitted in rows:
        name = provider_of(server_name if isinstance(server_name, str) else None, str(server))
        provider = providers.setdefault(name, Provider(name))
        provider.connections += 1
        provider.wire_bytes += _integer(wire)
        provider.application_bytes += _integer(application)
        provider.tls_handshake_bytes += _integer(tls_bytes)
        provider.retransmitted_bytes += _integer(retransmitted)
        if isinstance(rtt, float):
            provider.handshake_rtts_s.append(rtt)
        if isinstance(tls_time, float):
            provider.tls_handshakes_s.append(tls_time)
    return sorted(providers.values(), key=lambda p: -p.wire_bytes)


def _integer(value: object) -> int:
    return value if isinstance(value, int) else 0
