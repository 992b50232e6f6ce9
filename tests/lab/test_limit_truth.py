"""What limited a transfer follows from what the kernel and the emulator saw of it."""

from __future__ import annotations

import itertools

from vmtrace.lab.accuracy.gap_truth import Event, Truth
from vmtrace.lab.accuracy.limit_truth import Known, Witnesses, bucket_seen_behind_it, known, share
from vmtrace.lab.fate_log import FLAG_ACK, FLAG_SYN, PacketFate
from vmtrace.lab.impairments import Impairments, TokenBucket

MS = 1_000_000
SEGMENT_BYTES, IP_BYTES = 1448, 1500


def packet(time_ms: float, seq: int, fate: str = "delivered", *, flags: int = FLAG_ACK) -> PacketFate:
    time_ns, payload = round(time_ms * MS), 0 if flags & FLAG_SYN else SEGMENT_BYTES
    out_ns = 0 if fate.startswith("lost") else time_ns + 10 * MS
    return PacketFate(0, "forward", fate, time_ns, out_ns, out_ns, IP_BYTES, 0, 1, 2, seq, 0, flags, 0, payload, 0, 0)


def answer(time_ms: float, ack: int) -> PacketFate:
    at_ns = round(time_ms * MS)
    return PacketFate(0, "reverse", "delivered", at_ns, at_ns, at_ns, 52, 0, 2, 1, 0, ack, FLAG_ACK, 0, 0, 0, 0)


def sample(time_ms: int, **fields: int) -> dict[str, int]:
    plain = {
        "time_ns": time_ms * MS,
        "ca_state": 0,
        "busy_time_us": time_ms * 1000,
        "rwnd_limited_us": 0,
        "sndbuf_limited_us": 0,
        "notsent_bytes": 100_000,
        "unacked_segments": 10,
        "snd_cwnd_segments": 10,
        "snd_ssthresh_segments": 5,
    }
    return plain | fields


def steady(every_ms: float, until_ms: int = 1000) -> tuple[list[PacketFate], list[PacketFate]]:
    """A segment now and then, each answered when the next is due."""
    count = int(until_ms / every_ms)
    sent = [packet(number * every_ms, number * SEGMENT_BYTES) for number in range(count)]
    return sent, [answer(number * every_ms, number * SEGMENT_BYTES) for number in range(1, count)]


def most(found: list[Known]) -> tuple[str, ...]:
    """What was right for most of the time."""
    time_ns: dict[tuple[str, ...], int] = {}
    for one in found:
        time_ns[one.factors] = time_ns.get(one.factors, 0) + one.end_ns - one.start_ns
    return max(time_ns, key=lambda factors: time_ns[factors])


def told(path: Impairments | None = None, *, every_ms: float = 2.0, bulk: bool = True, **growing: float) -> list[Known]:
    """With `name=share` a counter grows by that share of the time; any other name is a field's value."""
    data, answers = steady(every_ms)
    samples = []
    for time_ms in range(0, 1001, 10):
        fields = {
            name: round(value * time_ms * 1000) if name.endswith("_us") else int(value)
            for name, value in growing.items()
        }
        samples.append(sample(time_ms, **fields))
    return known(Witnesses(samples, data, answers, path or Impairments(), 0.02, always_more_to_send=bulk))


def test_the_kernels_counters_tell_what_the_sender_waited_for() -> None:
    assert most(told(rwnd_limited_us=0.9)) == ("receiver_window",)
    assert most(told(sndbuf_limited_us=0.9)) == ("send_buffer",)
    assert most(told(ca_state=3)) == ("loss_recovery",)
    assert most(told(snd_ssthresh_segments=0)) == ("slow_start",)
    assert most(told()) == ("congestion_window",)


def test_nothing_to_send_is_the_application_unless_it_never_stops_writing() -> None:
    assert most(told(busy_time_us=0.2, bulk=False)) == ("application",)
    assert most(told(notsent_bytes=0, unacked_segments=3, bulk=False)) == ("application",)
    assert most(told(notsent_bytes=0, unacked_segments=3)) == ("send_buffer",)


def test_a_path_that_is_always_busy_is_the_limit_and_beside_a_full_window_it_is_one_too() -> None:
    busy = Impairments(rate_bps=IP_BYTES * 8 / 0.002)
    assert most(told(busy)) == ("bottleneck_bandwidth",)
    assert most(told(Impairments(rate_bps=10 * IP_BYTES * 8 / 0.002))) == ("congestion_window",)
    assert most(told(busy, rwnd_limited_us=0.9)) == ("receiver_window", "bottleneck_bandwidth")


def test_an_empty_bucket_is_behind_the_losses_it_makes() -> None:
    bucket = TokenBucket(IP_BYTES * 8 / 0.002, 30_000, 100_000)
    found = told(Impairments(token_bucket=bucket), every_ms=1.0)
    assert most(found) == ("token_bucket",)
    assert most(told(Impairments(token_bucket=bucket), every_ms=1.0, ca_state=3)) == ("token_bucket", "loss_recovery")


def test_a_stall_and_a_wait_for_a_timer_are_cut_out_of_the_samples() -> None:
    data = [packet(number, number * SEGMENT_BYTES) for number in range(20)]
    data += [packet(320, 0), *(packet(321 + number, (20 + number) * SEGMENT_BYTES) for number in range(20))]
    stall = Event(5 * MS, 9 * MS, Truth.SENDER_HOST)
    samples = [sample(time_ms) for time_ms in range(0, 341, 10)]
    found = known(Witnesses(samples, data, [answer(3, 0)], Impairments(), 0.02, (stall,)))
    assert Known(5 * MS, 9 * MS, ("host_stall",)) in found
    waits = [one for one in found if "timeout_wait" in one.factors]
    assert (min(one.start_ns for one in waits), max(one.end_ns for one in waits)) == (19 * MS, 320 * MS)
    ordered = sorted(found, key=lambda one: one.start_ns)
    assert all(one.end_ns == other.start_ns for one, other in itertools.pairwise(ordered))


def test_the_time_before_the_first_data_is_setup() -> None:
    data, answers = steady(2.0)
    opening = packet(-40, 0, flags=FLAG_SYN)
    found = known(Witnesses([sample(0), sample(500)], [opening, *data], answers, Impairments(), 0.02))
    assert found[0] == Known(-40 * MS, 0, ("setup",))


def test_what_is_dropped_behind_a_full_bucket_has_taken_its_tokens() -> None:
    # A segment each millisecond is 12 Mbit/s: at 8 Mbit/s each takes 500 bytes of the burst: 200 segments.
    bucket = TokenBucket(8e6, 100_000, 300_000)
    fates = {100: "lost_queue", 110: "lost_queue", 120: "lost_random", 400: "lost_queue"}
    data = [packet(number, number * SEGMENT_BYTES, fates.get(number, "delivered")) for number in range(500)]
    seen = bucket_seen_behind_it(Witnesses([], data, [], Impairments(token_bucket=bucket), 0.02))
    assert seen == TokenBucket(8e6, 100_000 - 2 * IP_BYTES, 300_000)
    assert bucket_seen_behind_it(Witnesses([], data, [], Impairments(), 0.02)) is None


def test_a_share_of_the_time_is_that_of_the_intervals_in_which_a_factor_is_right() -> None:
    intervals = [Known(0, 30, ("send_buffer",)), Known(30, 70, ("send_buffer", "bottleneck_bandwidth"))]
    intervals.append(Known(70, 100, ("congestion_window",)))
    assert share(intervals, ("send_buffer",)) == 0.7
    assert share(intervals, ("token_bucket", "congestion_window")) == 0.3
    assert share([], ("send_buffer",)) == 0
