"""Captures written anew keep their packets: other headers, other points, other order."""

from pathlib import Path

from bench.rewritten import appended, in_order, read, write

SAMPLE = Path(__file__).parents[2] / "samples/lossy-sender.pcap"


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    link_type, frames = read(SAMPLE)
    assert write(tmp_path / "x.pcap", frames, link_type) == len(frames)
    assert read(tmp_path / "x.pcap") == (link_type, frames)


def test_appended_and_merged_captures_hold_the_same_packets() -> None:
    _, frames = read(SAMPLE)
    behind, merged = list(appended([frames, frames])), list(in_order([frames, frames]))
    assert len(behind) == len(merged) == 2 * len(frames)
    assert sorted(behind) == sorted(merged)
    assert behind != merged
