"""Segments as they were on the wire: a superpacket of segmentation offload is cut into those it stood for.

The n-th segment of a superpacket has the n-th identification behind the superpacket's (Linux, and the NICs that do it in
hardware); the last one carries its FIN. All of them have the superpacket's time.
"""

from dataclasses import dataclass

import numpy as np

from analyze.compare.arrays import expanded
from analyze.compare.packets import ABSENT, FIN, Booleans, Integers, Packets

_IDENTIFICATIONS = 65_536


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
    """Payload of a full segment by pair and direction. `offered`: what each end's handshake or traffic says, stacked.

    The end that saw segments as they were on the wire shows the size by its largest packet; where both saw superpackets it
    is what the handshake allows.
    """
    largest = np.stack([_largest(part, offered.shape[1]) for part in (sender, receiver)])
    smaller = np.where((largest > 0).all(axis=0), largest.min(axis=0), 0)
    known = np.where(offered > 0, offered, np.iinfo(np.int64).max).min(axis=0)
    sizes = np.where(smaller > 0, np.minimum(smaller, known), known)
    return np.maximum(np.where(sizes == np.iinfo(np.int64).max, largest.max(axis=0), sizes), 1)


def _largest(packets: Packets, pairs: int) -> Integers:
    largest = np.zeros((pairs, 2), np.int64)
    np.maximum.at(largest, (packets.connection, 1 - packets.from_client), packets.payload_bytes)
    return largest


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
        identification=np.where(
            identification == ABSENT, ABSENT, (identification + place) % _IDENTIFICATIONS
        ),
    )
