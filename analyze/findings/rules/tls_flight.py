"""Certificates that do not fit the server's first flight: the rest waits for the client's acknowledgements.

Rule: docs/findings.md, "Certificates beyond the first flight".
"""

from collections.abc import Iterator
from typing import NamedTuple

from vmtrace.analyze.findings.facts import SERVER, Facts, Record, ids, of_connections, side_of_capture
from vmtrace.analyze.findings.finding import Finding
from vmtrace.analyze.words.units import seconds
from vmtrace.formats.quantities import plural

KIND = "tls_flight"
_FIRST_FLIGHT_SEGMENTS = 10
"""RFC 6928; each further flight has twice as many."""
_LEAST_RTT_S = 0.002
"""Below, a server's arithmetic takes as long."""
_LEAST, _MOST = 0.8, 0.5
"""Of the expected round trips so much at least, and so many more at most: other waits are no flights."""
_CONFIDENCE = 0.8


class _Held(NamedTuple):
    connection: Record
    flights: int
    cost_s: float


def find(facts: Facts) -> Iterator[Finding]:
    """One finding for each server whose handshakes took more than one flight."""
    by_server: dict[str, list[_Held]] = {}
    for one in facts.connections:
        if held := _held(one):
            by_server.setdefault(one["server"], []).append(held)
    for server, held_ones in by_server.items():
        yield _finding(facts.named(server), held_ones)


def _held(one: Record) -> _Held | None:
    tls = one.get("tls") or {}
    is_full = tls.get("handshake_complete") and not tls.get("resumed") and not tls.get("hello_retry")
    rtt_s = one["handshake"].get("rtt_s") or 0.0
    size_bytes, sent_bytes = one[SERVER].get("segment_size_bytes"), tls.get("server_handshake_bytes")
    if not is_full or rtt_s < _LEAST_RTT_S or not size_bytes or not sent_bytes:
        return None
    if (one[SERVER]["loss"] or {}).get("retransmitted_segments"):
        return None
    flights = _flights(sent_bytes / size_bytes) - 1
    plain = _round_trips(one, tls)
    if flights < 1 or plain is None or tls.get("handshake_s") is None:
        return None
    more = tls["handshake_s"] / rtt_s - plain
    return _Held(one, flights, flights * rtt_s) if _LEAST * flights <= more <= flights + _MOST else None


def _flights(segments: float) -> int:
    flights, room = 1, _FIRST_FLIGHT_SEGMENTS
    while segments > room:
        flights, room = flights + 1, room + (_FIRST_FLIGHT_SEGMENTS << flights)
    return flights


def _round_trips(one: Record, tls: Record) -> int | None:
    """Without a held flight. The server sees one: from the client's first words to its last."""
    side = side_of_capture(one)
    return {"client": tls.get("handshake_round_trips"), "server": 1}.get(side)


def _finding(server: str, held_ones: list[_Held]) -> Finding:
    connections = [one.connection for one in held_ones]
    cost_s = sum(one.cost_s for one in held_ones)
    sent = max(one["tls"]["server_handshake_bytes"] for one in connections)
    most = max(one.flights for one in held_ones)
    sentence = (
        f"{plural(len(held_ones), 'TLS handshake')} with {server} took {plural(most, 'round trip')} more: "
        f"{sent:,} bytes do not fit the server's first flight ({seconds(cost_s)} in all)."
    )
    return Finding(
        kind=KIND,
        sentence=sentence,
        confidence=_CONFIDENCE,
        cost_s=cost_s,
        waited_s=sum(float(one["duration_s"] or 0.0) for one in connections),
        connections=ids(connections),
        evidence=[of_connections(connections, "handshakes whose server flight was held")],
    )
