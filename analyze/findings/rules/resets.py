"""Several connections reset at one moment: something that all of them pass, or that serves all of them.

Rule: docs/findings.md, "Resets at one moment".
"""

from collections.abc import Iterator

from vmtrace.analyze.findings.facts import Facts, Record, end_ns, ids, moments, of_connections, outcome_kind
from vmtrace.analyze.findings.finding import Finding
from vmtrace.analyze.findings.vocabulary import KINDS
from vmtrace.analyze.words.units import instant
from vmtrace.formats.quantities import plural

_KINDS = {"reset_by_server": "server_host", "reset_by_client": "client_host", "reset_by_middlebox": "device"}
_MOMENT_NS = 100_000_000
_FEWEST = 3


def find(facts: Facts) -> Iterator[Finding]:
    """One finding for each moment and kind of reset."""
    for kind, owner in _KINDS.items():
        reset = [one for one in facts.connections if outcome_kind(one) == kind and facts.is_open(kind, one)]
        for together in moments(reset, end_ns, _MOMENT_NS):
            if len(together) >= _FEWEST:
                yield _finding(kind, owner, together)


def _finding(kind: str, owner: str, together: list[Record]) -> Finding:
    servers = {one["server"] for one in together}
    to = next(iter(servers)) if len(servers) == 1 else plural(len(servers), "server")
    return Finding(
        kind=kind,
        sentence=(
            f"{plural(len(together), 'connection')} to {to} {KINDS[kind].clause} at one moment, "
            f"{instant(end_ns(together[0]))}."
        ),
        confidence=min(one["outcome"]["confidence"] for one in together),
        owner=owner,
        remedy="Look at what restarted, or failed over, at that moment.",
        connections=ids(together),
        evidence=[of_connections(together, "connections that were reset together")],
        explains=frozenset((kind, one["id"]) for one in together),
    )
