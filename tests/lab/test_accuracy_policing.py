"""Captures whose names say what a router was told: the labels, and what is counted of vmtrace's answers."""

from pathlib import Path
from typing import Any

import pytest

from vmtrace.lab.accuracy import policing
from vmtrace.lab.accuracy.policing import Judged, Label, judged, label, table

POLICED = "C=5-L=2000000-CD=500-PCIR=1500000-PBC=100000-RTT=100-RTTV=0-RTTC=0%-LOSS=0%-TCP=cubic-T=1-CP=1.pcap.xz"
SHAPED = "C=5-L=2000000-CD=500-SCIR=10000000-RTT=100-RTTV=0-RTTC=0%-LOSS=2%-TCP=cubic-T=1-CP=1.pcap.xz"


def document(payload_bytes: int, bucket: dict[str, Any] | None, factor: str | None) -> dict[str, Any]:
    """A connection whose server sends so much."""
    request = {"unique_payload_bytes": 100}
    video = {"unique_payload_bytes": payload_bytes, "loss": {"lost_segments_inferred": 7}} | (
        {"token_bucket": bucket} if bucket else {}
    )
    verdict = {"factor": factor} if factor else None
    return {"connections": [{"client_to_server": request, "server_to_client": video, "verdict": verdict}]}


def test_the_name_of_a_capture_says_what_the_router_was_set_to() -> None:
    assert label(POLICED) == Label(is_policed=True, rate_bps=1_500_000, burst_bytes=100_000, loss="0%")
    assert label(SHAPED) == Label(is_policed=False, rate_bps=10_000_000, burst_bytes=None, loss="2%")


def test_videos_that_share_a_bucket_and_other_files_are_left_out() -> None:
    assert label(POLICED.replace("CD=500", "CD1=500-CD2=1000")) is None
    assert label("README.md") is None
    assert list(judged("README.md", document(2_000_000, None, None))) == []


def test_only_what_carries_a_video_is_judged() -> None:
    bucket = {"kind": "policer", "sustained_bps": 1.482e6}
    assert list(judged(POLICED, document(400_000, bucket, "token_bucket"))) == []
    (video,) = judged(POLICED, document(2_000_000, bucket, "token_bucket"))
    assert (video.bucket, video.factor, video.lost_segments) == (bucket, "token_bucket", 7)


def test_each_kind_of_router_has_a_line_with_its_results() -> None:
    policed, shaped = label(POLICED), label(SHAPED)
    assert policed is not None
    assert shaped is not None
    buckets = [{"sustained_bps": rate} for rate in (1.47e6, 1.5e6, 1.56e6)]
    videos = [Judged(policed, bucket, "token_bucket", 50) for bucket in buckets]
    videos += [Judged(policed, None, "congestion_window", 50), Judged(shaped, None, None, 9)]
    assert table(videos)[2:] == [
        "| polices 1.5 Mbit/s, bucket 100 kB | 4 | 4 | 3 | 3 | 1.000 (0.980 to 1.040) |",
        "| shapes, and loses by chance | 1 | 0 | 0 | 0 |  |",
    ]


def test_a_folder_without_such_captures_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other.pcap").write_bytes(b"")
    monkeypatch.setattr("sys.argv", ["policing", str(tmp_path)])
    assert policing.main() == 1
    assert "no captures whose names" in capsys.readouterr().err
