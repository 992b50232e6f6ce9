"""Packets come as their headers say, and superpackets are cut into what was on the wire."""

from dataclasses import replace

import numpy as np

from tests.analyze.two_ends import Path, pcap, transfer
from vmtrace.analyze.compare.packets import ABSENT, FIN, NOTHING_ACKNOWLEDGED, SYN, Packets, read_packets
from vmtrace.analyze.compare.segments import cut, segment_sizes
from vmtrace.analyze.trace import read


def packets_of(path: Path | None = None) -> Packets:
    return read_packets(read(pcap(transfer(path or Path(), segments=3).sender)))


def test_packets_have_the_fields_of_their_headers() -> None:
    packets = packets_of(Path(lost=frozenset({1})))
    forward = packets.select(packets.from_client)
    assert len(packets) == 10
    assert forward.start.tolist() == [-1, 0, 0, 1000, 2000, 1000]
    assert forward.taken.tolist() == [1, 0, 1000, 1000, 1000, 1000]
    assert forward.control.tolist() == [SYN, 0, 0, 0, 0, 0]
    assert forward.raw_sequence.tolist() == [4_294_960_000 + more for more in (0, 1, 1, 1001, 2001, 1001)]
    assert forward.identification.tolist() == [1, 2, 3, 4, 5, 6]
    assert forward.acknowledgement.tolist() == [NOTHING_ACKNOWLEDGED, 0, 0, 0, 0, 0]
    assert set(forward.first_raw().tolist()) == {4_294_960_001}
    assert forward.tsval.tolist() == [1_040_000 + more for more in (0, 40, 50, 51, 52, 251)]
    assert forward.tsecr.tolist() == [ABSENT] + [500_040_000 - 30 + more for more in (40, 50, 51, 52, 251)]


def test_a_superpacket_is_cut_into_segments_with_rising_identification_and_its_fin_last() -> None:
    changes = {"connection": 0, "payload_bytes": 2500, "taken": 2501, "control": FIN, "identification": 65_535}
    one = packets_of().select(np.array([3]))
    packets = replace(one, **{name: np.array([value]) for name, value in changes.items()})
    segments = cut(packets, np.array([[1000, 1]]))
    assert list(zip(segments.start.tolist(), segments.end.tolist(), strict=True)) == [
        (0, 1000),
        (1000, 2000),
        (2000, 2501),
    ]
    assert segments.payload_bytes.tolist() == [1000, 1000, 500]
    assert segments.identification.tolist() == [65_535, 0, 1]
    assert segments.control.tolist() == [0, 0, FIN]


def test_the_size_of_segments_is_what_most_have_or_what_was_offered() -> None:
    seen = packets_of()
    packets = replace(seen, connection=np.zeros(len(seen), np.int64))
    offered = np.array([[[1012, 0]], [[1012, 0]]])
    assert segment_sizes(packets, packets, offered)[0, 0] == 1000
    large = replace(packets, payload_bytes=np.where(packets.payload_bytes > 0, 5060, 0))
    assert segment_sizes(large, large, offered)[0, 0] == 1012
