"""The emulator's log cut into TCP connections, as it streams by: only connections that are still open are held."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from vmtrace.lab.fate_log import FLAG_ACK, FLAG_FIN, FLAG_RST, FLAG_SYN, PacketFate

_CLOSED_FOR_NS = 5_000_000_000  # later than any repeat of a FIN that matters
_LOOK_EVERY = 1000  # packets


@dataclass(slots=True)
class Connection:
    """The packets of one connection, in order of entry; ports as the sender's host and the receiver's have them."""

    sender_port: int
    receiver_port: int
    packets: list[PacketFate] = field(default_factory=list)
    first_seq: int | None = None
    _closed: set[str] = field(default_factory=set)

    @property
    def start_ns(self) -> int:
        """When its first packet entered the path."""
        return self.packets[0].time_in_ns

    @property
    def end_ns(self) -> int:
        """When its last packet entered or left the path."""
        last = self.packets[-1]
        return max(last.time_in_ns, last.time_out_ns)

    def add(self, packet: PacketFate) -> None:
        """Take its next packet."""
        self.packets.append(packet)
        if packet.flags & FLAG_SYN and not packet.flags & FLAG_ACK:
            self.first_seq = packet.seq
        if packet.flags & FLAG_FIN:
            self._closed.add(packet.direction)
        if packet.flags & FLAG_RST:
            self._closed |= {"forward", "reverse"}

    @property
    def closed(self) -> bool:
        """Both sides have closed, or one has reset it."""
        return len(self._closed) == 2

    def begins_again(self, packet: PacketFate) -> bool:
        """Whether the packet opens a new connection between the same ports."""
        opens = packet.flags & FLAG_SYN and not packet.flags & FLAG_ACK
        return bool(opens) and self.first_seq is not None and packet.seq != self.first_seq


def connections(packets: Iterable[PacketFate]) -> Iterator[Connection]:
    """Every connection once it is over, and at the end those that are not; packets of other protocols are left out."""
    held: dict[tuple[int, int], Connection] = {}
    for count, packet in enumerate(packets):
        if not packet.source_port:
            continue
        key = (packet.source_port, packet.destination_port)
        key = key if packet.direction == "forward" else (key[1], key[0])
        connection = held.get(key)
        if connection and connection.begins_again(packet):
            yield held.pop(key)
            connection = None
        if connection is None:
            connection = held[key] = Connection(*key)
        connection.add(packet)
        if count % _LOOK_EVERY == 0:
            for over in [each for each in held.values() if _over(each, packet.time_in_ns)]:
                yield held.pop((over.sender_port, over.receiver_port))
    yield from held.values()


def _over(connection: Connection, now_ns: int) -> bool:
    return connection.closed and connection.packets[-1].time_in_ns < now_ns - _CLOSED_FOR_NS
