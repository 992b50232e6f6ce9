"""A packet that a NAT or load balancer let through as it was: the other end resets it, and the connection dies of it.

Rule: docs/findings.md, "A packet not translated".
"""

from collections.abc import Iterator

from vmtrace.analyze.findings.facts import CLIENT, SERVER, Facts, Record, end_ns, evidence, grouped, outcome_kind
from vmtrace.analyze.findings.finding import Finding
from vmtrace.analyze.words.units import seconds

KIND = "untranslated_packet"
_DIED = ("reset_by_client", "reset_by_server", "reset_by_middlebox", "peer_silent")
_MOST_PACKETS = 8
"""Of such a packet, with its repetitions and the resets that answer them."""
_CONFIDENCE = 0.8
"""Ends and times fit; sequence numbers are not compared."""


def find(facts: Facts) -> Iterator[Finding]:
    """One finding for each connection that died while a packet came under another address."""
    strays = [found for one in facts.connections if (found := _stray(one))]
    if not strays:
        return
    died = [one for one in facts.connections if outcome_kind(one) in _DIED and one["handshake"].get("complete")]
    by_end = {side: grouped(died, side) for side in ("client", "server")}
    shown = set()
    for stray, here, there in strays:
        for side, other in (("client", "server"), ("server", "client")):
            for one in by_end[side].get(here, ()):
                is_same = one[other] == there or (side == "server" and _port(one["client"]) != _port(there))
                if not is_same and one["id"] not in shown and one["start_ns"] <= stray["start_ns"] <= end_ns(one):
                    shown.add(one["id"])
                    yield _finding(one, stray, there)


def _stray(one: Record) -> tuple[Record, str, str] | None:
    """Without a SYN, and answered by nothing but resets: with the end that sent these, and the other one."""
    counted = [one[side]["packets"] for side in (CLIENT, SERVER)]
    if one["close"] != "reset" or one["handshake"].get("syn_retransmissions") is not None:
        return None
    if one["handshake"].get("complete") or min(counted) == 0 or sum(counted) > _MOST_PACKETS:
        return None
    said = [one[side].get("unique_payload_bytes") or 0 for side in (CLIENT, SERVER)]
    if said[0] == 0 < said[1]:
        return one, one["client"], one["server"]
    return (one, one["server"], one["client"]) if said[1] == 0 < said[0] else None


def _port(endpoint: str) -> str:
    return endpoint.rpartition(":")[2]


def _finding(one: Record, stray: Record, there: str) -> Finding:
    cost_s = (end_ns(one) - int(stray["start_ns"])) / 1e9
    sentence = (
        f"A packet of {one['client']} - {one['server']} came untranslated from {there} and was reset; the connection "
        f"died {seconds(cost_s)} later."
    )
    frames = [number for number in (stray.get("first_frame"),) if number is not None]
    return Finding(
        kind=KIND,
        sentence=sentence,
        confidence=_CONFIDENCE,
        cost_s=cost_s,
        waited_s=float(one["duration_s"] or 0.0),
        connections=sorted((int(one["id"]), int(stray["id"]))),
        evidence=[evidence("the packet under another address", frames)],
        explains=frozenset({(str(outcome_kind(one)), one["id"])}),
    )
