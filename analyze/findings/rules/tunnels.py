"""What is inside a tunnel or link layer that is not decoded.

Rule: docs/findings.md, "Tunnels".
"""

from collections.abc import Iterator

from vmtrace.analyze.findings.facts import Facts
from vmtrace.analyze.findings.finding import Finding
from vmtrace.analyze.words.units import si
from vmtrace.formats.quantities import plural

KIND = "tunnel_unread"

_FEWEST_PACKETS = 3
"""A tunnel carries more than a packet or two; so few of many may look like one by chance."""


def find(facts: Facts) -> Iterator[Finding]:
    """One finding for each look of an input."""
    for capture in facts.inputs:
        for one in capture.get("unread_tunnels") or ():
            if one["packets"] < min(_FEWEST_PACKETS, capture.get("packets") or 0):
                continue
            ports = f" on port {', '.join(map(str, one['ports'][:4]))}" if one.get("ports") else ""
            amount = f"{plural(one['packets'], 'packet')} ({si(one['bytes'], 'B')})"
            yield Finding(
                kind=KIND,
                sentence=f"{amount}{ports} look like {one['look']}, which was not decoded.",
                confidence=0.7,
                owner="unknown",
            )
