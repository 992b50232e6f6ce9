"""Connections summed up by whose service they went to: provider, service, how that was told, and what it cost."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING

from vmtrace.analyze.findings import overhead
from vmtrace.analyze.findings.overhead import Overhead
from vmtrace.analyze.findings.services.identify import Answers, Facts, Identity, identify
from vmtrace.analyze.findings.services.ranges import AddressRanges

if TYPE_CHECKING:
    from vmtrace.analyze.trace import Trace

IDENTITY_COLUMNS = ("client", "server", "start_ns", "tls_sni", "tls_certificate_names")
TIME_COLUMNS = ("handshake_rtt_s", "tls_handshake_s")
COLUMNS = (*IDENTITY_COLUMNS, *TIME_COLUMNS, *overhead.COLUMNS)
"""The columns of the connection table that `by_provider` wants, in this order."""

Record = dict[str, str | int | float | None]


@dataclass(slots=True)
class Provider:
    """What the connections to one service of one provider cost together."""

    name: str
    service: str | None = None
    overhead: Overhead = field(default_factory=Overhead)
    identified_by: dict[str, int] = field(default_factory=dict)
    """Connections by what told the service: `sni`, `certificate`, `dns`, `range`, `port`."""
    regions: set[str] = field(default_factory=set)
    handshake_rtts_s: list[float] = field(default_factory=list)
    tls_handshakes_s: list[float] = field(default_factory=list)

    def as_record(self) -> Record:
        """The same as one flat row; times are medians over the connections that have one."""
        sums = self.overhead
        return {
            "provider": self.name,
            "service": self.service,
            "identified_by": ", ".join(sorted(self.identified_by, key=lambda by: -self.identified_by[by])),
            "regions": ", ".join(sorted(self.regions)) or None,
            "connections": sums.connections,
            "established": sums.established,
            "syn_retransmissions": sums.syn_retransmissions,
            "server_addresses": len(sums.server_addresses),
            "tls_connections": sums.tls_connections,
            "tls_full_handshakes": sums.tls_full,
            "tls_resumed": sums.tls_resumed,
            "wire_bytes": sums.wire_bytes,
            **sums.parts,
            "tcp_payload_bytes": sums.tcp_payload_bytes,
            "tcp_payload_ratio": sums.tcp_payload_ratio,
            "overhead_ratio": sums.overhead_ratio,
            "handshake_rtt_s": median(self.handshake_rtts_s) if self.handshake_rtts_s else None,
            "tls_handshake_s": median(self.tls_handshakes_s) if self.tls_handshakes_s else None,
        }


def of_trace(trace: "Trace", ranges: AddressRanges) -> list[Provider]:
    """Sum up the connections of a trace, the service of most bytes first. Names and addresses do not show in the
    sums."""
    return by_provider(zip(*trace.true_values(COLUMNS), strict=True), Answers.of(trace.lookups), ranges)


def by_provider(rows: Iterable[tuple[object, ...]], answers: Answers, ranges: AddressRanges) -> list[Provider]:
    """Sum up rows of `COLUMNS`, the service of most bytes first."""
    providers: dict[tuple[str, str | None], Provider] = {}
    for row in rows:
        who, (rtt_s, tls_s), cost = row[:5], row[5:7], row[7:]
        identity = identity_of(who, answers, ranges)
        key = (identity.provider, identity.service)
        provider = providers.setdefault(key, Provider(*key))
        provider.overhead.add(cost)
        provider.identified_by[identity.identified_by] = provider.identified_by.get(identity.identified_by, 0) + 1
        if identity.region is not None:
            provider.regions.add(identity.region)
        if isinstance(rtt_s, float):
            provider.handshake_rtts_s.append(rtt_s)
        if isinstance(tls_s, float):
            provider.tls_handshakes_s.append(tls_s)
    return sorted(providers.values(), key=lambda provider: -provider.overhead.wire_bytes)


def identity_of(row: tuple[object, ...], answers: Answers, ranges: AddressRanges) -> Identity:
    """Whom a connection went to: of a row of `IDENTITY_COLUMNS`."""
    client, server, start_ns, sni, certificate_names = row
    facts = Facts(
        client=str(client),
        server=str(server),
        start_ns=start_ns if isinstance(start_ns, int) else 0,
        sni=sni if isinstance(sni, str) and sni else None,
        certificate_names=certificate_names.split(", ") if isinstance(certificate_names, str) else (),
    )
    return identify(facts, answers, ranges)
