"""The generated captures are good TCP: other programs find in them what the generator says it put there."""

import json
import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from bench.captures import Capture, Recipe, make, prefix

BULK = ("--packets", "20000", "--flows", "4", "--loss", "0.002")
SHORT = ("--connections", "300", "--loss", "0.1")


def made(kind: str, arguments: tuple[str, ...], binaries: Path, folder: Path, suffix: str = "pcap") -> Capture:
    recipe = Recipe(kind, kind, kind, full=(), quick=arguments, suffix=suffix)
    return make(recipe, binaries / "bench_generate", folder, quick=True)


@pytest.fixture
def bulk(binaries: Path, tmp_path: Path) -> Capture:
    return made("bulk", BULK, binaries, tmp_path)


@pytest.fixture
def short(binaries: Path, tmp_path: Path) -> Capture:
    return made("short", SHORT, binaries, tmp_path)


def output(*command: str | Path) -> str:
    if shutil.which(str(command[0])) is None:
        pytest.skip(f"{command[0]} is not installed")
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def test_the_same_seed_gives_the_same_bytes(bulk: Capture, binaries: Path, tmp_path: Path) -> None:
    again = made("bulk", BULK, binaries, tmp_path / "again")
    assert again.path.read_bytes() == bulk.path.read_bytes()


def test_the_walk_counts_the_packets_that_were_made(bulk: Capture, binaries: Path) -> None:
    assert json.loads(output(binaries / "bench_walk", bulk.path))["packets"] == bulk.packets
    assert json.loads(output(binaries / "bench_walk", "--read", bulk.path))["bytes"] == bulk.file_bytes


@pytest.mark.parametrize("kind", ["bulk", "short"])
def test_the_minimal_pass_finds_connections_and_retransmissions(
    kind: str, binaries: Path, request: pytest.FixtureRequest
) -> None:
    capture: Capture = request.getfixturevalue(kind)
    found = json.loads(output(binaries / "bench_minimal", capture.path))
    truth = (capture.packets, capture.connections, capture.retransmitted_segments)
    assert (found["packets"], found["connections"], found["retransmitted_segments"]) == truth


def test_tcptrace_counts_the_retransmissions_of_the_bulk_flows(bulk: Capture) -> None:
    found = re.findall(r"rexmt data pkts:\s+(\d+)\s+rexmt data pkts:\s+(\d+)", output("tcptrace", "-lrn", bulk.path))
    assert sum(int(a) + int(b) for a, b in found) == bulk.retransmitted_segments > 0


@pytest.mark.parametrize("kind", ["bulk", "short"])
def test_tshark_finds_every_checksum_right_and_times_in_order(kind: str, binaries: Path, tmp_path: Path) -> None:
    arguments = {"bulk": ("--packets", "3000"), "short": ("--connections", "50")}[kind]
    capture = made(kind, (*arguments, "--snap", "262144"), binaries, tmp_path)
    wrong = (
        "tcp.checksum.status != 1 || ip.checksum.status != 1 || frame.time_delta < 0 || tcp.analysis.ack_lost_segment"
    )
    options = ("-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE")
    assert output("tshark", "-r", capture.path, *options, "-Y", wrong) == ""


def test_every_short_connection_opens_and_closes(short: Capture) -> None:
    listed = output("tcptrace", "-rn", short.path)
    assert listed.count("(complete)") == short.connections == 300


def test_what_a_short_connection_loses_is_retransmitted(short: Capture) -> None:
    holes = output("tshark", "-r", short.path, "-Y", "tcp.analysis.lost_segment").splitlines()
    assert len(holes) == short.retransmitted_segments > 0


def test_pcapng_holds_the_same_packets(bulk: Capture, binaries: Path, tmp_path: Path) -> None:
    twin = made("bulk", (*BULK, "--format", "pcapng"), binaries, tmp_path, suffix="pcapng")
    fields = ("-T", "fields", "-e", "frame.time_epoch", "-e", "frame.len", "-e", "tcp.seq_raw", "-e", "tcp.ack_raw")
    assert output("tshark", "-r", twin.path, *fields) == output("tshark", "-r", bulk.path, *fields)


def test_a_prefix_is_the_first_packets(bulk: Capture, binaries: Path) -> None:
    path, packets = prefix(bulk, 100)
    assert json.loads(output(binaries / "bench_walk", path))["packets"] == packets == 100
    assert bulk.path.read_bytes().startswith(path.read_bytes())


def test_a_prefix_that_was_cut_off_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = struct.pack("<IIII", 1, 0, 4, 4) + b"data"
    path = tmp_path / "x.pcap"
    path.write_bytes(bytes(24) + 3 * record)
    capture = Capture("x", "x", path, packets=3, connections=1, data_segments=3, retransmitted_segments=0)

    def cut_off(_source: Path, target: Path, _packets: int) -> None:
        target.write_bytes(bytes(24))
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("bench.captures._copy_first", cut_off)
        with pytest.raises(KeyboardInterrupt):
            prefix(capture, 2)
    assert prefix(capture, 2)[0].read_bytes() == bytes(24) + 2 * record


def test_a_capture_is_made_only_once(bulk: Capture, binaries: Path, tmp_path: Path) -> None:
    before = bulk.path.stat().st_mtime_ns
    made("bulk", BULK, binaries, tmp_path)
    assert bulk.path.stat().st_mtime_ns == before
