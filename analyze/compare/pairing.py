"""Which connection of one capture is which of the other, whatever a NAT on the way made of addresses and ports.

What a NAT leaves alone pairs them: sequence numbers with timestamp values (with acknowledgement numbers where there are
no timestamps), the initial ones of the SYN among them. Where a firewall rewrites sequence numbers, too, timestamp
values and echoes alone do; where one capture was cut before the timestamps, sequence numbers alone. Each end may call
the other side the client if it did not see the opening: the sender's view counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from vmtrace.analyze.compare.arrays import Booleans, Integers, common, mixed
from vmtrace.analyze.compare.packets import ABSENT, NOTHING_ACKNOWLEDGED, Packets

_WRAP = 2**32
_FEWEST_COMMON = 2
"""Packets that must be alike: one may be by chance, or the stray SYN of another attempt."""
_LARGE, _ONE_OF = 2000, 16
_FEWEST_ECHOES = 4
_SHARE_OF_LESS = 0.5
"""Of the packets of the shorter connection, where less than sequence numbers and timestamps together has to do."""


@dataclass(frozen=True, slots=True)
class Paired:
    """The packets of connections that both captures hold; `connection` is the pair's number, from 0, in both."""

    sender: Packets
    receiver: Packets
    sender_connections: Integers
    """Of each pair, its number in the sender's capture."""
    receiver_connections: Integers
    rewritten_sequences: Booleans
    """Of each pair, true where the sequence numbers are not the same at both ends."""
    client_at_sender: Booleans
    """Of each pair, true where the sender's capture was taken at the client's end, as far as times tell."""
    swapped: Booleans
    """Of each pair, true where the receiver's capture calls the other side the client."""

    def __len__(self) -> int:
        """How many pairs."""
        return len(self.sender_connections)


def pair(sender: Packets, receiver: Packets) -> Paired:
    """Find the pairs and bring the receiver's packets into the sender's terms: sides, and positions."""
    found, rest = [_by_sequence(sender, receiver)], (sender, receiver)
    for next_way in (_by_sequence_alone, _by_echo):
        rest = _without(rest[0], found[-1].sender), _without(rest[1], found[-1].receiver)
        found.append(next_way(*rest))
    way = np.repeat(np.arange(len(found)), [len(one.sender) for one in found])
    order = np.argsort(_joined(found).sender, kind="stable")
    sequence_alone, rewritten = way[order] == 1, way[order] == 2
    pairs = _joined(found).select(order)
    ours, theirs = (
        _without_stamps(_numbered(part, chosen), sequence_alone)
        for part, chosen in ((sender, pairs.sender), (receiver, pairs.receiver))
    )
    theirs = replace(theirs, from_client=theirs.from_client ^ pairs.swapped[theirs.connection])
    theirs = _shifted(theirs, _shifts(ours, theirs, rewritten))
    client_at_sender = _client_ends(ours, theirs, len(rewritten))
    return Paired(ours, theirs, pairs.sender, pairs.receiver, rewritten, client_at_sender, pairs.swapped)


@dataclass(frozen=True, slots=True)
class _Pairs:
    sender: Integers
    receiver: Integers
    swapped: Booleans
    """The ends do not call the same side the client."""

    def select(self, which: Integers) -> "_Pairs":
        return _Pairs(self.sender[which], self.receiver[which], self.swapped[which])


def _by_sequence(sender: Packets, receiver: Packets) -> _Pairs:
    ours, theirs = (part.select(_sample(part, _sequence_key(part))) for part in (sender, receiver))
    return _most_common(ours, _sequence_key(ours), theirs, _sequence_key(theirs), 0.0, _FEWEST_COMMON)


def _by_sequence_alone(sender: Packets, receiver: Packets) -> _Pairs:
    """Of connections whose timestamps one capture alone holds: it was cut behind the sequence numbers in the other."""
    stamped, cut = zip(*(_by_stamps(part) for part in (sender, receiver)), strict=True)
    one_way = _most_common_alone(stamped[0], cut[1])
    other_way = _most_common_alone(cut[0], stamped[1])
    return _joined((one_way, other_way))


def _most_common_alone(sender: Packets, receiver: Packets) -> _Pairs:
    parts = (part.select(_sample(part, _bare_key(part))) for part in (sender, receiver))
    # Acknowledgements of one side all have the same number.
    ours, theirs = (_first_of_each_key(part, _bare_key(part)) for part in parts)
    return _most_common(ours, _bare_key(ours), theirs, _bare_key(theirs), _SHARE_OF_LESS, _FEWEST_COMMON)


def _bare_key(packets: Packets) -> Integers:
    return mixed(packets.raw_sequence, packets.payload_bytes == 0, packets.control)


def _by_stamps(packets: Packets) -> tuple[Packets, Packets]:
    """The packets of connections with a timestamp, and those of the others."""
    stamped = np.isin(packets.connection, packets.connection[packets.tsval != ABSENT])
    return packets.select(stamped), packets.select(~stamped)


def _joined(pairs: Sequence[_Pairs]) -> _Pairs:
    return _Pairs(
        np.concatenate([one.sender for one in pairs]),
        np.concatenate([one.receiver for one in pairs]),
        np.concatenate([one.swapped for one in pairs]),
    )


def _without_stamps(packets: Packets, chosen: Booleans) -> Packets:
    """What only one end holds of these pairs tells nothing about both."""
    gone = chosen[packets.connection]
    stamps = {name: np.where(gone, ABSENT, getattr(packets, name)) for name in ("tsval", "tsecr")}
    return replace(packets, **stamps)


def _sample(packets: Packets, key: Integers) -> Booleans:
    """Of large connections a part is enough: the same part in both captures, because the key decides."""
    large = np.bincount(packets.connection)[packets.connection] > _LARGE
    part: Booleans = ~large | (key % _ONE_OF == 0)
    return part


def _sequence_key(packets: Packets) -> Integers:
    """Sequence number, timestamps and what is acknowledged, all as in the header."""
    return mixed(packets.raw_sequence, packets.tsval, packets.tsecr, packets.payload_bytes == 0, packets.control)


def _by_echo(sender: Packets, receiver: Packets) -> _Pairs:
    ours, theirs = _first_echoes(sender), _first_echoes(receiver)
    return _most_common(ours, _echo_key(ours), theirs, _echo_key(theirs), _SHARE_OF_LESS, _FEWEST_ECHOES)


def _echo_key(packets: Packets) -> Integers:
    return mixed(packets.tsval, packets.tsecr)


def _first_echoes(packets: Packets) -> Packets:
    """The first packet of each pair of timestamps in each connection: a clock's tick takes many packets."""
    stamped = packets.select((packets.tsval > 0) & (packets.tsecr > 0))
    return _first_of_each_key(stamped, _echo_key(stamped))


def _first_of_each_key(packets: Packets, key: Integers) -> Packets:
    _, first = np.unique(mixed(packets.connection, key), return_index=True)
    return packets.select(np.sort(first))


def _most_common(
    sender: Packets, sender_key: Integers, receiver: Packets, receiver_key: Integers, least_share: float, least: int
) -> _Pairs:
    """Each connection with that of the other capture that it has most keys in common with."""
    ours, theirs = common(sender_key, receiver_key)
    left, right = sender.connection[ours], receiver.connection[theirs]
    swapped = sender.from_client[ours] ^ receiver.from_client[theirs]
    pairs, where, counts = np.unique(np.stack((left, right)), axis=1, return_inverse=True, return_counts=True)
    swaps = np.bincount(where.ravel(), weights=swapped, minlength=len(counts)) > counts / 2
    short = np.minimum(_sizes(sender, pairs[0]), _sizes(receiver, pairs[1]))
    good = (counts >= np.minimum(least, short)) & (counts >= least_share * short)
    taken_left, taken_right, chosen = set[int](), set[int](), []
    for index in np.argsort(-counts, kind="stable"):
        one, other = int(pairs[0, index]), int(pairs[1, index])
        if good[index] and one not in taken_left and other not in taken_right:
            taken_left.add(one)
            taken_right.add(other)
            chosen.append(index)
    which = np.array(chosen, np.int64)
    return _Pairs(pairs[0, which], pairs[1, which], swaps[which])


def _sizes(packets: Packets, connections: Integers) -> Integers:
    counts = np.bincount(packets.connection, minlength=int(connections.max(initial=0)) + 1)
    sizes: Integers = counts[connections]
    return sizes


def _without(packets: Packets, connections: Integers) -> Packets:
    return packets.select(~np.isin(packets.connection, connections))


def _numbered(packets: Packets, connections: Integers) -> Packets:
    """Packets of these connections alone, which take their places' numbers."""
    numbers = np.full(max(packets.connection.max(initial=0), connections.max(initial=0)) + 1, ABSENT)
    numbers[connections] = np.arange(len(connections))
    chosen = packets.select(numbers[packets.connection] != ABSENT)
    return replace(chosen, connection=numbers[chosen.connection])


def _shifts(sender: Packets, receiver: Packets, rewritten: Booleans) -> Integers:
    """What is added to the receiver's positions, by pair and direction (client's first); 0 where one has no packet."""
    shifts = np.zeros((len(rewritten), 2), np.int64)
    if len(sender) and len(receiver):
        ours, theirs = _first_of_each(sender, len(rewritten)), _first_of_each(receiver, len(rewritten))
        both = (ours >= 0) & (theirs >= 0)
        apart = (receiver.first_raw()[theirs] - sender.first_raw()[ours] + _WRAP // 2) % _WRAP - _WRAP // 2
        shifts = np.where(both & ~rewritten[:, None], apart, 0)
    for number in np.flatnonzero(rewritten).tolist():
        for side in (0, 1):
            shifts[number, side] = _shift_by_echo(*(_one_side(part, number, side) for part in (sender, receiver)))
    return shifts


def _client_ends(sender: Packets, receiver: Packets, pairs: int) -> Booleans:
    """A packet takes time to get to the other end: of two side by side in a capture, one of the client's and one of
    the server's, the times tell who is where, whatever the clocks are. With one direction alone the client is here.
    """
    keys = [
        mixed(part.connection, part.from_client, part.start, part.tsval, part.acknowledgement, part.control)
        for part in (sender, receiver)
    ]
    here, there = (np.flatnonzero(_sample(part, key)) for part, key in zip((sender, receiver), keys, strict=True))
    ours, theirs = common(keys[0][here], keys[1][there])
    ours, theirs = here[ours], there[theirs]
    order = np.lexsort((ours, sender.connection[ours]))
    ours, theirs = ours[order], theirs[order]
    later_ns, client = receiver.time_ns[theirs] - sender.time_ns[ours], sender.from_client[ours]
    connection = sender.connection[ours]
    turns = np.flatnonzero((connection[1:] == connection[:-1]) & (client[1:] != client[:-1]))
    # The client's packet is later at the receiver by delay and offset, the server's by offset less delay.
    round_trip_ns = (later_ns[1:] - later_ns[:-1])[turns] * np.where(client[1:][turns], 1, -1)
    positive = np.bincount(connection[turns], weights=np.sign(round_trip_ns), minlength=pairs)
    ends: Booleans = positive >= 0
    return ends


def _first_of_each(packets: Packets, pairs: int) -> Integers:
    """Index of the first packet of each pair and direction, or -1."""
    first = np.full((pairs, 2), ABSENT)
    backwards = np.arange(len(packets))[::-1]
    first[packets.connection[backwards], 1 - packets.from_client[backwards]] = backwards
    return first


def _one_side(packets: Packets, number: int, side: int) -> Packets:
    return packets.select((packets.connection == number) & (packets.from_client == (side == 0)))


def _shift_by_echo(sender: Packets, receiver: Packets) -> int:
    """Sequence numbers are rewritten by one amount: the most frequent among packets with the same timestamps."""
    ours, theirs = common(
        *(mixed(part.tsval, part.tsecr, part.payload_bytes, part.control) for part in (sender, receiver))
    )
    if not len(ours):
        return 0
    values, counts = np.unique(sender.start[ours] - receiver.start[theirs], return_counts=True)
    return int(values[np.argmax(counts)])


def _shifted(packets: Packets, shifts: Integers) -> Packets:
    side = 1 - packets.from_client
    acknowledged = packets.acknowledgement + shifts[packets.connection, 1 - side]
    return replace(
        packets,
        start=packets.start + shifts[packets.connection, side],
        acknowledgement=np.where(packets.acknowledges, acknowledged, NOTHING_ACKNOWLEDGED),
    )
