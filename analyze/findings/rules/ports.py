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
from vmtrace.analyze.words.units import seconds
from vmtrace.formats.quantities import plural

KIND = "ports_exhausted"
_FEWEST = 3
"""Connections that fail, and that live: fewer may be chance."""
_CONFIDENCE, _PROVED = 0.7, 0.95


def find(facts: Facts) -> Iterator[Finding]:
    """One finding for each server of which this holds."""
    for server, connections in facts.by_server.items():
        failed = [one for one in connections if never_opened(one) and facts.is_open("syn_unanswered", one)]
        if facts.kept_back is not None:
            # What left the NAT has another cause.
            failed = [one for one in failed if one["id"] in facts.kept_back]
        alive = [one for one in connections if has_opened(one) and any(_lives_during(one, f) for f in failed)]
        if len(failed) >= _FEWEST and len(alive) >= _FEWEST:
            yield _finding(facts.named(server), failed, alive, is_proved=facts.kept_back is not None)


def never_opened(connection: Record) -> bool:
    """Its SYNs got no reply at all."""
    is_silent = not connection["handshake"].get("complete") and connection["server_to_client"]["packets"] == 0
    return is_silent and outcome_kind(connection) == "syn_unanswered"


def _lives_during(connection: Record, failed: Record) -> bool:
    is_ended = connection["close"] != "open" and end_ns(connection) < end_ns(failed)
    return connection["start_ns"] <= failed["start_ns"] and not is_ended


def _finding(server: str, failed: list[Record], alive: list[Record], *, is_proved: bool) -> Finding:
    cost_s = waited_s(failed)
    why = "a NAT kept their SYNs back" if is_proved else "source ports of a NAT, or a limit of connections"
    sentence = (
        f"{plural(len(failed), 'connection')} to {server} got no reply while {len(alive)} to it lived: {why} "
        f"({seconds(cost_s)} waited)."
    )
    return Finding(
        kind=KIND,
        sentence=sentence,
        confidence=_PROVED if is_proved else _CONFIDENCE,
        cost_s=cost_s,
        waited_s=cost_s,
        connections=ids(failed),
        evidence=[of_connections(failed, "SYNs without a reply"), of_connections(alive, "connections that live")],
        explains=frozenset(("syn_unanswered", one["id"]) for one in failed),
    )
