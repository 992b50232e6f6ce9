"""Two captures of one transfer against what is known of it: loss, delay, clock, through NAT and bad captures."""

import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path as FilePath

import numpy as np
import pytest

from tests.analyze.two_ends import Path, TwoEnds, pcap, transfer
from vmtrace.analyze.compare.comparison import Comparison, DirectionResult, NothingInCommonError, compare
from vmtrace.analyze.trace import read
from vmtrace.lab.edit.capture import Capture, Frame, parse_capture, pcap_bytes
from vmtrace.lab.edit.clock import StepClock
from vmtrace.lab.edit.editor import Fault, edit
from vmtrace.lab.edit.frames_chosen import data
from vmtrace.lab.edit.header_fields import FixIdentification, NoTimestamps, RandomIdentification, WrapSequence
from vmtrace.lab.edit.missing import CutFrames, DropBursts, DropFrames
from vmtrace.lab.edit.segment import segment_of
from vmtrace.lab.edit.truth import ClockStep

SAMPLES = FilePath(__file__).parents[2] / "samples"

LOSSY = Path(
    lost=frozenset((3, 20, 21, 300)),
    lost_acks=frozenset((5, 100, 399)),
    copied=frozenset((50, 51)),
    jitter_s=lambda number: (number * 7919 % 97) * 1e-6,
)
Change = Callable[[Capture], Capture]


def captures(made: TwoEnds) -> tuple[Capture, Capture]:
    return parse_capture(pcap(made.sender)), parse_capture(pcap(made.receiver))


def compared(sender: Capture, receiver: Capture) -> Comparison:
    return compare(read(pcap_bytes(sender)), read(pcap_bytes(receiver)))


def counts(part: DirectionResult) -> tuple[int, int, int, int, int]:
    return (
        part.sent_segments,
        part.lost_in_network,
        part.not_captured_by_sender,
        part.not_captured_by_receiver,
        part.undecided_segments,
    )


def faulty(*faults: Fault) -> Change:
    return lambda capture: edit(capture, *faults).capture


def rewritten(change: Callable[[bytearray, int, int], None]) -> Change:
    def apply(capture: Capture) -> Capture:
        frames = []
        for frame in capture.frames:
            segment, content = segment_of(frame, capture.link_type), bytearray(frame.content)
            if segment is not None:
                change(content, segment.ip_at, segment.tcp_at)
            frames.append(replace(frame, content=bytes(content)))
        return capture.with_frames(frames)

    return apply


def _translate(content: bytearray, ip_at: int, tcp_at: int) -> None:
    """10.0.0.1:40000 becomes 203.0.113.9:1024, which is the lower port."""
    for address_at, port_at in ((ip_at + 12, tcp_at), (ip_at + 16, tcp_at + 2)):
        if content[address_at : address_at + 4] == bytes((10, 0, 0, 1)):
            content[address_at : address_at + 4] = bytes((203, 0, 113, 9))
            struct.pack_into("!H", content, port_at, 1024)


NAT = rewritten(_translate)


def without_opening(capture: Capture) -> Capture:
    return capture.with_frames(capture.frames[3:])


@pytest.mark.parametrize(
    "change",
    [
        lambda capture: capture,
        NAT,
        lambda capture: without_opening(NAT(capture)),
        faulty(RandomIdentification()),
        faulty(FixIdentification()),
        lambda capture: faulty(WrapSequence(5000))(NAT(capture)),
        faulty(CutFrames(68)),
        faulty(CutFrames(64)),
        lambda capture: faulty(CutFrames(54))(NAT(capture)),
    ],
    ids=[
        "plain",
        "nat",
        "nat, opening not seen",
        "renumbered",
        "no identification",
        "sequences rewritten",
        "cut",
        "timestamps cut",
        "nat, options cut",
    ],
)
def test_loss_is_exact_whatever_is_rewritten_on_the_way(change: Change) -> None:
    made = transfer(LOSSY)
    sender, receiver = captures(made)
    done = compared(sender, change(receiver))
    unseen = (2, 1) if len(change(receiver).frames) < len(receiver.frames) else (0, 0)
    assert [part.sent_segments for part in done.total] == [made.sent[True] - unseen[0], made.sent[False] - unseen[1]]
    assert [part.lost_in_network for part in done.total] == [4, 3]
    assert [part.not_captured for part in done.total] == [0, 0]
    assert done.total[0].lost_data_bytes == 4000
    assert done.total[0].network_duplicates == 2
    assert done.connections[0].client_at == "sender"


def test_the_senders_capture_may_be_the_shorter_one() -> None:
    made = transfer(LOSSY)
    sender, receiver = captures(made)
    done = compared(faulty(CutFrames(64))(sender), receiver)
    assert [part.lost_in_network for part in done.total] == [4, 3]
    assert done.clock.offset_s == pytest.approx(0, abs=1e-4)


def test_without_timestamps_and_identification_order_tells_transmissions_apart() -> None:
    made = transfer(LOSSY)
    ends = [faulty(NoTimestamps(), FixIdentification())(end) for end in captures(made)]
    done = compared(*ends)
    assert [part.lost_in_network for part in done.total] == [4, 3]
    assert [part.not_captured for part in done.total] == [0, 0]


def test_delays_are_those_of_the_path() -> None:
    made = transfer(replace(LOSSY, delay_s=0.0312, delay_back_s=0.0312))
    for part, truth in zip(compared(*captures(made)).total, (made.delays_s[True], made.delays_s[False]), strict=True):
        delay = part.one_way_delay
        expected = [min(truth), float(np.mean(truth)), float(np.median(truth)), max(truth)]
        assert [delay.min_s, delay.mean_s, delay.median_s, delay.max_s] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("offset_s", [0.0, 3600.5, -7.25])
def test_the_offset_is_within_its_error_and_the_rest_is_as_without_it(offset_s: float) -> None:
    sender, receiver = captures(transfer(replace(LOSSY, delay_s=0.03, delay_back_s=0.01)))
    shifted = receiver.with_frames(
        [replace(frame, time_ns=frame.time_ns + round(offset_s * 1e9)) for frame in receiver.frames]
    )
    done = compared(sender, shifted)
    assert done.clock.offset_s is not None
    assert done.clock.offset_error_s == pytest.approx(0.02, abs=1e-4)
    assert done.clock.offset_s == pytest.approx(offset_s, abs=0.0202)
    assert [counts(part) for part in done.total] == [counts(part) for part in compared(sender, receiver).total]
    arrived_s = done.total[0].arrived_time_s
    assert 0 < arrived_s.min() < arrived_s.max() < 1, "figures have one time axis"


@pytest.mark.parametrize("whose", ["sender", "receiver"])
@pytest.mark.parametrize("step_s", [0.5, -0.1, 0.01])
def test_a_clock_that_was_set_is_found(whose: str, step_s: float) -> None:
    ends = dict(zip(("sender", "receiver"), captures(transfer(LOSSY, segments=2000)), strict=True))
    fault = StepClock((ClockStep(1500, round(step_s * 1e9)),))
    at_ns = ends["sender"].frames[1499].time_ns
    ends[whose] = edit(ends[whose], fault).capture
    done = compared(ends["sender"], ends["receiver"])
    (step,) = done.clock.steps
    assert step.clock == whose
    assert step.step_s == pytest.approx(step_s if whose == "receiver" else -step_s, abs=2e-4)
    assert step.at_ns == pytest.approx(at_ns, abs=6e8)
    assert [part.lost_in_network for part in done.total] == [4, 3]
    assert done.total[0].one_way_delay.max_s == pytest.approx(0.0201, abs=5e-4)
    assert all(gap.length_s < 0.2 for part in done.total for gap in part.gaps), "the step is no pause"


@pytest.mark.parametrize("fault", [DropFrames(0.03, data), DropBursts(3, 10, data)], ids=["single", "bursts"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_data_that_the_receivers_capture_missed_is_not_the_networks_loss(fault: Fault, seed: int) -> None:
    sender, receiver = captures(transfer(replace(LOSSY, copied=frozenset(), lost_acks=frozenset())))
    done = edit(receiver, fault, seed=seed)
    part = compared(sender, done.capture).total[0]
    assert (part.lost_in_network, part.not_captured_by_receiver) == (4, len(done.truth.dropped))
    assert (part.not_captured_by_sender, part.undecided_segments) == (0, 0)


def test_data_that_the_senders_capture_missed_is_counted_as_sent() -> None:
    sender, receiver = captures(transfer(Path()))
    done = edit(sender, DropFrames(0.03, data))
    part = compared(done.capture, receiver).total[0]
    assert counts(part) == (402, 0, len(done.truth.dropped), 0, 0)
    assert len(done.truth.dropped) > 5


def test_acknowledgements_missing_from_a_capture_that_misses_others_may_be_lost_or_not() -> None:
    sender, receiver = captures(transfer(LOSSY))
    done = edit(sender, DropFrames(0.05))
    back = compared(done.capture, receiver).total[1]
    missed = sum(1 for number in done.truth.dropped if sender.frames[number - 1].content[26:30] == bytes((10, 0, 0, 2)))
    assert (back.lost_in_network, back.undecided_segments) == (0, 3 + missed)
    assert back.lost_rate == 0.0


def test_what_passed_before_a_capture_began_or_after_it_ended_is_not_judged() -> None:
    made = transfer(Path())
    sender, receiver = captures(made)
    middle = receiver.with_frames(receiver.frames[200:500])
    done = compared(sender, middle)
    assert [part.lost_in_network for part in done.total] == [0, 0]
    assert sum(part.sent_segments for part in done.total) == done.matched_packets == 300
    assert sum(part.outside_capture for part in done.total) == sum(made.sent.values()) - 300


def test_a_capture_that_is_damaged_is_reported() -> None:
    sender, receiver = captures(transfer(LOSSY))
    torn = pcap_bytes(receiver)[:-500]
    in_the_midst = bytearray(pcap_bytes(sender))
    in_the_midst[10_000:10_300] = b"\xff" * 300
    done = compare(read(bytes(in_the_midst)), read(torn))
    assert [line.split(":")[0] for line in done.warnings] == [
        "the sender's capture is damaged, and packets may be missing",
        "the receiver's capture is damaged, and packets may be missing",
    ]
    assert compared(sender, receiver).warnings == ()


def test_packets_of_one_direction_give_loss_and_no_clock() -> None:
    sender, receiver = captures(transfer(LOSSY))

    def outward(capture: Capture) -> Capture:
        def is_outward(frame: Frame) -> bool:
            return frame.content[26:30] == bytes((10, 0, 0, 1))

        return capture.with_frames(filter(is_outward, capture.frames))

    done = compared(outward(sender), outward(receiver))
    assert done.total[0].lost_in_network == 4
    assert (done.clock.offset_s, done.total[0].one_way_delay.mean_s) == (None, None)
    assert done.clock.why_not == "packets of one direction only: they do not separate delay from offset"


def test_the_order_of_the_captures_only_names_the_ends() -> None:
    sender, receiver = captures(transfer(LOSSY))
    one, other = compared(sender, receiver), compared(receiver, sender)
    assert [counts(part) for part in one.total] == [counts(part) for part in other.total[::-1]]
    assert other.connections[0].client_at == "receiver"
    assert one.clock.offset_s == pytest.approx(-(other.clock.offset_s or 0.0), abs=1e-6)


def test_connections_are_paired_each_with_its_own() -> None:
    made = [transfer(replace(LOSSY, lost=frozenset({number})), 100, port=40_000 + number) for number in range(5)]
    # All of them have the same initial sequence numbers: timestamps tell them apart.
    sender = sorted((record for one in made for record in one.sender), key=lambda record: record[0])
    receiver = sorted((record for one in made[::-1] for record in one.receiver), key=lambda record: record[0])
    done = compare(read(pcap(sender)), read(pcap(receiver)))
    assert len(done.connections) == 5
    assert all(one.sender_client == one.receiver_client for one in done.connections)
    assert [one.sender_to_receiver.lost_in_network for one in done.connections] == [1] * 5
    single = compare(read(pcap(sender)), read(pcap(made[0].receiver)))
    assert len(single.connections) == 1
    assert single.warnings[0].startswith("in one capture only: 4 connections of the sender's, 0 of the receiver's")


@pytest.mark.parametrize("run", ["lossy", "offload"])
def test_recorded_transfers_have_the_loss_that_the_path_made(run: str) -> None:
    import json

    listed = json.loads((SAMPLES / "manifest.json").read_text())["samples"]
    truth = next(one["path"] for one in listed if one["file"] == f"{run}-sender.pcap")
    done = compare(read(SAMPLES / f"{run}-sender.pcap"), read(SAMPLES / f"{run}-receiver.pcap"))
    forward = done.total[0]
    assert forward.sent_data_segments == truth["forward"]["data_segments_sent"]
    assert forward.lost_data_segments == truth["forward"]["data_segments_lost"] > 0
    assert [part.not_captured for part in done.total] == [0, 0]
    assert done.total[1].lost_in_network == 0


def test_captures_of_different_transfers_have_nothing_in_common() -> None:
    lossy, offload = SAMPLES / "lossy-sender.pcap", SAMPLES / "offload-receiver.pcap"
    with pytest.raises(
        NothingInCommonError, match=r"no connection is in both captures \(.*lossy-sender.pcap has 1, .* s apart"
    ):
        compare(read(lossy), read(offload))


def test_a_capture_without_connections_is_named() -> None:
    with pytest.raises(NothingInCommonError, match="<bytes>: no TCP connection in it"):
        compare(read(SAMPLES / "lossy-sender.pcap"), read(pcap([])))
