"""The path's decisions: seeded, independent of each other, and true to their settings."""

from __future__ import annotations

from itertools import pairwise

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6

from vmtrace.lab.impairments import (
    BurstLoss,
    CoDel,
    Decision,
    DirectionState,
    Fate,
    Hold,
    Impairments,
    Spikes,
    TokenBucket,
    corrupted,
    marked,
)

MS = 1_000_000
SECOND = 1_000_000_000


def decide(
    settings: Impairments, count: int, *, seed: str = "7", spacing_ns: int = MS, length: int = 1500
) -> list[Decision]:
    state = DirectionState(settings, seed)
    return [state.admit(number * spacing_ns, length) for number in range(count)]


def lost_numbers(decisions: list[Decision]) -> list[int]:
    return [number for number, decision in enumerate(decisions) if decision.fate.lost]


def test_same_seed_makes_same_decisions() -> None:
    settings = Impairments(loss=0.1, jitter_s=0.01, reorder=0.1, reorder_delay_s=0.01, duplicate=0.1, corrupt=0.1)
    assert decide(settings, 2000) == decide(settings, 2000)
    assert decide(settings, 2000) != decide(settings, 2000, seed="8")


def test_timing_and_length_of_packets_do_not_change_who_is_lost() -> None:
    settings = Impairments(loss=0.05, burst_loss=BurstLoss(0.01, 0.3))
    assert lost_numbers(decide(settings, 2000)) == lost_numbers(decide(settings, 2000, spacing_ns=17, length=60))


def test_another_impairment_does_not_reroll_the_losses() -> None:
    alone = decide(Impairments(loss=0.05), 2000)
    among = decide(Impairments(loss=0.05, jitter_s=0.01, duplicate=0.2, reorder=0.1, reorder_delay_s=0.1), 2000)
    assert lost_numbers(alone) == lost_numbers(among)


def test_copies_leave_with_their_packet_or_up_to_the_longest_delay_later() -> None:
    at_once = decide(Impairments(delay_s=0.02, duplicate=0.2), 2000)
    late = decide(Impairments(delay_s=0.02, duplicate=0.2, duplicate_delay_s=0.03), 2000)
    copied = [number for number, decision in enumerate(late) if decision.copy_due_ns]
    assert copied == [number for number, decision in enumerate(at_once) if decision.copy_due_ns]
    assert {at_once[number].copy_due_ns - at_once[number].due_ns for number in copied} == {0}
    after_ms = [(late[number].copy_due_ns - late[number].due_ns) / MS for number in copied]
    assert 0 <= min(after_ms) < 1
    assert 29 < max(after_ms) <= 30


def test_random_loss_has_its_share() -> None:
    assert len(lost_numbers(decide(Impairments(loss=0.08), 20_000))) == pytest.approx(1600, rel=0.1)


def test_burst_loss_comes_in_bursts_of_the_model_s_length() -> None:
    numbers = lost_numbers(decide(Impairments(burst_loss=BurstLoss(enter_bad=0.005, leave_bad=0.2)), 100_000))
    bursts = 1 + sum(later - earlier > 1 for earlier, later in pairwise(numbers))
    assert len(numbers) / bursts == pytest.approx(5, rel=0.15)


def test_chosen_packets_are_lost_and_no_others() -> None:
    assert lost_numbers(decide(Impairments(drop_packets=(0, 3, 4)), 10)) == [0, 3, 4]


def test_the_first_packets_can_be_spared() -> None:
    assert lost_numbers(decide(Impairments(loss=1.0, spare_first=3), 5)) == [3, 4]


def test_delay_is_exact_without_a_bottleneck() -> None:
    assert [decision.due_ns for decision in decide(Impairments(delay_s=0.02), 3)] == [20 * MS, 21 * MS, 22 * MS]


def test_bottleneck_spaces_packets_by_their_length() -> None:
    due = [decision.due_ns for decision in decide(Impairments(rate_bps=12e6), 4, spacing_ns=0)]
    assert due == [MS, 2 * MS, 3 * MS, 4 * MS]  # 1500 bytes at 12 Mbit/s


def test_full_queue_loses_what_does_not_fit() -> None:
    decisions = decide(Impairments(rate_bps=12e6, queue_bytes=4500), 5, spacing_ns=0)
    assert [decision.fate for decision in decisions[3:]] == [Fate.LOST_QUEUE] * 2
    assert lost_numbers(decisions) == [3, 4]


@pytest.mark.parametrize("marks", [False, True])
def test_codel_drops_or_marks_what_waits_too_long_for_an_interval(marks: bool) -> None:
    settings = Impairments(rate_bps=12e6, codel=CoDel(marks=marks))
    # A packet of a millisecond every 0.9 ms: packets wait 5 ms after 50 of them, and an interval later one is due.
    decisions = decide(settings, 1000, spacing_ns=MS * 9 // 10)
    due = [number for number, one in enumerate(decisions) if one.fate.lost or one.marked]
    assert due[0] == pytest.approx(50 + 111, abs=3)
    assert due[1] - due[0] == pytest.approx(111, abs=2)
    assert due[2] - due[1] == pytest.approx(111 / 2**0.5, abs=2)
    assert all(one.fate.lost != marks for one in (decisions[number] for number in due))


def test_codel_leaves_a_short_queue_alone() -> None:
    decisions = decide(Impairments(rate_bps=12e6, codel=CoDel()), 1000, spacing_ns=MS * 11 // 10)
    assert not lost_numbers(decisions)


def test_policer_passes_its_burst_then_its_rate() -> None:
    decisions = decide(Impairments(token_bucket=TokenBucket(12e6, 15_000)), 1000, spacing_ns=MS // 2)
    assert not lost_numbers(decisions[:15])
    passed = 1000 - len(lost_numbers(decisions))
    assert passed == pytest.approx(10 + 500, abs=2)  # the burst, and half of what came at twice the rate


def test_shaper_delays_instead_and_keeps_order() -> None:
    decisions = decide(Impairments(token_bucket=TokenBucket(12e6, 15_000, 1_000_000)), 500, spacing_ns=MS // 2)
    due = [decision.due_ns for decision in decisions]
    assert not lost_numbers(decisions)
    assert due == sorted(due)
    assert due[-1] == pytest.approx((500 - 10) * MS, abs=2 * MS)


def test_jitter_keeps_order_when_asked() -> None:
    kept = [decision.due_ns for decision in decide(Impairments(delay_s=0.01, jitter_s=0.02), 500)]
    free = [d.due_ns for d in decide(Impairments(delay_s=0.01, jitter_s=0.02, jitter_keeps_order=False), 500)]
    assert kept == sorted(kept)
    assert free != sorted(free)


def test_held_back_packets_are_late_by_the_set_time_and_do_not_hold_others() -> None:
    decisions = decide(Impairments(delay_s=0.01, reorder=0.1, reorder_delay_s=0.005), 1000)
    for number, decision in enumerate(decisions):
        late = 5 * MS if decision.fate is Fate.HELD_BACK else 0
        assert decision.due_ns == number * MS + 10 * MS + late
    assert sum(decision.fate is Fate.HELD_BACK for decision in decisions) == pytest.approx(100, rel=0.3)


def test_hold_releases_at_its_end_in_order() -> None:
    decisions = decide(Impairments(rate_bps=120e6, holds=(Hold(0.1, 0.05),)), 300)
    due = [decision.due_ns for decision in decisions]
    assert due == sorted(due)
    assert not any(102 * MS < at < 150 * MS for at in due)


def test_blackout_loses_everything_inside_it() -> None:
    assert lost_numbers(decide(Impairments(holds=(Hold(0.1, 0.05, drop=True),)), 300)) == list(range(100, 150))


def test_corruption_flips_one_bit_behind_the_headers() -> None:
    packet = bytes([0x45]) + bytes(1499)
    for dice in (0.0, 0.3, 0.999999):
        damaged = corrupted(packet, dice)
        changed = [at for at, (a, b) in enumerate(zip(packet, damaged, strict=True)) if a != b]
        assert len(changed) == 1
        assert changed[0] >= 72
        assert (packet[changed[0]] ^ damaged[changed[0]]).bit_count() == 1


def test_corruption_of_a_packet_without_payload_stays_inside_it() -> None:
    assert len(corrupted(bytes([0x45]) + bytes(39), 0.5)) == 40


def test_bad_shares_of_time_do_not_pass_packets_before_they_came() -> None:
    settings = Impairments(rate_bps=1e6, queue_bytes=10_000, token_bucket=TokenBucket(1e6, 3000, 5000), jitter_s=0.001)
    for number, decision in enumerate(decide(settings, 500, spacing_ns=SECOND // 1000)):
        assert decision.fate.lost or decision.due_ns >= number * SECOND // 1000


def test_spikes_are_rare_long_and_touch_no_other_dice() -> None:
    def due_after_ns(spikes: Spikes | None) -> tuple[list[int], list[Fate]]:
        settings = Impairments(delay_s=0.01, loss=0.1, jitter_s=0.001, jitter_keeps_order=False, spikes=spikes)
        state = DirectionState(settings, "7")
        decisions = [state.admit(1_000_000 * number, 1500) for number in range(5000)]
        delays = [each.due_ns - 1_000_000 * number for number, each in enumerate(decisions) if each.due_ns]
        return delays, [each.fate for each in decisions]

    plain, plain_fates = due_after_ns(None)
    spiked, spiked_fates = due_after_ns(Spikes(share=0.01, longest_s=0.2))
    assert spiked_fates == plain_fates
    longer = [after - before for before, after in zip(plain, spiked, strict=True) if after != before]
    assert 20 < len(longer) < 80
    assert max(longer) < 200_000_000
    assert sum(longer) / len(longer) > 60_000_000


def ip_packet(ip_version: int, ecn: int) -> IP | IPv6:
    if ip_version == 4:
        return IP(src="192.0.2.1", dst="192.0.2.2", tos=ecn | 0x48, id=7) / TCP(sport=1, dport=2)
    return IPv6(src="fd00::1", dst="fd00::2", tc=ecn | 0x48) / TCP(sport=1, dport=2)


@pytest.mark.parametrize("ip_version", [4, 6])
@pytest.mark.parametrize("ecn", [1, 2, 3])
def test_a_mark_changes_nothing_but_the_mark(ip_version: int, ecn: int) -> None:
    expected = ip_packet(ip_version, 3)
    assert marked(bytes(ip_packet(ip_version, ecn))) == bytes(expected)


@pytest.mark.parametrize("ip_version", [4, 6])
def test_packets_of_senders_that_do_not_use_marks_stay_as_they_are(ip_version: int) -> None:
    packet = bytes(ip_packet(ip_version, 0))
    assert marked(packet) == packet


def test_so_many_packets_are_marked() -> None:
    decisions = decide(Impairments(mark=0.1, spare_first=20), 2000)
    numbers = [number for number, decision in enumerate(decisions) if decision.marked]
    assert 150 < len(numbers) < 250
    assert min(numbers) >= 20
