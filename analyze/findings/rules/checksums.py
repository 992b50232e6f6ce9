"""Packets that their receivers drop for a wrong checksum.

Rule: docs/findings.md, "Wrong checksums".
"""

from collections.abc import Iterator

from vmtrace.analyze.findings.facts import Facts, Record
from vmtrace.analyze.findings.finding import Finding
from vmtrace.analyze.findings.senders import one_for_each_sender

KIND = "bad_checksums"


def find(facts: Facts) -> Iterator[Finding]:
    """One finding for each host that sent some."""
    does, shows = "had a wrong TCP checksum: the receiver drops them.", "connections with wrong checksums"
    return one_for_each_sender(facts, KIND, _wrong, does=does, shows=shows, confidence=0.7)


def _wrong(way: Record) -> int | None:
    packets: int | None = (way.get("loss") or {}).get("bad_checksums")
    return packets
