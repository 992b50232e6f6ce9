"""Incast: a host asks many senders at once, the queue before it overflows, and it waits for the timers of a few.

Rule: docs/findings.md, "Incast".
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from vmtrace.analyze.findings.facts import CLIENT, SERVER, Facts, Record, address, end_ns, ids, moments, of_connections
from vmtrace.analyze.findings.finding import Finding
from vmtrace.analyze.findings.rules.causes import RESTS
from vmtrace.analyze.findings.spans import Covered, Span
from vmtrace.analyze.words.units import seconds

KIND = "timeout_wait"
_MOMENT_NS = 20_000_000
_FEWEST_SENDERS = 4
_MOST_OF = 0.5
_CONFIDENCE = 0.7
"""A path to the receiver that failed for an instant looks alike."""


class _Flow(NamedTuple):
    """Data of one connection to a receiver, and when it waited for timers, or rested."""

    connection: Record
    sender: str
    timers: list[Span]
    rests: list[Span]


def find(facts: Facts) -> Iterator[Finding]:
    """One finding for each receiver that waited for senders that it had asked at once."""
    flows: defaultdict[str, list[_Flow]] = defaultdict(list)
    for one in facts.connections:
        for side, sender, receiver in ((CLIENT, "client", "server"), (SERVER, "server", "client")):
            timers, rests = _spans(one[side], (KIND,)), _spans(one[side], RESTS)
            if (timers or rests) and facts.is_open(KIND, one):
                flows[address(one[receiver])].append(_Flow(one, address(one[sender]), timers, rests))
    for receiver, of_receiver in flows.items():
        if _senders(of_receiver) < _FEWEST_SENDERS or not _are_asked_at_once(of_receiver):
            continue
        waited = Covered(span for flow in of_receiver for span in flow.timers)
        resting = [flow for flow in of_receiver if waited.common(flow.rests) > _MOST_OF * _length_ns(flow.rests)]
        if waited.length and _senders(resting) >= _MOST_OF * _senders(of_receiver):
            yield _finding(receiver, of_receiver, resting, waited.length / 1e9)


def _spans(direction: Record, factors: Iterable[str]) -> list[Span]:
    found = (one for one in direction.get("limit_intervals") or () if one["factor"] in factors)
    return [(int(one["start_ns"]), int(one["end_ns"])) for one in found]


def _length_ns(spans: Iterable[Span]) -> int:
    return sum(end - start for start, end in spans)


def _senders(flows: Iterable[_Flow]) -> int:
    return len({flow.sender for flow in flows})


def _are_asked_at_once(flows: list[_Flow]) -> bool:
    """Most rests end, with a request, at a moment at which those of four senders or more do."""
    ends = [(end, flow.sender) for flow in flows for _, end in flow.rests]
    groups = moments(ends, lambda one: one[0], _MOMENT_NS)
    together = [group for group in groups if len({sender for _, sender in group}) >= _FEWEST_SENDERS]
    return sum(map(len, together)) > _MOST_OF * len(ends)


def _finding(receiver: str, flows: list[_Flow], resting: list[_Flow], cost_s: float) -> Finding:
    connections = list({flow.connection["id"]: flow.connection for flow in flows}.values())
    slow = [flow.connection for flow in flows if flow.timers]
    rest = {(kind, flow.connection["id"]) for flow in resting for kind in RESTS}
    return Finding(
        kind=KIND,
        sentence=(
            f"Incast: {receiver} asks {_senders(flows)} senders at once, segments are lost in the queue before it, "
            f"and it waits {seconds(cost_s)} for timeouts."
        ),
        confidence=_CONFIDENCE,
        owner="path",
        remedy="Ask fewer senders at once, enlarge the queue of the receiver's port, or lower the senders' rto_min.",
        cost_s=cost_s,
        waited_s=Covered((int(one["start_ns"]), end_ns(one)) for one in connections).length / 1e9,
        connections=ids(connections),
        evidence=[of_connections(slow, "connections that waited for a timer")],
        explains=frozenset(rest | {(KIND, one["id"]) for one in connections}),
    )
