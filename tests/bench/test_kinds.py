"""Captures made frame by frame are what their names say, with right checksums."""

import shutil
import subprocess
from pathlib import Path

import pytest

from bench import rewritten, talks
from bench.rewritten import Frame

WRONG = "ip.checksum.status == 0 or tcp.checksum.status == 0 or _ws.malformed"


def fields(frames: list[Frame], folder: Path, link_type: int, *names: str) -> list[list[str]]:
    """What tshark reads in each frame; all of them must be right."""
    if shutil.which("tshark") is None:
        pytest.skip("needs tshark")
    path = folder / "made.pcap"
    assert rewritten.write(path, frames, link_type) == len(frames)
    command = ["tshark", "-r", str(path), "-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]

    def run(*words: str) -> str:
        return subprocess.run([*command, *words], check=True, capture_output=True, text=True).stdout

    assert run("-Y", WRONG) == ""
    wanted = [word for name in names for word in ("-e", name)]
    return [line.split("\t") for line in run("-T", "fields", *wanted).splitlines()]


def test_requests_follow_one_another_on_each_connection(tmp_path: Path) -> None:
    rows = fields(list(talks.http(2, 3)), tmp_path, 1, "tcp.stream", "http.request.uri", "tcp.analysis.flags")
    asked = [(stream, uri) for stream, uri, _ in rows if uri]
    assert sorted(asked) == [(stream, f"/objects/{number}") for stream in "01" for number in range(3)]
    assert not any(flags for *_, flags in rows)


def test_a_rewritten_capture_keeps_its_segments(tmp_path: Path) -> None:
    frames = list(talks.both_ways(1, 2))
    wanted = ("tcp.seq_raw", "tcp.ack_raw", "tcp.len")
    plain = fields(frames, tmp_path, 1, *wanted)
    assert fields(list(rewritten.as_ipv6(frames)), tmp_path, 1, *wanted) == plain
    assert fields(list(rewritten.in_vlan_and_gre(frames)), tmp_path, 1, *wanted) == plain
    [tunnelled, *_] = fields(list(rewritten.in_vlan_and_gre(frames)), tmp_path, 1, "vlan.id", "gre.proto")
    assert tunnelled == ["7", "0x0800"]


def test_two_points_see_each_packet_twice(tmp_path: Path) -> None:
    frames = list(talks.both_ways(1, 2))
    both = list(rewritten.of_two_points(frames, way_us=1000, clock_us=50_000))
    times = [time_us for time_us, *_ in both]
    assert times == sorted(times)
    assert len(both) == 2 * len(frames)
    rows = fields(both, tmp_path, 1, "ip.src", "tcp.seq_raw", "ip.ttl")
    assert {ttl for source, _, ttl in rows if source == "10.0.0.9"} == {"64", "60"}


def test_copies_of_a_connection_have_ports_of_their_own(tmp_path: Path) -> None:
    link_type, frames = rewritten.read(Path(__file__).parents[2] / "samples/tls13.pcap")
    copies = list(rewritten.repeated(frames, 3))
    rows = fields(copies, tmp_path, link_type, "tcp.stream", "tls.handshake.type")
    assert {stream for stream, _ in rows} == {"0", "1", "2"}
    assert sum("1" in kinds.split(",") for _, kinds in rows) == 3
