"""Reference RTT samples take only acknowledgements that can be told apart."""

from __future__ import annotations

from tests.lab.packets import fate
from vmtrace.lab.fate_log import FLAG_ACK, PacketFate
from vmtrace.lab.round_trips import clean_samples_s


def ack(number: int, value: int, *, leaves_at_ms: int) -> PacketFate:
    """An acknowledgement on its way back that leaves the path at `leaves_at_ms`."""
    left = leaves_at_ms * 1_000_000
    return PacketFate(
        number, "reverse", "delivered", left - 1, left, left, 40, 0, 2000, 1000, 0, value, FLAG_ACK, 500, 0, 0, 0
    )


def samples_ms(*rows: PacketFate) -> list[float]:
    return [round(sample * 1000, 6) for sample in clean_samples_s(rows, "forward")]


def test_last_segment_of_those_covered_gives_the_sample() -> None:
    assert samples_ms(fate(0, 0), fate(1, 100), ack(0, 200, leaves_at_ms=21)) == [20.0]


def test_each_advancing_acknowledgement_gives_one_and_a_repeated_one_none() -> None:
    rows = (fate(0, 0), fate(1, 100), ack(0, 100, leaves_at_ms=20), ack(1, 100, leaves_at_ms=21))
    assert samples_ms(*rows, ack(2, 200, leaves_at_ms=31)) == [20.0, 30.0]


def test_retransmitted_segment_and_those_behind_its_hole_give_none() -> None:
    rows = (fate(0, 0, arrives_ms=None), fate(1, 100), fate(2, 200), fate(30, 0))
    assert samples_ms(*rows, ack(0, 300, leaves_at_ms=50), fate(60, 300), ack(1, 400, leaves_at_ms=80)) == [20.0]


def test_sequence_numbers_may_wrap() -> None:
    rows = (fate(0, 2**32 - 100), fate(1, 0), ack(0, 0, leaves_at_ms=20), ack(1, 100, leaves_at_ms=22))
    assert samples_ms(*rows) == [20.0, 21.0]
