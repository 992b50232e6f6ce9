"""What became of connections that did not open, did not move their data or did not end well, by kind and server.

Rule: docs/findings.md, "Outcomes".
"""

from collections import defaultdict
from collections.abc import Iterator

from vmtrace.analyze.findings.facts import Facts, Record, grouped, ids, outcome_kind, waited_s
from vmtrace.analyze.findings.finding import Finding
from vmtrace.analyze.findings.vocabulary import FOR_TIMERS, KINDS
from vmtrace.formats.quantities import plural

_OWNERS = {
    "syn_unanswered": "path",
    "syn_refused": "server_host",
    "handshake_incomplete": "path",
    "reset_by_client": "client_application",
    "reset_by_server": "server_application",
    "reset_by_middlebox": "device",
    "idle_then_reset": "device",
    "idle_then_silent": "device",
    "peer_silent": "unknown",
    "receiver_stopped_reading": "client_application",
    "large_segments_lost": "path",
    "one_direction_only": "unknown",
}
_MOST_SERVERS = 5
"""That are reported one by one: a scan is one finding."""
_WAITED = ("syn_unanswered", "handshake_incomplete", "peer_silent", "idle_then_silent", "large_segments_lost")
"""Kinds in which somebody waited for what did not come, to the end of the connection."""
_EXPLAINED = ("setup", *FOR_TIMERS)
"""What such an outcome looks like in the account."""


def find(facts: Facts) -> Iterator[Finding]:
    """One finding for each kind and server."""
    by_kind: defaultdict[str, list[Record]] = defaultdict(list)
    for one in facts.connections:
        kind = outcome_kind(one)
        if kind is not None and facts.is_open(kind, one):
            by_kind[kind].append(one)
    for kind, connections in by_kind.items():
        by_server = grouped(connections, "server")
        if len(by_server) > _MOST_SERVERS:
            yield _finding(kind, plural(len(by_server), "server"), connections)
        else:
            yield from (_finding(kind, facts.named(server), some) for server, some in by_server.items())


def _finding(kind: str, server: str, connections: list[Record]) -> Finding:
    first = connections[0]["outcome"]
    if len(connections) == 1:
        sentence = f"Connection {connections[0]['id']} to {server}: {first['sentence']}"
    else:
        sentence = (
            f"{plural(len(connections), 'connection')} to {server} {KINDS[kind].clause if kind in KINDS else kind}."
        )
    waited = kind in _WAITED
    return Finding(
        kind=kind,
        sentence=sentence,
        confidence=min(one["outcome"]["confidence"] for one in connections),
        owner=_OWNERS.get(kind, ""),
        remedy=first["remedy"],
        cost_s=waited_s(connections) if waited else None,
        waited_s=waited_s(connections),
        connections=ids(connections),
        evidence=first["evidence"],
        explains=frozenset((other, one["id"]) for one in connections for other in (kind, *_EXPLAINED)),
    )
