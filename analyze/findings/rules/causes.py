"""What held connections back, by their accounts: one finding for each kind, owner and server.

Rule: docs/findings.md, "Causes".
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from vmtrace.analyze.findings.facts import Facts, Record, ids, waited_s
from vmtrace.analyze.findings.finding import Finding
from vmtrace.analyze.findings.vocabulary import KINDS
from vmtrace.analyze.words.units import seconds, share
from vmtrace.formats.quantities import plural

_LEAST_S = 0.001
LEAST_SHARE = 0.05
"""Of a connection's time: what saves less is no cause."""
SECONDARY_CONFIDENCE = 0.6
"""Of a kind that is not the connection's verdict, at most."""
_NO_CAUSE = ("idle",)
RESTS = ("client_wait", "application")
"""A control connection rests: only where the verdict has it first or second did anybody wait for it."""
_PART_OF_TIME = 0.1
"""Beside another verdict they count as the third, too, if they are more of the time."""
_ONLY_AS_VERDICT = ("setup", "slow_start", *RESTS)
"""Every connection has an opening, too: nobody waits for that."""


class _Cause(NamedTuple):
    connection: Record
    saves_s: float


def find(facts: Facts) -> Iterator[Finding]:
    """One finding for each kind, owner and server, over all connections it held back."""
    groups: defaultdict[tuple[str, str, str], list[_Cause]] = defaultdict(list)
    for one in facts.connections:
        for kind, owner, saves_s in costs_of(one):
            if facts.is_open(kind, one):
                groups[kind, owner, one["server"]].append(_Cause(one, saves_s))
    for (kind, owner, server), causes in groups.items():
        yield _finding(kind, owner, facts.named(server), causes)


def costs_of(connection: Record) -> Iterator[tuple[str, str, float]]:
    """Kinds with owner and cost in seconds, each once: the verdict's, and others that cost a good part of the time."""
    verdict = connection.get("verdict") or {}
    saved: defaultdict[str, float] = defaultdict(float)
    owners: dict[str, str] = {}
    for entry in connection.get("account") or ():
        saved[entry["kind"]] += entry.get("saves_s") or 0.0
        owners.setdefault(entry["kind"], entry["owner"])
    if verdict:
        factor = verdict["factor"]
        saved[factor] = max(saved[factor], verdict.get("saves_s") or 0.0)
    least_s = max(_LEAST_S, LEAST_SHARE * (connection["duration_s"] or 0.0))
    for kind, saves_s in saved.items():
        is_late = kind == "setup" and connection["handshake"].get("syn_retransmissions")
        is_verdict = verdict.get("factor") == kind or is_late
        is_second = kind in RESTS and verdict.get("runner_up") == kind
        is_part = saves_s > _PART_OF_TIME * (connection["duration_s"] or 0.0)
        is_secondary = kind in RESTS and bool(verdict) and is_part
        if kind in _NO_CAUSE or (kind in _ONLY_AS_VERDICT and not (is_verdict or is_second or is_secondary)):
            continue
        if saves_s >= least_s:
            yield kind, owners.get(kind) or (KINDS[kind].owner if kind in KINDS else "unknown"), saves_s


def _confidence(kind: str, connection: Record) -> float:
    verdict = connection.get("verdict") or {}
    if verdict.get("factor") == kind:
        return float(verdict["confidence"])
    return min(SECONDARY_CONFIDENCE, float(verdict.get("confidence") or SECONDARY_CONFIDENCE))


def _finding(kind: str, owner: str, server: str, causes: list[_Cause]) -> Finding:
    causes = sorted(causes, key=lambda cause: (-cause.saves_s, cause.connection["id"]))
    connections = [cause.connection for cause in causes]
    cost_s, time_s = sum(cause.saves_s for cause in causes), waited_s(connections)
    costliest = connections[0]
    verdict = costliest.get("verdict") or {}
    is_verdict = verdict.get("factor") == kind
    return Finding(
        kind=kind,
        sentence=_sentence(kind, server, connections, cost_s, time_s, verdict["sentence"] if is_verdict else None),
        confidence=max(_confidence(kind, one) for one in connections),
        owner=owner,
        cost_s=cost_s,
        waited_s=time_s,
        connections=ids(connections),
        evidence=verdict["evidence"] if is_verdict else (),
        what_if=verdict["what_if"] if is_verdict and len(connections) == 1 else (),
    )


def _sentence(kind: str, server: str, connections: list[Record], cost_s: float, time_s: float, own: str | None) -> str:
    if len(connections) == 1 and own is not None:
        return f"Connection {connections[0]['id']}: {own}"
    who = f"Connection {connections[0]['id']}" if len(connections) == 1 else plural(len(connections), "connection")
    return f"{who} to {server}: {cost_words(kind, cost_s, time_s)}."


def cost_words(kind: str, cost_s: float, time_s: float) -> str:
    """`repairing losses took 1.2 s (12 % of the time)`."""
    clause = KINDS[kind].clause if kind in KINDS and KINDS[kind].clause else f"{kind.replace('_', ' ')} cost {{time}}"
    part = f" ({share(min(1.0, cost_s / time_s))} of the time)" if time_s > 0 else ""
    return f"{clause.format(time=seconds(cost_s))}{part}"
