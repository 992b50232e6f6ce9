"""ICMP errors that concern a connection and quote another tuple: a device does not translate the quoted packet.

Rule: docs/findings.md, "ICMP errors not matched".
"""

from collections.abc import Iterator

from vmtrace.analyze.findings.facts import Facts, evidence
from vmtrace.analyze.findings.finding import Finding
from vmtrace.analyze.findings.vocabulary import FOR_TIMERS
from vmtrace.formats.quantities import plural

KIND = "icmp_not_matched"
_EXPLAINED = ("large_segments_lost", *FOR_TIMERS, "path_mtu")
"""What segments that are too large look like to their sender."""


def find(facts: Facts) -> Iterator[Finding]:
    """One finding for each connection."""
    for one in facts.connections:
        related = one.get("icmp_errors_related") or ()
        if not related:
            continue
        first = related[0]
        mtu = f" (MTU {first['mtu']:,} bytes)" if first.get("mtu") else ""
        quoted = f": they quote {first['quotes']}" if first.get("quotes") else ""
        sentence = (
            f"Connection {one['id']}: {plural(len(related), 'ICMP error')}{mtu} did not reach it{quoted}. "
            "A NAT or load balancer does not translate them."
        )
        yield Finding(
            kind=KIND,
            sentence=sentence,
            confidence=0.85,
            cost_s=one["duration_s"],
            waited_s=one["duration_s"] or 0.0,
            connections=[one["id"]],
            evidence=[evidence("ICMP errors that quote another tuple", [error["frame"] for error in related])],
            explains=frozenset((kind, one["id"]) for kind in _EXPLAINED),
        )
