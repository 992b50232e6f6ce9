"""The editor does what its truth says, and nothing else."""

from __future__ import annotations

import struct
from dataclasses import replace
from random import Random

import dpkt
import pytest

from tests.lab.edited import sample
from tests.lab.made_transfers import upload
from vmtrace.lab.edit.capture import Capture, Frame, parse_capture, pcap_bytes
from vmtrace.lab.edit.clock import StepClock
from vmtrace.lab.edit.copies import RepeatFrames
from vmtrace.lab.edit.disorder import SwapNeighbours, Times, data_and_its_ack, two_of_data
from vmtrace.lab.edit.editor import edit
from vmtrace.lab.edit.frames_chosen import data, pure_acks
from vmtrace.lab.edit.header_fields import FixIdentification, NoTimestamps, RandomIdentification, WrapSequence
from vmtrace.lab.edit.missing import CutFrames, DropBursts, DropChosen, DropFrames
from vmtrace.lab.edit.segment import OPTION_TIMESTAMPS, SYN, Segment, sack_blocks, segment_of, segments_of
from vmtrace.lab.edit.truth import ClockStep, Truth

CLEAN = sample("window-limited.pcap")
LOSSY = sample("lossy-sender.pcap")


def numbers(capture: Capture) -> list[int]:
    return [frame.number for frame in capture.frames]


def whole(capture: Capture) -> list[Segment]:
    return [segment for segment in segments_of(capture) if segment is not None]


def test_a_capture_written_and_read_again_is_the_same() -> None:
    assert parse_capture(pcap_bytes(LOSSY)) == LOSSY


def test_a_file_with_half_a_header_is_refused() -> None:
    with pytest.raises(ValueError, match="torn"):
        parse_capture(pcap_bytes(LOSSY)[:10])


@pytest.mark.parametrize("cut_bytes", [1, 60, 90])
def test_a_torn_file_is_refused(cut_bytes: int) -> None:
    with pytest.raises(ValueError, match="torn"):
        parse_capture(pcap_bytes(LOSSY)[:-cut_bytes])


def test_microseconds_are_read_as_such() -> None:
    content = struct.pack("<IHHiIIIIIII", 0xA1B2C3D4, 2, 4, 0, 0, 96, 101, 5, 7, 1, 1) + b"x"
    assert parse_capture(content).frames == (Frame(1, 5_000_007_000, 1, b"x"),)


@pytest.mark.parametrize("capture", [LOSSY, sample("offload-receiver.pcap"), upload(version=6, rounds=2)])
def test_segments_are_those_dpkt_finds(capture: Capture) -> None:
    for frame, segment in zip(capture.frames, whole(capture), strict=True):
        content = frame.content[14:] if capture.link_type == 1 else frame.content
        packet = dpkt.ip.IP(content) if content[0] >> 4 == 4 else dpkt.ip6.IP6(content)
        tcp = packet.data
        assert (segment.seq, segment.ack, segment.flags, segment.window) == (tcp.seq, tcp.ack, tcp.flags, tcp.win)
        assert (segment.source, segment.destination) == ((packet.src, tcp.sport), (packet.dst, tcp.dport))
        length = packet.len - 20 if content[0] >> 4 == 4 else packet.plen
        assert segment.payload_bytes == length - tcp.off * 4
        sack = [value for kind, value in dpkt.tcp.parse_opts(tcp.opts) if kind == dpkt.tcp.TCP_OPT_SACK]
        assert sack_blocks(segment, frame.content) == [
            edge for block in sack for edge in struct.iter_unpack("!II", block)
        ]


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others() -> None:
    faults = (DropFrames(0.05), RepeatFrames(0.1, 0, 4_000_000), SwapNeighbours(0.1, Times.STAY))
    assert edit(CLEAN, *faults, seed=3) == edit(CLEAN, *faults, seed=3)
    assert edit(CLEAN, *faults, seed=3).capture != edit(CLEAN, *faults, seed=4).capture


@pytest.mark.parametrize("fault", [DropFrames(0.1, data), DropBursts(3, 8), DropChosen(frozenset({4, 9}))])
def test_what_was_dropped_is_missing_and_all_else_stands(fault: DropFrames | DropBursts | DropChosen) -> None:
    done = edit(CLEAN, fault)
    assert done.truth.dropped
    assert sorted((*numbers(done.capture), *done.truth.dropped)) == numbers(CLEAN)
    assert set(done.capture.frames) <= set(CLEAN.frames)


def test_a_choice_bounds_what_is_dropped() -> None:
    segments = dict(zip(numbers(CLEAN), whole(CLEAN), strict=True))
    assert all(segments[number].is_data for number in edit(CLEAN, DropFrames(0.3, data)).truth.dropped)
    assert all(segments[number].is_pure_ack for number in edit(CLEAN, DropFrames(0.3, pure_acks)).truth.dropped)
    assert not any(segments[number].flags & SYN for number in edit(CLEAN, DropFrames(0.5)).truth.dropped)


def test_a_burst_is_consecutive() -> None:
    dropped = edit(CLEAN, DropBursts(1, 8)).truth.dropped
    assert dropped == tuple(range(dropped[0], dropped[0] + 8))


def test_copies_stand_behind_their_originals_and_have_lost_their_hops() -> None:
    done = edit(CLEAN, RepeatFrames(0.2, 1_000_000, 3_000_000, hops=1))
    assert sorted((*numbers(CLEAN), *done.truth.duplicated)) == sorted(numbers(done.capture))
    times = [frame.time_ns for frame in done.capture.frames]
    assert times == sorted(times)
    clean = set(CLEAN.frames)
    copies = [frame for frame in done.capture.frames if frame not in clean]
    assert len(copies) == len(done.truth.duplicated)
    for copy in copies:
        original = CLEAN.frames[copy.number - 1]
        assert 1_000_000 <= copy.time_ns - original.time_ns <= 3_000_000
        assert copy.content[8] == original.content[8] - 1
        assert copy.content[:8] + copy.content[9:] == original.content[:8] + original.content[9:]


def test_swapped_frames_keep_their_times_or_leave_them() -> None:
    moved = edit(CLEAN, SwapNeighbours(0.3, Times.MOVE))
    assert sorted(moved.capture.frames, key=lambda frame: frame.number) == list(CLEAN.frames)
    stayed = edit(CLEAN, SwapNeighbours(0.3, Times.STAY))
    assert stayed.truth == moved.truth
    assert [frame.time_ns for frame in stayed.capture.frames] == [frame.time_ns for frame in CLEAN.frames]
    assert numbers(stayed.capture) == numbers(moved.capture) != numbers(CLEAN)
    assert all(second == first + 1 for first, second in moved.truth.swapped)


def test_only_near_neighbours_of_the_kind_asked_for_are_swapped() -> None:
    segments = whole(CLEAN)
    for pairing in (two_of_data, data_and_its_ack):
        done = edit(CLEAN, SwapNeighbours(1.0, Times.MOVE, pairing))
        for first, second in done.truth.swapped:
            assert pairing(segments[first - 1], segments[second - 1])
            assert CLEAN.frames[second - 1].time_ns - CLEAN.frames[first - 1].time_ns < 2_000_000


def test_a_clock_step_moves_all_that_follows() -> None:
    done = edit(CLEAN, StepClock((ClockStep(10, 300), ClockStep(20, -500))))
    ahead = [after.time_ns - before.time_ns for after, before in zip(done.capture.frames, CLEAN.frames, strict=True)]
    assert ahead == [0] * 9 + [300] * 10 + [-200] * (len(ahead) - 19)


def test_a_cut_frame_still_tells_its_length() -> None:
    done = edit(CLEAN, CutFrames(60))
    assert done.capture.snap_length == 60
    assert {len(frame.content) for frame in done.capture.frames} <= set(range(61))
    assert [frame.wire_bytes for frame in done.capture.frames] == [frame.wire_bytes for frame in CLEAN.frames]
    assert len(done.truth.cut) == sum(len(frame.content) > 60 for frame in CLEAN.frames)


def test_shifted_sequence_numbers_wrap_and_keep_every_distance() -> None:
    done = edit(LOSSY, WrapSequence(100_000))
    before, after = whole(LOSSY), whole(done.capture)
    (client_shift,) = {
        (new.seq - old.seq) % 2**32 for old, new in zip(before, after, strict=True) if old.source[1] != 5810
    }
    (server_shift,) = {
        (new.seq - old.seq) % 2**32 for old, new in zip(before, after, strict=True) if old.source[1] == 5810
    }
    assert (before[0].seq + 1 + client_shift + 100_000) % 2**32 == 0
    blocks = 0
    for (old, new), (frame, edited) in zip(
        zip(before, after, strict=True), zip(LOSSY.frames, done.capture.frames, strict=True), strict=True
    ):
        peer_shift = server_shift if old.source[1] != 5810 else client_shift
        if old.flags & 16:
            assert (new.ack - old.ack) % 2**32 == peer_shift
        edges = [tuple((edge + peer_shift) % 2**32 for edge in block) for block in sack_blocks(old, frame.content)]
        assert sack_blocks(new, edited.content) == edges
        blocks += len(edges)
    assert blocks > 100


def test_identifications_are_replaced_and_nothing_else() -> None:
    fixed, random = edit(CLEAN, FixIdentification(7)).capture, edit(CLEAN, RandomIdentification()).capture
    assert {frame.content[4:6] for frame in fixed.frames} == {b"\0\7"}
    assert len({frame.content[4:6] for frame in random.frames}) > 0.9 * len(random.frames)
    for other in (fixed, random):
        for new, old in zip(other.frames, CLEAN.frames, strict=True):
            assert new.content[:4] + new.content[6:] == old.content[:4] + old.content[6:]


def test_timestamps_are_gone_and_the_header_stays_as_long() -> None:
    done = edit(CLEAN, NoTimestamps())
    assert len(done.truth.rewritten) == len(CLEAN.frames)
    for new, old in zip(whole(done.capture), whole(CLEAN), strict=True):
        assert OPTION_TIMESTAMPS not in [kind for kind, _, _ in new.options]
        assert new == replace(old, options=new.options)


def test_truths_add_up_in_the_order_of_the_faults() -> None:
    assert Truth(dropped=(1,)) + Truth(dropped=(3,), cut=(2,)) == Truth(dropped=(1, 3), cut=(2,))


def test_what_is_no_tcp_is_left_alone() -> None:
    other = Capture(101, 96, (Frame(1, 0, 60, bytes(60)), Frame(2, 5, 20, bytes(20))))
    assert segment_of(other.frames[0], 101) is None
    faults = (DropFrames(1.0), RepeatFrames(1.0), SwapNeighbours(1.0, Times.MOVE), WrapSequence(5), NoTimestamps())
    assert edit(other, *faults).capture == other
    assert RandomIdentification().apply(other, Random(1)) == (other, Truth())
