"""Frames that were recorded out of order have crossed in order: nothing was lost, repeated, or overtaken on the way."""

from __future__ import annotations

import pytest

from tests.lab.clean_captures import LOSSLESS_BESIDE_SENDER, LOSSLESS_ELSEWHERE, LOSSY_BESIDE_SENDER, clean_capture
from tests.lab.edited import Record, analyzed, bulk, quality, total
from vmtrace.lab.edit.disorder import Pairing, SwapNeighbours, Times, any_two, data_and_its_ack, two_of_data
from vmtrace.lab.edit.editor import Edited, edit

AT_RECEIVER = tuple(name for name in LOSSLESS_ELSEWHERE if name.endswith("at-receiver"))
JUDGEMENTS = ("retransmitted_segments", "lost_segments_inferred", "spurious_segments", "network_duplicates")

each_times = pytest.mark.parametrize("times", Times, ids=lambda times: times.name)


def swapped(name: str, times: Times, pairing: Pairing, share: float = 0.1, seed: int = 2) -> tuple[Edited, Record]:
    done = edit(clean_capture(name), SwapNeighbours(share, times, pairing), seed=seed)
    return done, analyzed(done.capture)


def disorder(document: Record) -> int:
    """Frames found to be out of order, whether their times showed it or what they say."""
    (header,) = document["inputs"]
    return int(header["capture"]["reordered"]) + int(header["out_of_time_order"]["records"])


def counts(document: Record) -> dict[str, int]:
    return {name: total(document, name) for name in JUDGEMENTS}


@each_times
@pytest.mark.parametrize("pairing", [two_of_data, any_two])
@pytest.mark.parametrize("name", LOSSLESS_BESIDE_SENDER + LOSSY_BESIDE_SENDER)
def test_at_the_sender_nothing_was_overtaken(name: str, pairing: Pairing, times: Times) -> None:
    _, document = swapped(name, times, pairing)
    assert counts(document) == counts(analyzed(clean_capture(name)))
    assert total(document, "reordered_segments") == 0
    assert disorder(document) > 0
    assert quality(document)["unseen_acked_bytes"] == quality(document)["duplicates"] == 0


@each_times
@pytest.mark.parametrize("name", LOSSLESS_BESIDE_SENDER)
def test_each_pair_of_data_is_counted_at_the_sender(name: str, times: Times) -> None:
    done, document = swapped(name, times, two_of_data)
    assert disorder(document) == len(done.truth.swapped) > 10


@each_times
@pytest.mark.parametrize(
    "name", [*AT_RECEIVER, "lossy-receiver.pcap", "offload-receiver.pcap", "tls12.pcap", "tls13.pcap"]
)
def test_data_behind_its_acknowledgement_is_disorder_wherever_it_is_recorded(name: str, times: Times) -> None:
    done, document = swapped(name, times, data_and_its_ack)
    assert counts(document) == counts(analyzed(clean_capture(name)))
    assert total(document, "reordered_segments") == 0
    assert disorder(document) == len(done.truth.swapped)
    assert quality(document)["unseen_acked_bytes"] == quality(document)["duplicates"] == 0


@each_times
@pytest.mark.parametrize("name", [*LOSSLESS_ELSEWHERE, "lossy-receiver.pcap", "offload-receiver.pcap"])
def test_away_from_the_sender_nothing_is_called_lost_or_repeated(name: str, times: Times) -> None:
    for share in (0.1, 0.5):
        for seed in range(4):
            _, document = swapped(name, times, any_two, share, seed)
            assert counts(document) == counts(analyzed(clean_capture(name))), (share, seed)


@each_times
@pytest.mark.parametrize("name", ["lossy-receiver.pcap", "offload-receiver.pcap"])
def test_data_overtaken_by_a_repeat_of_older_data_is_no_repeat(name: str, times: Times) -> None:
    for seed in range(4):
        _, document = swapped(name, times, two_of_data, 0.5, seed)
        assert counts(document) == counts(analyzed(clean_capture(name))), seed


@each_times
def test_handshakes_out_of_order_are_handshakes(times: Times) -> None:
    clean = clean_capture("short-connections.pcap.gz")
    for seed in range(4):
        document = analyzed(edit(clean, SwapNeighbours(0.5, times, any_two), seed=seed).capture)
        assert counts(document) == counts(analyzed(clean))
        assert all(connection["handshake"]["complete"] for connection in document["connections"])


@pytest.mark.parametrize("name", LOSSLESS_BESIDE_SENDER + LOSSY_BESIDE_SENDER[:2])
def test_round_trips_stay_where_frames_keep_their_times(name: str) -> None:
    _, document = swapped(name, Times.MOVE, any_two)
    clean, left = bulk(analyzed(clean_capture(name)))["rtt"], bulk(document)["rtt"]
    for statistic in ("min_s", "mean_s", "median_s"):
        assert left[statistic] == pytest.approx(clean[statistic], rel=0.01, abs=1e-4), statistic
