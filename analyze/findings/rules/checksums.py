"""Packets that their receivers drop for a wrong checksum.

Rule: docs/findings.md, "Wrong checksums".
"""

from collections.abc import Iterator

from vmtrace.analyze.findings.facts import Facts, by_sender, ids, of_connections
from vmtrace.analyze.findings.finding import Finding
from vmtrace.analyze.findings.vocabulary import KINDS
from vmtrace.formats.quantities import plural

KIND = "bad_checksums"


def find(facts: Facts) -> Iterator[Finding]:
    """One finding for each host that sent some."""
    for host, found in by_sender(facts, lambda way: (way.get("loss") or {}).get("bad_checksums")).items():
        connections = [one for one, _ in found]
        yield Finding(
            kind=KIND,
            sentence=(
                f"{plural(sum(wrong for _, wrong in found), 'packet')} from {host} in "
                f"{plural(len(found), 'connection')} had a wrong TCP checksum: the receiver drops them."
            ),
            confidence=0.7,
            owner="device",
            remedy=KINDS[KIND].remedy,
            connections=ids(connections),
            evidence=[of_connections(connections, "connections with wrong checksums")],
        )
