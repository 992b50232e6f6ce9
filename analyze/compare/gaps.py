"""Pauses between data packets, seen from both ends: did the sender make them, the path, or the receiving host?

A pause that the sender's own packets have is the sender's, unless it waited for an acknowledgement that was late: then
what made it late did it. One that only arrivals have was made on the way: packets were lost, or held. Whether a path or
a receiving host that stood still held them shows in what that host did meanwhile, and in how fast they came then: a
path lets them out at its own rate, a host that wakes up finds them all at once. Where neither tells, neither is named.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from vmtrace.analyze.compare.arrays import Booleans, Floats, Integers
from vmtrace.analyze.tables.schema.typed import bounds

MOST_GAPS = 1000
"""Of one direction; the longest ones are told."""
_GUARD_S = 0.001
_MOST_OF_IT = 0.5
"""What makes up this share of a pause explains it."""
_PROMPT_S = 0.002
"""What follows an acknowledgement so soon waited for it."""
_FEWEST_HELD = 8
_MUCH_FASTER = 3.0
_MUCH_SLOWER = 2.0
_ABOUT_AS_FAST = 1.5


class Location(StrEnum):
    """Where a pause was made."""

    SENDER = "sender"
    PATH = "path"
    RECEIVER = "receiver"
    PATH_OR_RECEIVER = "path_or_receiver"
    UNKNOWN = "unknown"


class Reason(StrEnum):
    """What shows it."""

    SENDER_PAUSED = "sender_paused"
    WAITED_FOR_ACKNOWLEDGEMENT = "waited_for_acknowledgement"
    ACKNOWLEDGEMENT_DELAYED = "acknowledgement_delayed"
    TIMEOUT_AFTER_LOSS = "waited_for_timeout_after_loss"
    TIMEOUT = "waited_for_timeout"
    RECEIVER_ACKNOWLEDGED_LATE = "receiver_acknowledged_late"
    LOST = "segments_lost"
    HELD_RECEIVER_AWAKE = "held_while_receiver_sent"
    HELD_PATH_RATE = "held_and_released_at_path_rate"
    HELD_AT_ONCE = "held_and_released_at_once"
    HELD = "held"
    NOT_MATCHED = "not_matched"


_Frames = Annotated[tuple[Annotated[int, bounds(minimum=1)], int], bounds(minItems=2, maxItems=2)]


@dataclass(frozen=True, slots=True)
class Gap:
    """One pause. Frames are those before and after it, where that capture has them."""

    start_ns: int
    """At the end that sent the data, by its clock (steps taken out); by the other one's if only that shows it."""
    sender_gap_s: float | None
    """Longest pause of the sending end between the two packets."""
    receiver_gap_s: float | None
    """Pause between their arrivals."""
    location: Location
    reason: Reason
    sender_frames: _Frames | None
    receiver_frames: _Frames | None

    @property
    def length_s(self) -> float:
        """The longer one of both."""
        return max(self.sender_gap_s or 0.0, self.receiver_gap_s or 0.0)


@dataclass(frozen=True, slots=True)
class End:
    """One end's packets of a connection, in its capture's order, steps of its clock taken out."""

    time_ns: Integers
    frame: Integers
    payload_bytes: Integers
    elsewhere: Integers
    """Place in the other end's arrays, or -1."""
    delay_s: Floats
    """One-way delay, NaN where it was not measured."""
    outward: Booleans
    """Sent by the data sender of this direction."""
    lost: Booleans
    start: Integers
    """First position of its data."""


@dataclass(frozen=True, slots=True)
class _View:
    """What is asked again and again about one direction."""

    near: End
    far: End
    data: Integers
    """Places of the near end's data packets."""
    arrivals: Integers
    """Places of the data packets that arrived."""
    base_s: tuple[float, float]
    """Smallest delay there and back."""
    usual_rate: float | None
    """Payload bytes per second of quick arrivals."""
    rate_is_of_path: bool
    """They came more slowly than they were sent: the path gives no more."""


def locate(near: End, far: End, near_limit_s: float | None, far_limit_s: float | None) -> list[Gap]:
    """The pauses of one direction that are longer than the limit of the end that shows them."""
    data = np.flatnonzero(near.outward & (near.payload_bytes > 0))
    arrivals = np.flatnonzero(far.outward & (far.payload_bytes > 0))
    base_s = (_least(near.delay_s[near.outward]), _least(near.delay_s[~near.outward]))
    far_gaps = _long_ones(far.time_ns[arrivals], far_limit_s)
    usual_rate = _usual_rate(far, arrivals, far_gaps)
    sent_rate = _usual_rate(near, data, np.empty(0, np.intp))
    spread = usual_rate is not None and sent_rate is not None and sent_rate > _MUCH_SLOWER * usual_rate
    view = _View(near, far, data, arrivals, base_s, usual_rate, spread)
    gaps = [_of_arrival(view, int(place)) for place in far_gaps]
    shown = {gap.sender_frames for gap in gaps if gap.sender_frames}
    for place in _long_ones(near.time_ns[data], near_limit_s):
        gap = _of_sender(view, int(place))
        if gap.sender_frames not in shown:
            gaps.append(gap)
    return sorted(gaps, key=lambda gap: gap.start_ns)


def _least(delay_s: Floats) -> float:
    known = delay_s[~np.isnan(delay_s)]
    return float(known.min()) if len(known) else 0.0


def _long_ones(time_ns: Integers, limit_s: float | None) -> NDArray[np.intp]:
    """Places of the longest gaps beyond the limit: each is between its place and the next."""
    if limit_s is None:
        return np.empty(0, np.intp)
    gap_s = np.diff(time_ns) / 1e9
    places = np.flatnonzero(gap_s > limit_s)
    return np.sort(places[np.argsort(-gap_s[places], kind="stable")[:MOST_GAPS]])


def _usual_rate(end: End, data: Integers, gaps: NDArray[np.intp]) -> float | None:
    """Bytes per second of the quickest few packets in a row (95th percentile), but for the rush behind a gap."""
    time_ns = end.time_ns[data]
    usual = np.ones(len(data), np.bool_)
    for place in gaps:
        rush = np.searchsorted(time_ns, 2 * time_ns[place + 1] - time_ns[place])
        usual[place + 1 : rush] = False
    if usual.sum() < 20 * _FEWEST_HELD:
        return None
    size = np.append(0, np.cumsum(end.payload_bytes[data]))
    span_s = (time_ns[_FEWEST_HELD:] - time_ns[:-_FEWEST_HELD]) / 1e9
    rates = (size[_FEWEST_HELD + 1 :] - size[1:-_FEWEST_HELD]) / np.maximum(span_s, 1e-9)
    rates = rates[usual[_FEWEST_HELD:] & usual[:-_FEWEST_HELD]]
    return float(np.quantile(rates, 0.95)) if len(rates) else None


def _of_arrival(view: _View, place: int) -> Gap:
    """A pause of the arrivals behind `place`."""
    far, near = view.far, view.near
    before, after = (int(view.arrivals[index]) for index in (place, place + 1))
    length_s = float(far.time_ns[after] - far.time_ns[before]) / 1e9
    frames = (int(far.frame[before]), int(far.frame[after]))
    sent_before, sent_after = int(far.elsewhere[before]), int(far.elsewhere[after])
    if sent_before < 0 or sent_after < 0:
        return Gap(int(far.time_ns[before]), None, length_s, Location.UNKNOWN, Reason.NOT_MATCHED, None, frames)
    first, last = np.searchsorted(view.data, sorted((sent_before, sent_after)))
    sent = view.data[first : last + 1]
    pauses_s = np.diff(near.time_ns[sent]) / 1e9
    longest = int(np.argmax(pauses_s)) if len(pauses_s) else 0
    pause_s = float(pauses_s[longest]) if len(pauses_s) else 0.0
    sender_frames = (int(near.frame[sent[longest]]), int(near.frame[sent[min(longest + 1, len(sent) - 1)]]))
    if pause_s >= _MOST_OF_IT * length_s:
        location, reason = _why_sender_paused(view, int(sent[longest]), int(sent[longest + 1]))
    elif near.lost[sent].any() and not _was_held(view, after, length_s):
        location, reason = Location.PATH, Reason.LOST
    else:
        location, reason = _who_held(view, before, after, place)
    start_ns = int(near.time_ns[sent[longest]]) if location is Location.SENDER else int(near.time_ns[sent_before])
    return Gap(start_ns, pause_s, length_s, location, reason, sender_frames, frames)


def _of_sender(view: _View, place: int) -> Gap:
    """A pause of the sender behind `place` that no pause of the arrivals shows."""
    near, far = view.near, view.far
    before, after = (int(view.data[index]) for index in (place, place + 1))
    length_s = float(near.time_ns[after] - near.time_ns[before]) / 1e9
    there = int(near.elsewhere[before]), int(near.elsewhere[after])
    known = min(there) >= 0
    location, reason = _why_sender_paused(view, before, after)
    return Gap(
        int(near.time_ns[before]),
        length_s,
        float(far.time_ns[there[1]] - far.time_ns[there[0]]) / 1e9 if known else None,
        location,
        reason,
        (int(near.frame[before]), int(near.frame[after])),
        (int(far.frame[there[0]]), int(far.frame[there[1]])) if known else None,
    )


def _why_sender_paused(view: _View, before: int, after: int) -> tuple[Location, Reason]:
    """If an acknowledgement ended the pause: on which part of its way was it, or the data it is for, late?"""
    near, far = view.near, view.far
    length_s = (near.time_ns[after] - near.time_ns[before]) / 1e9
    inside = np.arange(before + 1, after)
    from_peer = inside[~near.outward[before + 1 : after]]
    waits_for_it = len(from_peer) > 0 and near.time_ns[after] - near.time_ns[from_peer[-1]] <= _PROMPT_S * 1e9
    # The first news after a silence, not any of a stream of them that the sender left unused.
    quiet_s = np.diff(near.time_ns[np.append(before, from_peer)]) / 1e9 if len(from_peer) else np.zeros(1)
    if not waits_for_it or quiet_s.max() < _MOST_OF_IT * length_s:
        return _why_unprompted(view, before, after, length_s)
    news = int(from_peer[int(np.argmax(quiet_s))])
    if near.delay_s[news] - view.base_s[1] >= _MOST_OF_IT * length_s:
        return Location.PATH, Reason.ACKNOWLEDGEMENT_DELAYED
    answer = int(near.elsewhere[news])
    if answer < 0:
        return Location.SENDER, Reason.WAITED_FOR_ACKNOWLEDGEMENT
    come = view.arrivals[: np.searchsorted(view.arrivals, answer)]
    if not len(come):
        return Location.SENDER, Reason.WAITED_FOR_ACKNOWLEDGEMENT
    if (far.time_ns[answer] - far.time_ns[come[-1]]) / 1e9 >= _MOST_OF_IT * length_s:
        return Location.RECEIVER, Reason.RECEIVER_ACKNOWLEDGED_LATE
    if _was_held(view, int(come[-1]), length_s) and len(come) > 1:
        return _who_held(view, int(come[-2]), int(come[-1]), len(come) - 2)
    return Location.SENDER, Reason.WAITED_FOR_ACKNOWLEDGEMENT


def _why_unprompted(view: _View, before: int, after: int, length_s: float) -> tuple[Location, Reason]:
    """No acknowledgement ended the pause: a timer did, if what follows repeats data; or it was the sender's own."""
    near = view.near
    earlier = view.data[: np.searchsorted(view.data, after)]
    same = earlier[near.start[earlier] == near.start[after]]
    if not len(same):
        return Location.SENDER, Reason.SENDER_PAUSED
    if near.lost[same].any():
        return Location.PATH, Reason.TIMEOUT_AFTER_LOSS
    from_peer = np.flatnonzero(~near.outward[before + 1 :])
    if len(from_peer) and near.delay_s[before + 1 + from_peer[0]] - view.base_s[1] >= _MOST_OF_IT * length_s:
        return Location.PATH, Reason.ACKNOWLEDGEMENT_DELAYED
    return Location.SENDER, Reason.TIMEOUT


def _was_held(view: _View, arrival: int, length_s: float) -> bool:
    return bool(view.far.delay_s[arrival] - view.base_s[0] >= _MOST_OF_IT * length_s)


def _who_held(view: _View, before: int, after: int, place: int) -> tuple[Location, Reason]:
    """The path or the receiving host, for packets that came late behind the arrival at `place`."""
    far = view.far
    if not _was_held(view, after, (far.time_ns[after] - far.time_ns[before]) / 1e9):
        return Location.UNKNOWN, Reason.HELD
    between_ns = far.time_ns[before + 1 : after]
    guard_ns = _GUARD_S * 1e9
    if ((between_ns > far.time_ns[before] + guard_ns) & (between_ns < far.time_ns[after] - guard_ns)).any():
        return Location.PATH, Reason.HELD_RECEIVER_AWAKE
    held = view.arrivals[place + 1 : place + 2 + _FEWEST_HELD]
    late = far.delay_s[held] - view.base_s[0] > _GUARD_S
    if view.usual_rate is None or len(held) <= _FEWEST_HELD or not late.all():
        return Location.PATH_OR_RECEIVER, Reason.HELD
    span_s = max(float(far.time_ns[held[-1]] - far.time_ns[held[0]]) / 1e9, 1e-9)
    rate = float(far.payload_bytes[held[1:]].sum()) / span_s
    if rate > _MUCH_FASTER * view.usual_rate and view.rate_is_of_path:
        return Location.RECEIVER, Reason.HELD_AT_ONCE
    if rate <= _ABOUT_AS_FAST * view.usual_rate:
        return Location.PATH, Reason.HELD_PATH_RATE
    return Location.PATH_OR_RECEIVER, Reason.HELD
