"""A limit that several connections share: one finding for all of them.

Rule: docs/findings.md, "Shared limits".
"""

from collections.abc import Iterator

from vmtrace.analyze.findings.facts import Facts, ids, of_connections, saved_s, waited_s
from vmtrace.analyze.findings.finding import Finding
from vmtrace.analyze.findings.vocabulary import FOR_TIMERS
from vmtrace.analyze.words.units import seconds, si
from vmtrace.formats.quantities import plural

_SHADOWS = (*FOR_TIMERS, "loss_recovery", "congestion_window", "token_bucket", "bottleneck_bandwidth")
"""What a full link or an empty bucket makes of the connections behind it."""


def find(facts: Facts) -> Iterator[Finding]:
    """One finding for each shared limit, with what its members would save."""
    for limit in facts.shared_limits:
        kind = limit["kind"]
        members = [facts.by_id[one] for one in limit["connections"] if one in facts.by_id]
        if not members:
            continue
        costs = [max(saved_s(one, shadow) for shadow in _SHADOWS) for one in members]
        what = "a token bucket" if kind == "token_bucket" else "a link"
        lasted = seconds((limit["to_ns"] - limit["from_ns"]) / 1e9)
        yield Finding(
            kind=kind,
            sentence=(
                f"{plural(len(members), 'connection')} share {what} of {si(limit['rate_bps'], 'bit/s')} for {lasted}."
            ),
            confidence=limit["confidence"],
            owner="path",
            cost_s=sum(costs),
            waited_s=waited_s(members),
            connections=ids(members),
            evidence=[of_connections(members, "connections that share it")],
            explains=frozenset((shadow, one["id"]) for one in members for shadow in _SHADOWS),
        )
