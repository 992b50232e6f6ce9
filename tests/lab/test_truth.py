"""Truth counts what its field comments say, on packet histories written out by hand."""

from __future__ import annotations

from tests.lab.packets import fate
from vmtrace.lab import truth
from vmtrace.lab.fate_log import FLAG_FIN, FLAG_SYN, PacketFate


def flow(*packets: PacketFate) -> truth.FlowTruth:
    (only,) = truth.flows(packets)
    return only


def test_nothing_repeated_is_no_retransmission() -> None:
    seen = flow(fate(0, 0, 0, flags=FLAG_SYN), fate(1, 1), fate(2, 101), fate(3, 201, 0, flags=FLAG_FIN))
    assert (seen.data_segments_sent, seen.retransmissions_sent, seen.syn_repeats_sent, seen.fin_repeats_sent) == (
        2,
        0,
        0,
        0,
    )


def test_repeat_of_a_lost_segment_is_needed_and_of_an_arrived_one_is_not() -> None:
    seen = flow(fate(0, 0, arrives_ms=None), fate(1, 100), fate(2, 0), fate(3, 100))
    assert (seen.retransmissions_sent, seen.retransmissions_arrived, seen.unnecessary_retransmissions) == (2, 2, 1)
    assert seen.unique_payload_bytes == 200
    assert seen.retransmitted_bytes_sent == 200


def test_repeat_is_needed_when_the_first_copy_arrived_corrupted() -> None:
    assert flow(fate(0, 0, what="corrupted"), fate(1, 0)).unnecessary_retransmissions == 0


def test_a_repeat_with_some_new_bytes_counts_as_one_retransmission() -> None:
    seen = flow(fate(0, 0, 100), fate(1, 50, 100))
    assert (seen.retransmissions_sent, seen.retransmitted_bytes_sent, seen.unnecessary_retransmissions) == (1, 50, 0)


def test_sequence_numbers_wrap_without_retransmissions() -> None:
    seen = flow(fate(0, 2**32 - 150), fate(1, 2**32 - 50), fate(2, 50), fate(3, 2**32 - 50))
    assert (seen.data_segments_sent, seen.retransmissions_sent) == (4, 1)


def test_overtaken_original_is_reordered_and_late_retransmission_is_not_an_original() -> None:
    seen = flow(
        fate(0, 0, arrives_ms=50),
        fate(1, 100),
        fate(2, 200, arrives_ms=None),
        fate(3, 300),
        fate(4, 200, arrives_ms=90),
        fate(5, 400),
    )
    assert (seen.reordered_originals, seen.reordered_any) == (1, 2)


def test_copies_of_the_path_are_neither_sent_nor_retransmissions() -> None:
    seen = flow(fate(0, 0), fate(0, 0, what="duplicate", arrives_ms=11), fate(1, 100))
    assert (seen.data_segments_sent, seen.data_segments_arrived, seen.duplicates_made) == (2, 2, 1)
    assert seen.retransmissions_arrived == 0


def test_handshake_and_probe_repeats_are_told_apart() -> None:
    seen = flow(
        fate(0, 0, 0, flags=FLAG_SYN, arrives_ms=None),
        fate(1, 0, 0, flags=FLAG_SYN),
        fate(2, 1),
        fate(3, 100, 0),  # one before the next to send: a window probe
        fate(4, 101, 0),
        fate(5, 101, 0, flags=FLAG_FIN, arrives_ms=None),
        fate(6, 101, 0, flags=FLAG_FIN),
    )
    assert (seen.syn_repeats_sent, seen.fin_repeats_sent, seen.window_probes_sent, seen.pure_acks_sent) == (1, 1, 1, 1)
    assert truth.retransmit_count([seen], "forward") == 2
    assert truth.retransmit_count([seen], "reverse") == 0


def test_each_end_sees_its_own_side_of_the_losses() -> None:
    flows = [
        flow(
            fate(0, 0, arrives_ms=None),
            fate(1, 100),
            fate(2, 0, arrives_ms=None),
            fate(3, 0),
            fate(1, 100, what="duplicate"),
        )
    ]
    (near,), (far,) = truth.seen_at(flows, "sender"), truth.seen_at(flows, "receiver")
    assert (near["data_segments"], near["retransmitted_segments"], near["network_duplicates"]) == (4, 2, 0)
    assert (far["data_segments"], far["retransmitted_segments"], far["network_duplicates"]) == (3, 1, 1)


def test_distribution_of_nothing_is_absent_and_of_something_is_ordered() -> None:
    assert truth.distribution([]) is None
    spread = truth.distribution([3.0, 1.0, 2.0])
    assert spread == {
        "samples": 3,
        "mean_s": 2.0,
        "min_s": 1.0,
        "median_s": 2.0,
        "p95_s": 3.0,
        "p99_s": 3.0,
        "max_s": 3.0,
    }
