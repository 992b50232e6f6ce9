"""Spacing and flight against a second, plain computation from the same packets."""

from __future__ import annotations

import statistics

import pytest

from tests.lab.clean_captures import LOSSLESS, LOSSLESS_BESIDE_SENDER, LOSSY, LOSSY_BESIDE_SENDER, clean_capture
from tests.lab.edited import Record, analyzed, bulk
from tests.lab.plain_measurements import Way, data_ways, pipe_of, spacings_ns
from vmtrace.lab.edit.editor import edit
from vmtrace.lab.edit.frames_chosen import data
from vmtrace.lab.edit.header_fields import WrapSequence
from vmtrace.lab.edit.missing import DropFrames

# A histogram step is 1/64 of an octave (docs/methods.md, section 4).
SKETCH_ACCURACY = 0.01


def measured(document: Record, way: Way) -> Record:
    """What the engine says of a direction."""
    ports = [way[0][1], way[1][1]]
    for connection in document["connections"]:
        client, server = (int(connection[end].rpartition(":")[2]) for end in ("client", "server"))
        if sorted(ports) == sorted([client, server]):
            found: Record = connection["client_to_server" if ports[0] == client else "server_to_client"]
            return {**found, "beside": connection["vantage"]["side"] == ("client" if ports[0] == client else "server")}
    raise KeyError(way)


@pytest.mark.parametrize("name", LOSSLESS + LOSSY)
def test_spacing_is_that_of_the_data_frames(name: str) -> None:
    capture = clean_capture(name)
    document = analyzed(capture)
    for way in data_ways(capture):
        plain, spacing = spacings_ns(capture, way), measured(document, way)["spacing"]
        assert spacing["samples"] == len(plain) > 0
        # JSON has whole nanoseconds.
        assert spacing["mean_s"] == pytest.approx(statistics.mean(plain) / 1e9, rel=1e-6, abs=1e-9)
        assert spacing["max_s"] == pytest.approx(max(plain) / 1e9, rel=1e-6)
        assert spacing["median_s"] == pytest.approx(statistics.median(plain) / 1e9, rel=SKETCH_ACCURACY)


@pytest.mark.parametrize("name", [*LOSSLESS_BESIDE_SENDER, *LOSSY_BESIDE_SENDER, "tls12.pcap", "tls13.pcap"])
def test_flight_at_the_sender_is_the_pipe_of_rfc_6675(name: str) -> None:
    capture = clean_capture(name)
    document = analyzed(capture)
    ways = [(way, measured(document, way)) for way in data_ways(capture)]
    beside = [(way, found) for way, found in ways if found["beside"]]
    assert beside
    for way, found in beside:
        pipe = pipe_of(capture, way, found["segment_size_bytes"])
        assert found["flight"]["max_bytes"] == pipe.most, way
        assert found["flight"]["mean_bytes"] == pytest.approx(pipe.mean, rel=0.01), way


@pytest.mark.parametrize("name", ["lossy-sender.pcap", "offload-sender.pcap", "window-limited.pcap"])
def test_flight_is_the_same_where_sequence_numbers_wrap(name: str) -> None:
    wrapped = edit(clean_capture(name), WrapSequence(100_000)).capture
    (way, *_) = data_ways(wrapped)
    pipe = pipe_of(wrapped, way, 1448)
    assert measured(analyzed(wrapped), way)["flight"]["max_bytes"] == pipe.most


@pytest.mark.parametrize("name", ["window-limited", "application-limited", "made", "made-ipv6"])
def test_flight_seen_from_the_receiver_is_that_of_the_sender_within_a_tenth(name: str) -> None:
    at_sender = clean_capture(name if name.startswith("made") else f"{name}.pcap")
    (way, *_) = data_ways(at_sender)
    pipe = pipe_of(at_sender, way, 1448)
    flight = bulk(analyzed(clean_capture(f"{name}-at-receiver")))["flight"]
    assert flight["max_bytes"] == pytest.approx(pipe.most, rel=0.1)
    assert flight["mean_bytes"] == pytest.approx(pipe.mean, rel=0.1)


@pytest.mark.parametrize("name", LOSSLESS_BESIDE_SENDER)
def test_flight_hardly_changes_where_the_capture_missed_data(name: str) -> None:
    clean = bulk(analyzed(clean_capture(name)))["flight"]
    left = bulk(analyzed(edit(clean_capture(name), DropFrames(0.01, data)).capture))["flight"]
    assert left["mean_bytes"] == pytest.approx(clean["mean_bytes"], rel=0.05)
    assert left["max_bytes"] <= clean["max_bytes"]
