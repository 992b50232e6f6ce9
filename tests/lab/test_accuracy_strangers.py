"""Captures of other people beside tshark: what counts as a difference, and what contradicts itself."""

import copy
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from vmtrace.lab.accuracy.strangers import Difference, contradictions, differences, look

SAMPLES = Path(__file__).parents[2] / "samples"


@pytest.fixture(scope="module")
def lossy() -> dict[str, Any]:
    """What vmtrace says of a sample with losses."""
    command = [sys.executable, "-m", "vmtrace", "analyze", str(SAMPLES / "lossy-receiver.pcap"), "--json", "-"]
    document: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return document


def line(frame: int, stream: int, **fields: str) -> dict[str, str]:
    """A packet with data as tshark tells it, and nothing special about it."""
    analysis = ("retransmission", "fast_retransmission", "spurious_retransmission", "out_of_order", "keep_alive")
    usual = {"frame.number": str(frame), "frame.protocols": "eth:ip:tcp", "tcp.stream": str(stream), "tcp.len": "100"}
    return usual | {f"tcp.analysis.{name}": fields.get(name, "") for name in analysis}


def document(repeats: int, first_frame: int = 1, duplicates: int = 0) -> dict[str, Any]:
    """One connection with so many repeated segments."""
    way, back = ({"loss": {"retransmitted_segments": number}} for number in (repeats, 0))
    connection = {"first_frame": first_frame, "client_to_server": way, "server_to_client": back}
    return {"inputs": [{"capture": {"duplicates": duplicates}}], "connections": [connection]}


def test_the_same_numbers_are_no_difference() -> None:
    lines = [line(1, 0), line(2, 0, retransmission="1"), line(3, 0, retransmission="1", keep_alive="1")]
    assert list(differences(document(1), lines)) == []


def test_other_repeats_and_other_connections_are_differences() -> None:
    lines = [line(1, 0), line(2, 0, spurious_retransmission="1"), line(3, 1)]
    shown = list(differences(document(5), lines))
    assert shown == [Difference("connections", 1, 2), Difference("repeated segments", 5, 1, 1)]
    assert str(shown[1]) == "repeated segments of the connection that begins with frame 1: 5, tshark 1"


def test_what_was_captured_twice_is_no_repeat() -> None:
    lines = [line(1, 0), *(line(frame, 0, retransmission="1") for frame in range(2, 9))]
    assert list(differences(document(0, duplicates=7), lines)) == []
    assert len(list(differences(document(9, duplicates=7), lines))) == 1, "more cannot be copies"


def test_a_segment_quoted_in_an_error_is_none() -> None:
    quoted = line(2, 1) | {"frame.protocols": "eth:ip:icmp:ip:tcp"}
    assert list(differences(document(0), [line(1, 0), quoted])) == []


def test_a_true_document_does_not_contradict_itself(lossy: dict[str, Any]) -> None:
    assert list(contradictions(lossy)) == []


@pytest.mark.parametrize(
    ("place", "value", "told"),
    [
        (("ledger", "ip_bytes"), 1, "the parts of the ledger"),
        (("client_to_server", "wire_bytes"), 1, "the parts of the ledger"),
        (("client_to_server", "loss", "by_trigger", "rto"), 10**6, "the triggers"),
        (("client_to_server", "loss", "spurious_segments"), 10**6, "more spurious"),
        (("client_to_server", "payload_bytes"), 1, "more unique"),
        (("client_to_server", "rtt", "max_s"), 0.0, "rtt is"),
        (("client_to_server", "spacing", "p99_s"), 1e6, "spacing is"),
        (("client_to_server", "loss", "loss_rate"), 1.5, "a share is none"),
    ],
)
def test_each_contradiction_is_reported(
    lossy: dict[str, Any], place: tuple[str, ...], value: object, told: str
) -> None:
    wrong = copy.deepcopy(lossy)
    holder = wrong["connections"][0]
    for name in place[:-1]:
        holder = holder[name]
    holder[place[-1]] = value
    assert any(told in what for what in contradictions(wrong))


def test_a_folder_of_samples_and_other_files_is_summed_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not there")
    (tmp_path / "notes.txt").write_text("no capture")
    for name in ("lossy-receiver.pcap", "ipv6.pcapng"):
        shutil.copy(SAMPLES / name, tmp_path)
    assert look(sorted(tmp_path.iterdir())) == 0
    summary = capsys.readouterr().out.splitlines()[-1]
    assert summary.startswith("3 files, ")
    assert "1 unread files" in summary
    assert summary.endswith("0 contradictions or failures")
