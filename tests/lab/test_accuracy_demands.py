"""The judge asks for no more than a capture can tell: repeats that look new at the receiver, on histories by hand."""

from dataclasses import replace

from lab.accuracy.demands import confused, hidden_tails
from lab.fate_log import PacketFate
from tests.lab.packets import fate


def ipv6(*packets: PacketFate) -> list[PacketFate]:
    return [replace(packet, ip_id=0) for packet in packets]


def test_a_lost_last_segment_whose_repeat_arrives_first_is_hidden() -> None:
    assert hidden_tails(ipv6(fate(0, 0), fate(1, 100, arrives_ms=None), fate(300, 100))) == 1


def test_with_identifications_it_is_not() -> None:
    assert hidden_tails([fate(0, 0), fate(1, 100, arrives_ms=None), fate(300, 100)]) == 0


def test_a_repeat_below_what_had_arrived_fills_a_hole_that_shows() -> None:
    assert hidden_tails(ipv6(fate(0, 0, arrives_ms=None), fate(1, 100), fate(300, 0))) == 0


def test_a_repeat_of_what_had_arrived_shows() -> None:
    assert hidden_tails(ipv6(fate(0, 0), fate(300, 0))) == 0


def test_a_repeat_that_is_lost_too_is_not_asked_for() -> None:
    assert hidden_tails(ipv6(fate(0, 0, arrives_ms=None), fate(300, 0, arrives_ms=None))) == 0


def test_the_order_of_sequence_numbers_holds_across_their_wrap() -> None:
    assert hidden_tails(ipv6(fate(0, 2**32 - 50, arrives_ms=None), fate(1, 50), fate(300, 2**32 - 50))) == 0


def test_causes_that_both_have_agree_and_what_one_has_too_many_the_other_lacks() -> None:
    found = confused({"fast": 10, "timeout": 2, "probe": 1}, {"fast": 8, "timeout": 3, "probe": 1})
    assert {pair: count for pair, count in found.items() if count} == {
        ("fast", "fast"): 8,
        ("timeout", "timeout"): 2,
        ("probe", "probe"): 1,
        ("fast", "timeout"): 1,
        ("fast", "none"): 1,
    }
