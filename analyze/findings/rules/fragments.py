"""Full segments that cross in IP fragments.

Rule: docs/findings.md, "IP fragments".
"""

from collections.abc import Iterator

from vmtrace.analyze.findings.facts import Facts, Record
from vmtrace.analyze.findings.finding import Finding
from vmtrace.analyze.findings.senders import one_for_each_sender

KIND = "fragments"

_FEWEST = 3
_LEAST_SHARE = 0.1


def find(facts: Facts) -> Iterator[Finding]:
    """One finding for each host whose data crosses so."""
    does, shows = "crossed in IP fragments: if one is lost, all is.", "connections with data in fragments"
    return one_for_each_sender(facts, KIND, _in_fragments, does=does, shows=shows, confidence=0.9)


def _in_fragments(way: Record) -> int | None:
    packets: int = way.get("packets_in_fragments") or 0
    is_usual = packets >= _FEWEST and packets >= _LEAST_SHARE * (way["data_packets"] or 0)
    return packets if is_usual else None
