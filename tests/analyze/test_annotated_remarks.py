"""What is said of the frames of the samples."""

from pathlib import Path

import pytest

from vmtrace.analyze.reports.annotated.remarks import remarks
from vmtrace.analyze.trace import read

SAMPLES = Path(__file__).parents[2] / "samples"


@pytest.mark.parametrize(
    "name", ["lossy-sender.pcap", "tls13.pcap", "window-limited.pcap", "short-connections.pcap.gz"]
)
def test_every_remark_is_of_a_frame_that_the_analysis_names(name: str) -> None:
    trace = read(str(SAMPLES / name))
    made = remarks(trace)
    evidence = {frame for one in trace.findings for piece in one.evidence for frame in piece["frames"]}
    ids = trace.values("id")
    found = trace.packets(ids, columns=("frame", "kind"))
    repeated = {
        frame
        for frame, kind in zip(found.values("frame"), found.values("kind"), strict=True)
        if kind == "retransmission"
    }
    pauses = {
        one["frames"][-1]
        for record in trace.json()["connections"]
        for side in ("client_to_server", "server_to_client")
        for one in (record[side].get("spacing") or {}).get("anomalies") or ()
        if one["frames"]
    }
    assert set(made.frames) == evidence | repeated | pauses
    assert made.not_listed == 0


def test_the_file_has_the_findings_and_addresses_the_names_that_were_asked_for() -> None:
    trace = read(str(SAMPLES / "lossy-sender.pcap"))
    assert remarks(trace).file.startswith("vmtrace:\n261 ms (26.5 %): Connection 1: Losses kept")
    tls = remarks(read(str(SAMPLES / "tls13.pcap")))
    assert all(names for names in tls.names.values())


def test_of_one_connection_nothing_else_is_said() -> None:
    trace = read(str(SAMPLES / "short-connections.pcap.gz"))
    first = trace.values("id")[0]
    frames = set(trace.packets([first], columns=("frame",)).values("frame"))
    assert set(remarks(trace, [first]).frames) <= frames
