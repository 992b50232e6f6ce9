"""Neighbours that did not reply to ARP or ND.

Rule: docs/findings.md, "Neighbours".
"""

from collections.abc import Iterator

from vmtrace.analyze.findings.facts import Facts
from vmtrace.analyze.findings.finding import Finding
from vmtrace.formats.quantities import plural

KIND = "neighbour_unresolved"
_FEWEST = 2
"""Requests: a single one may be a probe for an address in use."""


def find(facts: Facts) -> Iterator[Finding]:
    """One finding for each address."""
    for one in facts.neighbours:
        if one["replies"] or one["requests"] < _FEWEST:
            continue
        asker = one["asked_by"] if isinstance(one["asked_by"], str) else ", ".join(one["asked_by"])
        asked = plural(one["requests"], "request")
        yield Finding(
            kind=KIND,
            sentence=f"{one['address']} did not reply to {asked} for its link address by {asker}.",
            confidence=0.85,
        )
