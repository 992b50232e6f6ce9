"""What really happened in a run, from the emulator's log and the kernels' own counters. No capture is consulted.

Every number counts wire segments as the emulator carried them. Definitions stand beside the fields and are part of the
file's contract: tests and accuracy tables compare an analyzer's numbers with these.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field

from vmtrace.lab.fate_log import FLAG_FIN, FLAG_SYN, PacketFate

_COPY = "duplicate"


@dataclass(slots=True)
class FlowTruth:
    """One direction of one connection.

    Sent numbers are as packets entered the path (the sender's capture point), arrived numbers as they left it (the
    receiver's). A retransmission is a data segment with at least one byte that was sent before.
    """

    direction: str
    source_port: int
    destination_port: int
    packets_sent: int = 0
    packets_arrived: int = 0
    pure_acks_sent: int = 0
    pure_acks_lost: int = 0
    data_segments_sent: int = 0
    data_segments_arrived: int = 0  # without copies the path made; with corrupted ones
    payload_bytes_arrived: int = 0
    data_segments_lost: int = 0
    data_segments_corrupted: int = 0
    payload_bytes_sent: int = 0
    unique_payload_bytes: int = 0
    retransmissions_sent: int = 0
    retransmissions_arrived: int = 0
    retransmitted_bytes_sent: int = 0
    retransmissions_lost: int = 0
    unnecessary_retransmissions: int = 0  # every byte was in a copy that arrived or was still to arrive intact
    syn_repeats_sent: int = 0
    syn_repeats_arrived: int = 0
    fin_repeats_sent: int = 0  # FIN without data
    fin_repeats_arrived: int = 0
    window_probes_sent: int = 0  # no payload, sequence number before the next to send
    duplicates_made: int = 0  # copies of data segments that the path made and delivered
    duplicates_made_all: int = 0  # with those of packets without data
    duplicate_payload_bytes: int = 0
    reordered_originals: int = 0  # first transmissions that arrived after a data segment sent later
    reordered_any: int = 0  # any data segment that did
    fates: dict[str, int] = field(default_factory=dict)
    retransmission_numbers: list[int] = field(default_factory=list)  # `number` of each in the log, this direction


def flows(rows: Sequence[PacketFate]) -> list[FlowTruth]:
    """Truth for each direction of each connection, in order of first packet."""
    by_flow: dict[tuple[str, int, int], list[PacketFate]] = {}
    for row in rows:
        if row.source_port:
            by_flow.setdefault((row.direction, row.source_port, row.destination_port), []).append(row)
    return [_flow(key, packets) for key, packets in by_flow.items()]


def seen_at(truths: Iterable[FlowTruth], side: str) -> list[dict[str, int | str]]:
    """What passed the capture point at `sender` or `receiver`, per direction of a connection, in wire segments.

    A direction is seen as sent at its own end and as arrived, copies of the path included, at the other.
    """
    near = {"sender": "forward", "receiver": "reverse"}[side]
    return [_sent_view(flow) if flow.direction == near else _arrived_view(flow) for flow in truths]


def _sent_view(flow: FlowTruth) -> dict[str, int | str]:
    return {
        **_ports(flow),
        "packets": flow.packets_sent,
        "data_segments": flow.data_segments_sent,
        "payload_bytes": flow.payload_bytes_sent,
        "unique_payload_bytes": flow.unique_payload_bytes,
        "retransmitted_segments": flow.retransmissions_sent,
        "network_duplicates": 0,
        "reordered_segments": 0,
        "syn_repeats": flow.syn_repeats_sent,
        "fin_repeats": flow.fin_repeats_sent,
    }


def _arrived_view(flow: FlowTruth) -> dict[str, int | str]:
    return {
        **_ports(flow),
        "packets": flow.packets_arrived,
        "data_segments": flow.data_segments_arrived + flow.duplicates_made,
        "payload_bytes": flow.payload_bytes_arrived + flow.duplicate_payload_bytes,
        "unique_payload_bytes": flow.unique_payload_bytes,
        "retransmitted_segments": flow.retransmissions_arrived,
        "network_duplicates": flow.duplicates_made,
        "reordered_segments": flow.reordered_originals,
        "syn_repeats": flow.syn_repeats_arrived,
        "fin_repeats": flow.fin_repeats_arrived,
    }


def _ports(flow: FlowTruth) -> dict[str, int | str]:
    return {
        "direction": flow.direction,
        "source_port": flow.source_port,
        "destination_port": flow.destination_port,
    }


def retransmit_count(truths: Iterable[FlowTruth], direction: str) -> int:
    """What the kernel of that direction's sending host should have in RetransSegs."""
    return sum(
        flow.retransmissions_sent + flow.syn_repeats_sent + flow.fin_repeats_sent
        for flow in truths
        if flow.direction == direction
    )


def totals(truths: Iterable[FlowTruth], direction: str) -> dict[str, int]:
    """Sums over all connections of one direction."""
    sums: Counter[str] = Counter()
    for flow in truths:
        if flow.direction == direction:
            sums.update({name: value for name, value in asdict(flow).items() if isinstance(value, int)})
    for port in ("source_port", "destination_port"):
        sums.pop(port, None)
    return dict(sums)


def distribution(values_s: Sequence[float]) -> dict[str, float | int] | None:
    """Count, mean and percentiles of seconds; None when there are no values."""
    if not values_s:
        return None
    ordered = sorted(values_s)
    last = len(ordered) - 1
    points = {name: ordered[round(last * share)] for name, share in _POINTS.items()}
    return {"samples": len(ordered), "mean_s": sum(ordered) / len(ordered), **points}


_POINTS = {"min_s": 0.0, "median_s": 0.5, "p95_s": 0.95, "p99_s": 0.99, "max_s": 1.0}


def path_delays(rows: Iterable[PacketFate], direction: str, data_only: bool) -> dict[str, float | int] | None:
    """Time each delivered packet spent on the path."""
    chosen = (row for row in rows if row.direction == direction and not row.lost)
    return distribution(
        [(row.time_out_ns - row.time_in_ns) / 1e9 for row in chosen if row.payload_bytes or not data_only]
    )


def lateness(rows: Iterable[PacketFate]) -> dict[str, float | int] | None:
    """How much later than decided each packet left the emulator."""
    return distribution([(row.time_out_ns - row.time_due_ns) / 1e9 for row in rows if not row.lost])


def _flow(key: tuple[str, int, int], packets: list[PacketFate]) -> FlowTruth:
    truth = FlowTruth(*key)
    truth.fates = dict(Counter(packet.fate for packet in packets))
    numbered = _Sequence()
    retransmissions: list[tuple[PacketFate, int]] = []
    repeats: set[int] = set()
    sent: list[tuple[PacketFate, int]] = []
    for packet in packets:
        if packet.fate == _COPY:
            continue
        start = numbered.unwrap(packet.seq)
        repeated = numbered.seen(start)
        _count_sent(truth, packet, repeated)
        if repeated:
            repeats.add(packet.number)
        if packet.payload_bytes:
            sent.append((packet, start))
            if repeated:
                truth.retransmitted_bytes_sent += min(packet.payload_bytes, numbered.end - start)
                retransmissions.append((packet, start))
        numbered.advance(start + _span(packet))
    truth.unique_payload_bytes = truth.payload_bytes_sent - truth.retransmitted_bytes_sent
    truth.unnecessary_retransmissions = _unnecessary(sent, retransmissions)
    truth.retransmission_numbers = [packet.number for packet, _ in retransmissions]
    _count_arrived(truth, packets, repeats)
    return truth


class _Sequence:
    """Sequence numbers beyond 32 bits, and the highest one sent."""

    def __init__(self) -> None:
        self.end = 0
        self._started = False

    def unwrap(self, seq: int) -> int:
        if not self._started:
            self._started, self.end = True, seq
        return self.end + ((seq - self.end + (1 << 31)) % (1 << 32)) - (1 << 31)

    def seen(self, start: int) -> bool:
        return start < self.end

    def advance(self, end: int) -> None:
        self.end = max(self.end, end)


def _span(packet: PacketFate) -> int:
    return packet.payload_bytes + bool(packet.flags & FLAG_SYN) + bool(packet.flags & FLAG_FIN)


def _count_sent(truth: FlowTruth, packet: PacketFate, repeated: bool) -> None:
    truth.packets_sent += 1
    if packet.payload_bytes:
        truth.data_segments_sent += 1
        truth.payload_bytes_sent += packet.payload_bytes
        truth.data_segments_lost += packet.lost
        truth.data_segments_corrupted += packet.fate == "corrupted"
        truth.retransmissions_sent += repeated
        truth.retransmissions_lost += repeated and packet.lost
    elif packet.flags & FLAG_SYN:
        truth.syn_repeats_sent += repeated
    elif packet.flags & FLAG_FIN:
        truth.fin_repeats_sent += repeated
    else:
        truth.window_probes_sent += repeated
        truth.pure_acks_sent += not repeated
        truth.pure_acks_lost += packet.lost and not repeated


def _count_arrived(truth: FlowTruth, packets: list[PacketFate], repeats: set[int]) -> None:
    latest = -1
    for packet in sorted((packet for packet in packets if not packet.lost), key=lambda packet: packet.time_out_ns):
        truth.packets_arrived += 1
        if packet.fate == _COPY:
            truth.duplicates_made_all += 1
            truth.duplicates_made += packet.payload_bytes > 0
            truth.duplicate_payload_bytes += packet.payload_bytes
        elif packet.payload_bytes:
            truth.data_segments_arrived += 1
            truth.payload_bytes_arrived += packet.payload_bytes
            truth.retransmissions_arrived += packet.number in repeats
            overtaken = packet.number < latest
            truth.reordered_any += overtaken
            truth.reordered_originals += overtaken and packet.number not in repeats
            latest = max(latest, packet.number)
        elif packet.number in repeats:
            truth.syn_repeats_arrived += bool(packet.flags & FLAG_SYN)
            truth.fin_repeats_arrived += bool(packet.flags & FLAG_FIN)


def _unnecessary(sent: list[tuple[PacketFate, int]], repeats: list[tuple[PacketFate, int]]) -> int:
    """Retransmissions all of whose bytes an earlier transmission brought, or was about to bring, intact."""
    intact = [(start, start + packet.payload_bytes, packet.number) for packet, start in sent if _intact(packet)]
    intact.sort()
    return sum(_covered(start, start + packet.payload_bytes, packet.number, intact) for packet, start in repeats)


def _intact(packet: PacketFate) -> bool:
    return not packet.lost and packet.fate != "corrupted"


def _covered(start: int, end: int, before: int, intact: list[tuple[int, int, int]]) -> bool:
    longest = 65_536
    at = start
    for first, last, number in intact[bisect_left(intact, (start - longest, 0, 0)) :]:
        if first > at or at >= end:
            break
        if number < before:
            at = max(at, last)
    return at >= end
