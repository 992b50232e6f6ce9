"""Full segments that cross in IP fragments.

Rule: docs/findings.md, "IP fragments".
"""

from collections.abc import Iterator

from vmtrace.analyze.findings.facts import Facts, Record, by_sender, ids, of_connections
from vmtrace.analyze.findings.finding import Finding
from vmtrace.analyze.findings.vocabulary import KINDS
from vmtrace.formats.quantities import plural

KIND = "fragments"

_FEWEST = 3
_LEAST_SHARE = 0.1


def find(facts: Facts) -> Iterator[Finding]:
    """One finding for each host whose data crosses so."""
    for host, found in by_sender(facts, _in_fragments).items():
        connections = [one for one, _ in found]
        yield Finding(
            kind=KIND,
            sentence=(
                f"{plural(sum(packets for _, packets in found), 'packet')} from {host} in "
                f"{plural(len(found), 'connection')} crossed in IP fragments: if one is lost, all is."
            ),
            confidence=0.9,
            owner="path",
            remedy=KINDS[KIND].remedy,
            connections=ids(connections),
            evidence=[of_connections(connections, "connections with data in fragments")],
        )


def _in_fragments(way: Record) -> int | None:
    packets: int = way.get("packets_in_fragments") or 0
    is_usual = packets >= _FEWEST and packets >= _LEAST_SHARE * (way["data_packets"] or 0)
    return packets if is_usual else None
