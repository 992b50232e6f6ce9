"""Incast: a host asks many senders at once, the queue before it overflows, and it waits for the timers of a few.

Rule: docs/findings.md, "Incast".
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from vmtrace.analyze.findings.facts import CLIENT, SERVER, Facts, Record, address, ids, of_connections, waited_s
from vmtrace.analyze.findings.finding import Finding
from vmtrace.analyze.words.units import seconds

KIND = "timeout_wait"
_RESTS = ("client_wait", "application")
_MOMENT_NS = 20_000_000
_FEWEST_SENDERS = 4
_MOST_OF = 0.5
_CONFIDENCE = 0.7
"""A path to the receiver that failed for an instant looks alike."""

_Span = tuple[int, int]


class _Flow(NamedTuple):
    """Data of one connection to a receiver, and when it waited for timers, or rested."""

    connection: Record
    sender: str
    timers: list[_Span]
    rests: list[_Span]


def find(facts: Facts) -> Iterator[Finding]:
    """One finding for each receiver that waited for senders that it had asked at once."""
    flows: defaultdict[str, list[_Flow]] = defaultdict(list)
    for one in facts.connections:
        for side, sender, receiver in ((CLIENT, "client", "server"), (SERVER, "server", "client")):
            timers, rests = _spans(one[side], (KIND,)), _spans(one[side], _RESTS)
            if (timers or rests) and facts.is_open(KIND, one):
                flows[address(one[receiver])].append(_Flow(one, address(one[sender]), timers, rests))
    for receiver, of_receiver in flows.items():
        waited = _union(span for flow in of_receiver for span in flow.timers)
        resting = [flow for flow in of_receiver if _within(flow.rests, waited)]
        if waited and _are_asked_at_once(of_receiver) and _senders(resting) >= _MOST_OF * _senders(of_receiver):
            yield _finding(receiver, of_receiver, resting, waited)


def _spans(direction: Record, factors: Iterable[str]) -> list[_Span]:
    found = (one for one in direction.get("limit_intervals") or () if one["factor"] in factors)
    return [(int(one["start_ns"]), int(one["end_ns"])) for one in found]


def _senders(flows: Iterable[_Flow]) -> int:
    return len({flow.sender for flow in flows})


def _union(spans: Iterable[_Span]) -> list[_Span]:
    """Spans in order, those that touch joined."""
    joined: list[_Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


def _length_ns(spans: Iterable[_Span]) -> int:
    return sum(end - start for start, end in spans)


def _within(spans: list[_Span], others: list[_Span]) -> bool:
    """Most of the time of these spans lies in the others."""
    common = sum(
        max(0, min(end, other_end) - max(start, other_start))
        for start, end in spans
        for other_start, other_end in others
    )
    return common > _MOST_OF * _length_ns(spans)


def _are_asked_at_once(flows: list[_Flow]) -> bool:
    """Most rests end, with a request, at a moment at which those of four senders or more do."""
    ends = sorted((end, flow.sender) for flow in flows for _, end in flow.rests)
    groups: list[list[tuple[int, str]]] = []
    for one in ends:
        if groups and one[0] - groups[-1][-1][0] <= _MOMENT_NS:
            groups[-1].append(one)
        else:
            groups.append([one])
    together = [group for group in groups if len({sender for _, sender in group}) >= _FEWEST_SENDERS]
    return bool(ends) and sum(map(len, together)) > _MOST_OF * len(ends)


def _finding(receiver: str, flows: list[_Flow], resting: list[_Flow], waited: list[_Span]) -> Finding:
    connections = list({flow.connection["id"]: flow.connection for flow in flows}.values())
    slow = [flow.connection for flow in flows if flow.timers]
    cost_s = _length_ns(waited) / 1e9
    lasted_s = _length_ns(_union(_lifetime(one) for one in connections)) / 1e9
    rest = {(kind, flow.connection["id"]) for flow in resting for kind in _RESTS}
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
        waited_s=min(lasted_s, waited_s(connections)),
        connections=ids(connections),
        evidence=[of_connections(slow, "connections that waited for a timer")],
        explains=frozenset(rest | {(KIND, one["id"]) for one in connections}),
    )


def _lifetime(connection: Record) -> _Span:
    start_ns = int(connection["start_ns"])
    return start_ns, start_ns + round((connection["duration_s"] or 0.0) * 1e9)
