"""A full accept queue: SYNs reach a host that listens, and are ignored while connections wait to be served.

Rule: docs/findings.md, "Accept queue".
"""

from collections.abc import Iterator

from vmtrace.analyze.findings.facts import (
    CLIENT,
    SERVER,
    Facts,
    Record,
    end_ns,
    first_byte_ns,
    has_opened,
    ids,
    of_connections,
    opened_late_s,
    outcome_kind,
    saved_s,
    side_of_capture,
    waited_s,
)
from vmtrace.analyze.findings.finding import Finding
from vmtrace.analyze.findings.vocabulary import FOR_TIMERS
from vmtrace.analyze.words.units import seconds
from vmtrace.formats.quantities import plural

KIND = "accept_queue_full"
_FEWEST_WAITING = 2
"""Connections that are open and not served while a SYN is ignored: one alone may be a slow request."""
_LEAST_WAIT_S, _ROUND_TRIPS = 0.2, 10
"""Not served for so long: a lost SYN beside a quick server is a loss."""
_AT_SERVER, _ELSEWHERE = 0.9, 0.65
_EXPLAINED = ("syn_unanswered", "handshake_incomplete", "setup", "server_wait", *FOR_TIMERS, "peer_silent")


def find(facts: Facts) -> Iterator[Finding]:
    """One finding for each server whose queue was full."""
    kept_back = facts.kept_back or frozenset()
    for server, connections in facts.by_server.items():
        ignored = [one for one in connections if _ignored(one) and one["id"] not in kept_back]
        if not ignored or len(connections) == len(ignored):
            continue
        waiting = [one for one in connections if has_opened(one) and _waits(one, ignored)]
        if len(waiting) >= _FEWEST_WAITING:
            yield _finding(facts.named(server), ignored, waiting)


def _ignored(connection: Record) -> bool:
    """Its SYNs got no reply, or the last ACK of its handshake was ignored, so that the SYN-ACK was retransmitted."""
    handshake = connection["handshake"]
    return bool(handshake.get("syn_retransmissions")) or outcome_kind(connection) == "syn_unanswered"


def _waits(connection: Record, ignored: list[Record]) -> bool:
    """It was open when another's SYN was ignored, and went on without a response for far longer than the path takes."""
    first_ns = first_byte_ns(connection)
    if first_ns is None and connection[CLIENT].get("unique_payload_bytes"):
        first_ns = None if connection[SERVER].get("unique_payload_bytes") else end_ns(connection)
    if first_ns is None:
        return False
    round_trip_s = connection["handshake"].get("rtt_s") or 0.0
    enough_ns = 1e9 * max(_LEAST_WAIT_S, _ROUND_TRIPS * round_trip_s)
    others = (one for one in ignored if one is not connection)
    return any(connection["start_ns"] <= one["start_ns"] < first_ns - enough_ns for one in others)


def _finding(server: str, ignored: list[Record], waiting: list[Record]) -> Finding:
    at_server = any(side_of_capture(one) == "server" for one in ignored)
    late_s = sum(opened_late_s(one) for one in ignored)
    concerned = {one["id"]: one for one in (*ignored, *waiting)}
    cost_s = late_s + sum(saved_s(one, "server_wait") for one in concerned.values())
    where = "reached the server's host and were ignored" if at_server else "got no reply"
    likely = "" if at_server else "probably "
    sentence = (
        f"{server}: the accept queue was {likely}full: SYNs of {plural(len(ignored), 'connection')} {where}, "
        f"while {len(waiting)} were open and not served ({seconds(cost_s)} in all)."
    )
    return Finding(
        kind=KIND,
        sentence=sentence,
        confidence=_AT_SERVER if at_server else _ELSEWHERE,
        cost_s=cost_s,
        waited_s=waited_s(concerned.values()),
        connections=ids(concerned.values()),
        evidence=[of_connections(ignored, "SYNs that were ignored"), of_connections(waiting, "open, and not served")],
        explains=frozenset((kind, one) for one in concerned for kind in _EXPLAINED),
    )
