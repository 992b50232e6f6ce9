"""Connections opened at a fixed interval that carry nearly nothing and end at once: checks of a load balancer.

Rule: docs/findings.md, "Health checks".
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from vmtrace.analyze.findings.facts import Facts, Record, address, has_opened, ids, of_connections, payload_bytes
from vmtrace.analyze.findings.finding import Finding
from vmtrace.analyze.words.units import seconds
from vmtrace.formats.quantities import plural

KIND = "health_checks"
_FEWEST = 6
_MOST_BYTES = 2_000
_LONGEST_S = 1.0
_REGULAR = 0.15
"""Half of the intervals are nearer to the median than this share of it."""
_OUTCOMES = ("reset_by_client", "reset_by_server", "handshake_incomplete")


def find(facts: Facts) -> Iterator[Finding]:
    """One finding for each server and client of which this holds."""
    for server, connections in facts.by_server.items():
        by_client: defaultdict[str, list[Record]] = defaultdict(list)
        for one in filter(_is_small, connections):
            by_client[address(one["client"])].append(one)
        for client, checks in sorted(by_client.items()):
            interval_s = _interval_s(checks)
            if interval_s is not None:
                yield _finding(facts.named(server), client, checks, interval_s)


def _is_small(connection: Record) -> bool:
    is_short = (connection["duration_s"] or 0.0) <= _LONGEST_S
    ends_at_once = connection["close"] == "reset" or (has_opened(connection) and connection["close"] == "fin")
    return is_short and ends_at_once and payload_bytes(connection) <= _MOST_BYTES


def _interval_s(checks: list[Record]) -> float | None:
    if len(checks) < _FEWEST:
        return None
    gaps = [(later["start_ns"] - one["start_ns"]) / 1e9 for one, later in pairwise(checks)]
    usual = sorted(gaps)[len(gaps) // 2]
    spread = sorted(abs(gap - usual) for gap in gaps)[len(gaps) // 2]
    return usual if usual >= _LONGEST_S and spread <= _REGULAR * usual else None


def _finding(server: str, client: str, checks: list[Record], interval_s: float) -> Finding:
    number = plural(len(checks), "health check")
    return Finding(
        kind=KIND,
        sentence=f"{number} of {server} by {client}, one each {seconds(interval_s)}: no fault.",
        confidence=0.85,
        owner="unknown",
        connections=ids(checks),
        evidence=[of_connections(checks, "connections opened at a fixed interval")],
        explains=frozenset((kind, one["id"]) for one in checks for kind in (*_OUTCOMES, "setup", "slow_start")),
    )
