"""A queue that another connection of the capture fills: round trips of both rise together.

Rule: docs/findings.md, "Shared queue".
"""

from collections.abc import Iterator

from vmtrace.analyze.findings.facts import CLIENT, SERVER, Facts, Record, address, end_ns, of_connections
from vmtrace.analyze.findings.finding import Finding
from vmtrace.analyze.findings.vocabulary import KINDS
from vmtrace.analyze.words.units import seconds, si

KIND = "queue_shared"
_LEAST_DELAY_S = 0.02
_LEAST_RISE = 2.0
"""Times the shortest round trip: less is usual traffic."""
_ALIKE = 2.0
_LEAST_TIMES_MORE = 4.0
"""The connection that fills a queue carries so many times more than the one that waits in it."""
_MOST_FILLING = 8
"""Connections of the highest rates that are asked about: of thousands at one bottleneck none waits behind another."""
_CONFIDENCE = 0.7


def find(facts: Facts) -> Iterator[Finding]:
    """One finding for each connection that fills a queue in which others wait."""
    filling = [(one, side) for one in facts.connections for side in (CLIENT, SERVER) if _fills(one, side)]
    filling.sort(key=lambda pair: -float(pair[0][pair[1]]["goodput_bps"]))
    left = list(facts.connections)
    for filler, side in filling[:_MOST_FILLING]:
        waiting = [one for one in left if one is not filler and _waits_behind(one, filler, side)]
        if waiting:
            yield _finding(filler, side, waiting)
            found = {one["id"] for one in waiting}
            left = [one for one in left if one["id"] not in found]


def _queue_s(connection: Record, side: str) -> tuple[float, float] | None:
    """The shortest round trip, and by how much the median one is longer."""
    trips = connection[side].get("rtt") or {}
    if trips.get("min_s") is None or trips.get("median_s") is None:
        return None
    return trips["min_s"], trips["median_s"] - trips["min_s"]


def _fills(connection: Record, side: str) -> bool:
    queue = _queue_s(connection, side)
    if queue is None or not connection[side].get("goodput_bps"):
        return False
    shortest_s, queue_s = queue
    return queue_s >= max(_LEAST_DELAY_S, (_LEAST_RISE - 1) * shortest_s)


def _waits_behind(connection: Record, filler: Record, side: str) -> bool:
    """It overlaps, leaves or enters through the same host, carries far less, and waits as long in the queue."""
    begins, ends = max(connection["start_ns"], filler["start_ns"]), min(end_ns(connection), end_ns(filler))
    overlap_s = (ends - begins) / 1e9
    if overlap_s < 0.5 * (connection["duration_s"] or 0.0) or overlap_s <= 0:
        return False
    hosts = {address(connection["client"]), address(connection["server"])}
    if not hosts & {address(filler["client"]), address(filler["server"])}:
        return False
    queue_s = _queue_s(filler, side)
    mine = [found for found in (_queue_s(connection, CLIENT), _queue_s(connection, SERVER)) if found is not None]
    carried = max((connection[one].get("goodput_bps") or 0.0) for one in (CLIENT, SERVER))
    if queue_s is None or not mine or carried * _LEAST_TIMES_MORE > (filler[side].get("goodput_bps") or 0.0):
        return False
    longest = max(delay for _, delay in mine)
    return longest >= _LEAST_DELAY_S and queue_s[1] / _ALIKE <= longest <= queue_s[1] * _ALIKE


def _cost_s(connection: Record) -> float:
    """The part of its time in which it waited for round trips, as far as the queue made them longer."""
    found = max(
        (queue for side in (CLIENT, SERVER) if (queue := _queue_s(connection, side)) is not None),
        key=lambda queue: queue[1],
        default=None,
    )
    if found is None:
        return 0.0
    shortest_s, queue_s = found
    return (connection["duration_s"] or 0.0) * queue_s / (shortest_s + queue_s)


def _finding(filler: Record, side: str, waiting: list[Record]) -> Finding:
    cost_s = sum(map(_cost_s, waiting))
    sender = filler["client"] if side == CLIENT else filler["server"]
    queue = _queue_s(filler, side)
    delay = seconds(queue[1]) if queue else "long"
    concerned = [*waiting, filler]
    return Finding(
        kind=KIND,
        sentence=(
            f"Connection {filler['id']} fills a queue of {delay} from {sender} at "
            f"{si(filler[side]['goodput_bps'], 'bit/s')}; {len(waiting)} more wait in it ({seconds(cost_s)})."
        ),
        confidence=_CONFIDENCE,
        owner="path",
        remedy=KINDS[KIND].remedy,
        cost_s=cost_s,
        waited_s=sum(one["duration_s"] or 0.0 for one in waiting),
        connections=[filler["id"], *sorted(one["id"] for one in waiting)],
        evidence=[of_connections(concerned, "the connection that fills the queue, after those that wait in it")],
        explains=frozenset((kind, one["id"]) for one in waiting for kind in (KIND, "bottleneck_bandwidth")),
    )
