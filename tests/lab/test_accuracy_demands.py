"""The judge asks for no more than a capture can tell: repeats that look new at the receiver, on histories by hand."""

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest

from tests.lab.packets import fate
from vmtrace.lab.accuracy.demands import HandshakeTruth, Judged, confused, handshakes, hidden_tails, round_trips
from vmtrace.lab.fate_log import PacketFate
from vmtrace.lab.transfer import PORT

CLIENT = 40_000


def ipv6(*packets: PacketFate) -> list[PacketFate]:
    return [replace(packet, ip_id=0) for packet in packets]


def test_a_lost_last_segment_whose_repeat_arrives_first_is_hidden() -> None:
    assert hidden_tails(ipv6(fate(0, 0), fate(1, 100, arrives_ms=None), fate(300, 100))) == 1


def test_with_identifications_it_is_not() -> None:
    assert hidden_tails([fate(0, 0), fate(1, 100, arrives_ms=None), fate(300, 100)]) == 0


def test_with_an_opening_that_was_repeated_identifications_do_not_show_it() -> None:
    syns = [fate(at_ms, 0, 0, flags=flags) for at_ms, flags in ((0, 2), (1000, 2), (1010, 18))]
    tail = [fate(1020, 1), fate(1021, 101, arrives_ms=None), fate(1300, 101)]
    assert hidden_tails([*syns, *tail]) == 1
    assert hidden_tails([*syns[1:], *tail]) == 0


def test_while_a_hole_is_open_below_identifications_do_not_show_it() -> None:
    hole, tail = fate(0, 0, arrives_ms=None), [fate(1, 100), fate(2, 200, arrives_ms=None), fate(300, 200)]
    assert hidden_tails([hole, *tail]) == 1
    assert hidden_tails([replace(hole, fate="delivered", time_out_ns=1), *tail]) == 0


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


def opening(acknowledged_ms: int, waited_ns: int = 0) -> list[PacketFate]:
    """SYN at 0, SYN-ACK out of the path at 22 ms, its acknowledgement read when told; 10 ms of path each way."""
    return [
        replace(fate(0, 0, 0, flags=2), waited_ns=waited_ns, source_port=CLIENT, destination_port=PORT),
        replace(fate(12, 0, 0, flags=18), direction="backward", source_port=PORT, destination_port=CLIENT),
        replace(fate(acknowledged_ms, 1, 0), source_port=CLIENT, destination_port=PORT),
    ]


def test_a_handshake_beside_the_client_ends_between_the_answer_and_the_reading_of_its_acknowledgement() -> None:
    assert handshakes(opening(acknowledged_ms=23)) == {
        "sender": HandshakeTruth(0.022, 0.023),
        "receiver": HandshakeTruth(0.021, 0.023),
    }


def test_a_handshake_may_have_begun_as_long_before_as_the_syn_can_have_waited() -> None:
    assert handshakes(opening(23, waited_ns=500_000))["sender"] == HandshakeTruth(0.022, 0.0235)


def test_a_handshake_with_a_lost_opening_is_not_judged() -> None:
    lost = [
        replace(packet, fate="lost_random", time_out_ns=0) if packet.flags & 2 else packet for packet in opening(23)
    ]
    assert handshakes(lost) == {}


@pytest.mark.parametrize(("measured_s", "error_s"), [(0.020, -0.002), (0.022, 0), (0.0225, 0), (0.025, 0.002)])
def test_within_what_is_known_a_handshake_has_no_error(measured_s: float, error_s: float) -> None:
    assert HandshakeTruth(0.022, 0.023).error_s(measured_s) == pytest.approx(error_s)


@pytest.mark.parametrize(
    ("mean_s", "at_sender_s", "right"),
    [
        (0.0202, 0.0, True),
        (0.0203, 0.0, False),
        (0.0203, 0.0003, True),
        (0.0206, 0.0003, False),
        (0.0197, 0.0003, False),
        (None, 0.0003, False),
        (0.0202, None, True),
    ],
)
def test_a_round_trip_may_hold_what_the_sender_s_host_took(
    mean_s: float | None, at_sender_s: float | None, *, right: bool
) -> None:
    sender = SimpleNamespace(rtt_mean_s=mean_s, rtt_min_s=0.02)
    known = {"clean_samples": {"forward": {"mean_s": 0.02, "min_s": 0.02}}}
    run = SimpleNamespace(truth={"rtt": known, "timing": {"at_sender_s": at_sender_s}}, sender=sender)
    assert (list(round_trips(cast("Judged", run))) == []) == right
