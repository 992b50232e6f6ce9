"""Segments as they were on the wire: a superpacket of segmentation offload is cut into those it stood for.

The n-th segment of a superpacket has the n-th identification behind the superpacket's (Linux, and the NICs that do it
in hardware); the last one carries its FIN. All of them have the superpacket's time.
"""

from dataclasses import dataclass

import numpy as np

from vmtrace.analyze.compare.arrays import Booleans, Integers, expanded
from vmtrace.analyze.compare.packets import ABSENT, FIN, Packets

_IDENTIFICATIONS = 65_536
_NO_LIMIT = np.iinfo(np.int64).max
_LARGEST = 1 << 32
_LEAST_SHARE = 0.9
"""A packet of this share of the size offered may be a full one."""


@dataclass(frozen=True, slots=True)
class Segments:
    """One value for each wire segment, in the order of capture."""

    packet: Integers
    """Which of the packets it is part of."""
    pair: Integers
    from_client: Booleans
    start: Integers
    end: Integers
    payload_bytes: Integers
    control: Integers
    identification: Integers

    def __len__(self) -> int:
        """How many segments."""
        return len(self.packet)


def segment_sizes(sender: Packets, receiver: Packets, offered: Integers) -> Integers:
    """Payload of a full segment by pair and direction. `offered`: what the captures make of the handshake, stacked.

    Where packets of about that size were seen at either end, it is that of most of them: options and firewalls make it
    a little smaller than what is offered. Where only superpackets were seen, it is what is offered.
    """
    pairs = offered.shape[1]
    limit = np.where(offered > 0, offered, _NO_LIMIT).min(axis=0)
    largest = np.zeros((pairs, 2), np.int64)
    group = np.concatenate([part.connection * 2 + 1 - part.from_client for part in (sender, receiver)])
    payload = np.concatenate([part.payload_bytes for part in (sender, receiver)])
    np.maximum.at(largest.reshape(-1), group, payload)
    limit = np.where(limit == _NO_LIMIT, largest, limit)
    whole = (payload <= limit.reshape(-1)[group]) & (payload > _LEAST_SHARE * limit.reshape(-1)[group])
    kinds, counts = np.unique(group[whole] * _LARGEST + payload[whole], return_counts=True)
    sizes = limit.reshape(-1).copy()
    order = np.argsort(counts, kind="stable")
    sizes[kinds[order] // _LARGEST] = kinds[order] % _LARGEST
    return np.maximum(sizes, 1).reshape(pairs, 2)


def cut(packets: Packets, sizes: Integers) -> Segments:
    """All wire segments of these packets."""
    size = sizes[packets.connection, 1 - packets.from_client]
    pieces = np.maximum(-(-packets.payload_bytes // size), 1)
    packet = np.repeat(np.arange(len(packets)), pieces)
    place = expanded(np.zeros(len(packets), np.int64), pieces)
    size = size[packet]
    last = place == pieces[packet] - 1
    payload = np.where(last, packets.payload_bytes[packet] - place * size, size)
    start = packets.start[packet] + place * size
    end = np.where(last, packets.start[packet] + packets.taken[packet], start + size)
    identification = packets.identification[packet]
    return Segments(
        packet=packet,
        pair=packets.connection[packet],
        from_client=packets.from_client[packet],
        start=start,
        end=end,
        payload_bytes=payload,
        control=np.where(last, packets.control[packet], packets.control[packet] & ~FIN),
        identification=np.where(identification == ABSENT, ABSENT, (identification + place) % _IDENTIFICATIONS),
    )
