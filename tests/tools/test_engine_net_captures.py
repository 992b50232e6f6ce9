"""The captures that are made are the same bytes each time, and show what their names say."""

import io
from collections.abc import Iterator

import dpkt
import pytest

from tools.engine_net_captures import ACK, FIN, RECIPES, RST, SYN, capture


def segments(name: str) -> Iterator[tuple[float, dpkt.ip.IP]]:
    """Time and IP packet of each frame."""
    for time_s, frame in dpkt.pcap.Reader(io.BytesIO(capture(RECIPES[name]))):
        yield time_s, dpkt.ethernet.Ethernet(frame).data


def from_server(name: str) -> list[tuple[int, int]]:
    """Sequence number and payload bytes of the server's data."""
    found = [(ip.data.seq, ip.len - 20 - ip.data.off * 4) for _, ip in segments(name) if ip.data.sport == 443]
    return [(sequence, length) for sequence, length in found if length > 0]


def test_a_recipe_gives_the_same_bytes_each_time() -> None:
    assert all(capture(recipe) == capture(recipe) for recipe in RECIPES.values())
    assert len({capture(recipe) for recipe in RECIPES.values()}) == len(RECIPES)


@pytest.mark.parametrize("name", RECIPES)
def test_frames_are_in_time_order_and_are_tcp(name: str) -> None:
    times = [time_s for time_s, ip in segments(name) if isinstance(ip.data, dpkt.tcp.TCP)]
    assert len(times) > 60
    assert times == sorted(times)


@pytest.mark.parametrize("name", ["lost-at-sender", "lost-without-sack", "dsack", "wraps", "offload", "acks-lost"])
def test_data_is_retransmitted(name: str) -> None:
    data = [sequence for sequence, _ in from_server(name)]
    assert len(set(data)) < len(data)


def test_sack_is_reported_where_both_use_it() -> None:
    def reports(name: str) -> int:
        options = (dpkt.tcp.parse_opts(ip.data.opts) for _, ip in segments(name))
        return sum(any(kind == dpkt.tcp.TCP_OPT_SACK for kind, _ in found) for found in options)

    assert reports("lost-at-sender") > 3
    assert reports("lost-without-sack") == 0


def test_offload_gives_frames_of_many_segments() -> None:
    assert max(length for _, length in from_server("offload")) == 12 * RECIPES["offload"].mss
    assert max(length for _, length in from_server("plain")) == RECIPES["plain"].mss


def test_sequence_numbers_wrap() -> None:
    numbers = [ip.data.seq for _, ip in segments("wraps") if ip.data.dport == 443 or ip.data.sport == 443]
    assert max(numbers) > 0xFFFF0000
    assert min(numbers) < 0x10000 or min(numbers) < max(numbers) - 2**31


def test_flags_open_close_and_reset() -> None:
    def count(name: str, flags: int) -> int:
        return sum(ip.data.flags & (SYN | FIN | RST | ACK) == flags for _, ip in segments(name))

    assert (count("plain", SYN), count("plain", FIN | ACK)) == (1, 2)
    assert (count("reset", RST | ACK), count("left-open", FIN | ACK)) == (1, 0)
    assert count("ports-used-again", SYN) == 4
    assert len({ip.data.sport for _, ip in segments("ports-used-again")}) == 2
    assert count("from-mid-stream", SYN) == 0


def test_frames_are_captured_twice() -> None:
    frames = [bytes(ip) for _, ip in segments("captured-twice")]
    assert len(set(frames)) < 0.85 * len(frames)


def test_the_window_closes_and_is_probed() -> None:
    assert any(ip.data.win == 0 for _, ip in segments("zero-window"))
