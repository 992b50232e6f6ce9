"""Source ports that ran out: new connections to one address fail while others to it live.

Rule: docs/findings.md, "Source ports exhausted".
"""

from collections.abc import Iterator

from vmtrace.analyze.findings.facts import (
    Facts,
    Record,
    end_ns,
    has_opened,
    ids,
    of_connections,
    outcome_kind,
    waited_s,
)
from vmtrace.analyze.findings.finding import Finding
from vmtrace.analyze.findings.vocabulary import KINDS
from vmtrace.analyze.words.units import plural, seconds

KIND = "ports_exhausted"
_FEWEST = 3
"""Connections that fail, and that live: fewer may be chance."""
_CONFIDENCE = 0.7


def find(facts: Facts) -> Iterator[Finding]:
    """One finding for each server of which this holds."""
    for server, connections in facts.by_server.items():
        failed = [one for one in connections if outcome_kind(one) == "syn_unanswered" and _never_opened(one)]
        failed = [one for one in failed if facts.is_open("syn_unanswered", one)]
        alive = [one for one in connections if has_opened(one) and any(_lives_during(one, f) for f in failed)]
        if len(failed) >= _FEWEST and len(alive) >= _FEWEST:
            yield _finding(server, failed, alive)


def _never_opened(connection: Record) -> bool:
    return not connection["handshake"].get("complete") and connection["server_to_client"]["packets"] == 0


def _lives_during(connection: Record, failed: Record) -> bool:
    is_ended = connection["close"] != "open" and end_ns(connection) < end_ns(failed)
    return connection["start_ns"] <= failed["start_ns"] and not is_ended


def _finding(server: str, failed: list[Record], alive: list[Record]) -> Finding:
    cost_s = waited_s(failed)
    sentence = (
        f"{plural(len(failed), 'connection')} to {server} got no reply while {len(alive)} to it lived: source ports of "
        f"a NAT, or a limit of connections ({seconds(cost_s)} waited)."
    )
    return Finding(
        kind=KIND,
        sentence=sentence,
        confidence=_CONFIDENCE,
        owner=KINDS[KIND].owner,
        remedy=KINDS[KIND].remedy,
        cost_s=cost_s,
        waited_s=cost_s,
        connections=ids(failed),
        evidence=[of_connections(failed, "SYNs without a reply"), of_connections(alive, "connections that live")],
        explains=frozenset(("syn_unanswered", one["id"]) for one in failed),
    )
