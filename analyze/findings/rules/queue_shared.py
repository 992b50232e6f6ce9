"""A queue that another connection of the capture fills: round trips of both rise together.

Rule: docs/findings.md, "Shared queue".
"""

from collections.abc import Iterator

from vmtrace.analyze.findings.facts import (
    CLIENT,
    SERVER,
    Facts,
    Record,
    address,
    end_ns,
    of_connections,
    saved_s,
    side_of_capture,
)
from vmtrace.analyze.findings.finding import Finding
from vmtrace.analyze.findings.rules.causes import LEAST_SHARE
from vmtrace.analyze.words.units import seconds, si

KIND, OF_ACKS = "queue_shared", "ack_path_full"
_LEAST_DELAY_S = 0.02
_LEAST_RISE = 2.0
"""Times the shortest round trip: less is usual traffic."""
_ALIKE = 2.0
_LEAST_TIMES_MORE = 4.0
"""The connection that fills a queue carries so many times more than the one that waits in it."""
_LEAST_FULL = 0.3
"""Of the time of a connection: then it is said to fill its link."""
_BY_ROUND_TRIPS = ("setup", "slow_start", "congestion_window", "receiver_window", "application_window", "loss_recovery")
"""What takes its number of round trips, however long these are."""
_MOST_FILLING = 8
"""Connections of the highest rates that are asked about: of thousands at one bottleneck none waits behind another."""
_CONFIDENCE = 0.7


def find(facts: Facts) -> Iterator[Finding]:
    """One finding for each connection that fills a queue in which others wait."""
    # What fills the queue of ACKs may be seen from behind it alone, where its own round trips show none.
    acks_wait = any(_waits_for_acks(one) for one in facts.connections)
    filling = [
        (one, side)
        for one in facts.connections
        for side in (CLIENT, SERVER)
        if one[side].get("goodput_bps") and (_fills(one, side) or (acks_wait and _is_full(one)))
    ]
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
    if queue is None:
        return False
    shortest_s, queue_s = queue
    return queue_s >= max(_LEAST_DELAY_S, (_LEAST_RISE - 1) * shortest_s)


def _waits_behind(connection: Record, filler: Record, side: str) -> bool:
    """It overlaps, and its packets pass the same queue: in its data's direction, or in that of its acknowledgements."""
    begins, ends = max(connection["start_ns"], filler["start_ns"]), min(end_ns(connection), end_ns(filler))
    overlap_s = (ends - begins) / 1e9
    if overlap_s < 0.5 * (connection["duration_s"] or 0.0) or overlap_s <= 0:
        return False
    hosts = {address(connection["client"]), address(connection["server"])}
    if not hosts & {address(filler["client"]), address(filler["server"])}:
        return False
    acknowledges_into = _acknowledges_into(connection, filler, side)
    if acknowledges_into and _waits_for_acks(connection):
        return True
    queue_s = _queue_s(filler, side)
    if queue_s is None or not _fills(filler, side):
        return False
    if acknowledges_into:
        rtt_s = connection["handshake"].get("rtt_s") or 0.0
        return bool(connection["start_ns"] > filler["start_ns"] and rtt_s * _ALIKE >= max(queue_s[1], _LEAST_DELAY_S))
    mine = [found for found in (_queue_s(connection, CLIENT), _queue_s(connection, SERVER)) if found is not None]
    carried = max((connection[one].get("goodput_bps") or 0.0) for one in (CLIENT, SERVER))
    if not mine or carried * _LEAST_TIMES_MORE > (filler[side].get("goodput_bps") or 0.0):
        return False
    longest = max(delay for _, delay in mine)
    return longest >= _LEAST_DELAY_S and queue_s[1] / _ALIKE <= longest <= queue_s[1] * _ALIKE


def _waits_for_acks(connection: Record) -> bool:
    """Timestamps show that its ACKs waited in a queue of their direction, and that it cost."""
    return saved_s(connection, OF_ACKS) >= LEAST_SHARE * (connection["duration_s"] or 0.0) > 0.0


def _acknowledges_into(connection: Record, filler: Record, side: str) -> bool:
    """Its data comes to the host whose own data fills the link, so that its acknowledgements wait behind that."""
    sender, receiver = _ends(filler, side)
    main = max((CLIENT, SERVER), key=lambda one: connection[one].get("unique_payload_bytes") or 0)
    data_from, data_to = _ends(connection, main)
    is_against = data_to == sender and data_from != sender and (data_from == receiver or _is_at(filler, side))
    return is_against and _is_full(filler)


def _ends(connection: Record, side: str) -> tuple[str, str]:
    """The addresses of sender and receiver of a direction."""
    ends = address(connection["client"]), address(connection["server"])
    return ends if side == CLIENT else (ends[1], ends[0])


def _is_at(connection: Record, side: str) -> bool:
    """The capture was made at the sender: all that it sends passes one link."""
    return side_of_capture(connection) == ("client" if side == CLIENT else "server")


def _is_full(connection: Record) -> bool:
    """The link held it back for a good part of its time."""
    account = connection.get("account") or ()
    full_s = float(sum(one["time_s"] for one in account if one["kind"] == "bottleneck_bandwidth"))
    duration_s = float(connection["duration_s"] or 0.0)
    return full_s >= _LEAST_FULL * duration_s > 0.0


def _cost_s(connection: Record, filler: Record, side: str) -> float:
    """The part of its time in which it waited for round trips, as far as the queue made them longer."""
    if _acknowledges_into(connection, filler, side):
        if _waits_for_acks(connection):
            return saved_s(connection, OF_ACKS)
        _, queue_s = _queue_s(filler, side) or (0.0, 0.0)
        rtt_s = max(connection["handshake"].get("rtt_s") or 0.0, queue_s)
        return _by_round_trips_s(connection) * queue_s / (rtt_s or 1.0)
    found = max(
        (queue for side in (CLIENT, SERVER) if (queue := _queue_s(connection, side)) is not None),
        key=lambda queue: queue[1],
        default=None,
    )
    if found is None:
        return 0.0
    shortest_s, queue_s = found
    return (connection["duration_s"] or 0.0) * queue_s / (shortest_s + queue_s)


def _by_round_trips_s(connection: Record) -> float:
    """Its time in which it could go no faster than round trip after round trip."""
    return float(sum(one["time_s"] for one in connection.get("account") or () if one["kind"] in _BY_ROUND_TRIPS))


def _finding(filler: Record, side: str, waiting: list[Record]) -> Finding:
    cost_s = sum(_cost_s(one, filler, side) for one in waiting)
    sender = filler["client"] if side == CLIENT else filler["server"]
    queue = _queue_s(filler, side) if _fills(filler, side) else None
    which = f"a queue of {seconds(queue[1])}" if queue else "the queue"
    concerned = [*waiting, filler]
    acknowledging = {one["id"] for one in waiting if _acknowledges_into(one, filler, side)}
    more = f"the ACKs of {len(waiting)} more" if len(acknowledging) == len(waiting) else f"{len(waiting)} more"
    # Data that waits there finds the link full; a link that is full of data is so whatever its ACKs wait for.
    explained = {
        one["id"]: (KIND, OF_ACKS if one["id"] in acknowledging else "bottleneck_bandwidth") for one in waiting
    }
    return Finding(
        kind=KIND,
        sentence=(
            f"Connection {filler['id']} fills {which} from {sender} at "
            f"{si(filler[side]['goodput_bps'], 'bit/s')}; {more} wait in it ({seconds(cost_s)})."
        ),
        confidence=_CONFIDENCE,
        owner="path",
        cost_s=cost_s,
        waited_s=sum(one["duration_s"] or 0.0 for one in waiting),
        connections=[filler["id"], *sorted(one["id"] for one in waiting)],
        evidence=[of_connections(concerned, "the connection that fills the queue, after those that wait in it")],
        explains=frozenset((kind, number) for number, kinds in explained.items() for kind in kinds),
    )
