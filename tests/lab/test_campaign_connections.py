"""The log in connections: whole ones, each as soon as it is over, ports used again kept apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tests.lab.packets import fate
from vmtrace.lab.campaign.connections import connections
from vmtrace.lab.fate_log import FLAG_ACK, FLAG_FIN, FLAG_RST, FLAG_SYN, PacketFate

SECOND_MS = 1000


def packet(at_ms: int, seq: int, flags: int, *, port: int = 1000, reverse: bool = False) -> PacketFate:
    row = replace(fate(at_ms, seq, 0, flags=flags), source_port=port)
    if not reverse:
        return row
    return replace(row, direction="reverse", source_port=2000, destination_port=port)


def whole(at_ms: int, seq: int, port: int = 1000) -> list[PacketFate]:
    return [
        packet(at_ms, seq, FLAG_SYN, port=port),
        packet(at_ms + 1, 1, FLAG_SYN | FLAG_ACK, port=port, reverse=True),
        packet(at_ms + 2, seq + 1, FLAG_ACK | FLAG_FIN, port=port),
        packet(at_ms + 3, 2, FLAG_ACK | FLAG_FIN, port=port, reverse=True),
    ]


def test_both_directions_are_one_connection_by_the_sender_s_port() -> None:
    rows = whole(0, 100)
    (found,) = connections(rows)
    assert (found.sender_port, found.receiver_port) == (1000, 2000)
    assert found.packets == rows
    assert (found.start_ns, found.end_ns) == (0, 13_000_000)
    assert found.closed


def test_ports_used_again_are_two_connections_and_a_repeated_syn_is_not() -> None:
    first = [packet(0, 100, FLAG_SYN), *whole(50, 100)]
    found = list(connections([*first, *whole(9000, 777)]))
    assert [each.packets[0].seq for each in found] == [100, 777]
    assert [len(each.packets) for each in found] == [5, 4]


def test_packets_of_other_protocols_are_left_out() -> None:
    assert list(connections([replace(fate(1, 1), source_port=0)])) == []


def test_an_open_connection_comes_at_the_end_and_a_reset_one_is_over() -> None:
    rows = [packet(0, 1, FLAG_SYN), packet(1, 2, FLAG_ACK)]
    (found,) = connections(rows)
    assert not found.closed
    (reset,) = connections([*rows, packet(2, 1, FLAG_RST, reverse=True)])
    assert reset.closed


def test_what_is_over_is_given_away_while_the_log_goes_on() -> None:
    # A control connection that stays open, and 50 transfers one after the other.
    rows = [packet(0, 1, FLAG_SYN, port=999)]
    for number in range(50):
        begin_ms = 10 * SECOND_MS * number
        rows += whole(begin_ms, 5, port=3000 + number)
        rows += [packet(begin_ms + 10 + step, 1, FLAG_ACK, port=999) for step in range(100)]
    seen = 0

    def log() -> Iterator[PacketFate]:
        nonlocal seen
        for seen, row in enumerate(rows):  # noqa: B007 - how far the log was read
            yield row

    given: list[tuple[int, int]] = [(each.sender_port, seen) for each in connections(log())]
    assert {port for port, _ in given} == {999, *range(3000, 3050)}
    early = [(port, at) for port, at in given if at < len(rows) - 1]
    assert len(early) > 40
    # A transfer is given away within the thousand packets between two looks.
    assert all(at - (port - 3000) * 104 < 1300 for port, at in early)
    assert given[-1][0] in {999, 3049}
