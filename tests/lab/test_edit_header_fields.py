"""Values that hosts are free to choose, and how much of a frame was kept, change no conclusion."""

from __future__ import annotations

from typing import Any

import pyarrow
import pytest

import vmtrace
from tests.lab.clean_captures import LOSSLESS, LOSSLESS_BESIDE_SENDER, LOSSY, LOSSY_BESIDE_SENDER, clean_capture
from tests.lab.edited import Record, analyzed, directions, quality, total
from vmtrace.lab.edit.capture import Capture, pcap_bytes
from vmtrace.lab.edit.editor import Fault, edit
from vmtrace.lab.edit.header_fields import FixIdentification, NoTimestamps, RandomIdentification, WrapSequence
from vmtrace.lab.edit.missing import CutFrames

ALL = (*LOSSLESS, *LOSSY, "reordered-duplicated.pcap")
BESIDE_SENDER = LOSSLESS_BESIDE_SENDER + LOSSY_BESIDE_SENDER
JUDGEMENTS = (
    "retransmitted_segments",
    "retransmitted_bytes",
    "lost_segments_inferred",
    "spurious_segments",
    "reordered_segments",
    "network_duplicates",
)
FREE_CHOICES = {
    "identification 0": FixIdentification(0),
    "identification 7": FixIdentification(7),
    "random identification": RandomIdentification(),
    "no timestamps": NoTimestamps(),
}


def packets(capture: Capture) -> list[dict[str, Any]]:
    """All columns but the one that is the header's sequence number itself."""
    trace = vmtrace.read(pcap_bytes(capture))
    table = pyarrow.table(trace.packets(range(1, len(trace) + 1))).drop_columns(["raw_sequence"])
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def judgements(document: Record) -> dict[str, int]:
    return {name: total(document, name) for name in JUDGEMENTS}


@pytest.mark.parametrize("after_bytes", [0, 1, 1448, 20_000, 100_000])
@pytest.mark.parametrize("name", ALL)
def test_sequence_numbers_that_wrap_change_nothing_at_all(name: str, after_bytes: int) -> None:
    clean = clean_capture(name)
    wrapped = edit(clean, WrapSequence(after_bytes)).capture
    assert analyzed(wrapped) == analyzed(clean)
    assert packets(wrapped) == packets(clean)


@pytest.mark.parametrize("fault", FREE_CHOICES.values(), ids=FREE_CHOICES.keys())
@pytest.mark.parametrize("name", BESIDE_SENDER)
def test_at_the_sender_bytes_alone_tell_what_was_retransmitted(name: str, fault: Fault) -> None:
    before, after = analyzed(clean_capture(name)), analyzed(edit(clean_capture(name), fault).capture)
    assert judgements(after) == judgements(before)
    assert quality(after) == quality(before)
    for clean, other in zip(directions(before), directions(after), strict=True):
        assert other["loss"]["by_trigger"] == clean["loss"]["by_trigger"]
        recovery = [way["rtt"].pop("recovery", {"sack_samples": 0}) for way in (other, clean)]
        assert other["rtt"] == clean["rtt"]
        assert recovery[0]["sack_samples"] == recovery[1]["sack_samples"], "repeats are told by timestamps alone"


@pytest.mark.parametrize("fault", FREE_CHOICES.values(), ids=FREE_CHOICES.keys())
@pytest.mark.parametrize("name", LOSSLESS)
def test_where_nothing_was_lost_nothing_is_called_lost(name: str, fault: Fault) -> None:
    document = analyzed(edit(clean_capture(name), fault).capture)
    assert judgements(document) == dict.fromkeys(JUDGEMENTS, 0)
    assert quality(document) == quality(analyzed(clean_capture(name)))
    for way in directions(document):
        assert way["loss"]["lost_segments_ipid"] in {None, 0}


@pytest.mark.parametrize(
    "identification", [FixIdentification(0), FixIdentification(7), RandomIdentification()], ids=repr
)
@pytest.mark.parametrize("name", ["lossy-receiver.pcap", "offload-receiver.pcap"])
def test_at_the_receiver_timestamps_tell_what_was_retransmitted(name: str, identification: Fault) -> None:
    document = analyzed(edit(clean_capture(name), identification).capture)
    assert judgements(document) == judgements(analyzed(clean_capture(name)))
    assert {way["loss"]["lost_segments_ipid"] for way in directions(document)} == {None}


@pytest.mark.parametrize("name", ["lossy-receiver.pcap", "offload-receiver.pcap"])
def test_at_the_receiver_identifications_tell_what_was_retransmitted(name: str) -> None:
    document = analyzed(edit(clean_capture(name), NoTimestamps()).capture)
    assert judgements(document) == judgements(analyzed(clean_capture(name)))


def without_limits(connection: Record, parts: set[str]) -> Record:
    """A connection without some parts; of one with TLS also without what hangs on the end of its handshake."""
    kept: Record = {key: value for key, value in connection.items() if key not in parts}
    if connection["tls"]:
        for way in ("client_to_server", "server_to_client"):
            hanging = ("limits", "limit_intervals", "reference_bps")
            kept[way] = {key: value for key, value in kept[way].items() if key not in hanging}
    return kept


@pytest.mark.parametrize("name", ALL)
def test_a_snap_length_that_keeps_the_headers_changes_nothing(name: str) -> None:
    clean = clean_capture(name)
    cut = CutFrames(96 if clean.link_type != 1 else 110)
    before, after = analyzed(clean), analyzed(edit(clean, cut).capture)
    for one, other in zip(before["connections"], after["connections"], strict=True):
        # Of TLS what was cut off stays empty, and with it how the payload divides, and when the opening was over.
        # Without records the turns of the handshake count as requests, too.
        of_tls = {"account", "verdict", "requests", "request_totals", "server_name"} if one["tls"] else set()
        parts = {"tls", "ledger", *of_tls}
        assert without_limits(one, parts) == without_limits(other, parts)
    assert quality(after) == quality(before)


@pytest.mark.parametrize("name", [name for name in BESIDE_SENDER if "ipv6" not in name])
def test_without_any_options_retransmissions_at_the_sender_are_still_all_found(name: str) -> None:
    clean = clean_capture(name)
    bare = CutFrames(54 if clean.link_type == 1 else 40)
    before, after = analyzed(clean), analyzed(edit(clean, bare).capture)
    for count in ("retransmitted_segments", "retransmitted_bytes", "lost_segments_inferred"):
        assert total(after, count) == total(before, count), count
    assert quality(after) == quality(before)
