"""Whole runs between real kernels: every witness agrees, and the description decides what happens."""

from __future__ import annotations

import os
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

import pytest

from vmtrace.lab.capture_run import WHOLE_PACKETS_BYTES
from vmtrace.lab.description import Scenario
from vmtrace.lab.fate_log import PacketFate
from vmtrace.lab.hosts import HostSettings, Topology
from vmtrace.lab.impairments import Impairments
from vmtrace.lab.pcap_file import read_packets
from vmtrace.lab.scenario import Run, main, run
from vmtrace.lab.tcp_info import read_table
from vmtrace.lab.transfer import Kind, Transfer

_LOSSY = Scenario(
    "lossy",
    "2 % loss, copies, disorder",
    Transfer(payload_bytes=400_000, seconds=10),
    Impairments(
        delay_s=0.005,
        rate_bps=40e6,
        queue_bytes=500_000,
        loss=0.02,
        duplicate=0.01,
        reorder=0.01,
        reorder_delay_s=0.002,
    ),
    Impairments(delay_s=0.005, loss=0.02),
    seed=3,
)


def lost_numbers(rows: list[PacketFate], direction: str) -> set[int]:
    return {row.number for row in rows if row.direction == direction and row.fate == "lost_random"}


def agreed(scenario: Scenario, folder: Path) -> Run:
    done = run(scenario, folder, attempts=5, good_enough=attrgetter("agreed"))
    assert done.agreed, done.truth["problems"]
    return done


@pytest.mark.root
@pytest.mark.usefixtures("real_hosts")
def test_log_kernel_and_captures_agree(tmp_path: Path) -> None:
    done = agreed(_LOSSY, tmp_path)
    forward = done.truth["forward"]
    rows = [row for row in done.fates() if row.source_port]
    assert forward["retransmissions_sent"] > 0
    assert forward["data_segments_lost"] > 0
    sent = forward["retransmissions_sent"] + forward["syn_repeats_sent"] + forward["fin_repeats_sent"]
    assert done.truth["counters"]["sender"]["RetransSegs"] == sent
    assert forward["unique_payload_bytes"] == 400_000
    assert done.truth["ends"]["receiver"]["connections"][0]["got_bytes"] == 400_000
    left_sender = sum(row.direction == "forward" and row.fate != "duplicate" for row in rows)
    reached_sender = sum(row.direction == "reverse" and not row.lost for row in rows)
    assert len(list(read_packets(done.sender_pcap))) == left_sender + reached_sender
    assert done.truth["rtt"]["kernel_min_rtt_s"] == pytest.approx(0.010, abs=0.002)
    assert len(read_table(tmp_path / "tcp_info.sender.csv")) > 10


@pytest.mark.parametrize(("enough", "runs"), [("good", 3), ("agreed", 2)])
def test_a_run_whose_emulator_was_late_will_do_where_times_do_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, enough: str, runs: int
) -> None:
    truths = iter([
        {"good": False, "problems": ["late", "bytes differ"], "late": ["late"]},
        {"good": False, "problems": ["late"], "late": ["late"]},
        {"good": True, "problems": [], "late": []},
    ])  # fmt: skip
    monkeypatch.setattr("vmtrace.lab.namespaces.require", lambda: None)
    monkeypatch.setattr("vmtrace.lab.scenario._run_afresh", lambda _scenario, folder: Run(folder, next(truths)))
    done = run(_LOSSY, tmp_path, attempts=5, good_enough=attrgetter(enough))
    assert (done.agreed, done.good) == (True, enough == "good")
    assert len(list(truths)) == 3 - runs


@pytest.mark.root
@pytest.mark.usefixtures("real_hosts")
def test_same_seed_drops_the_same_packets_of_a_real_transfer(tmp_path: Path) -> None:
    runs = [agreed(_LOSSY, tmp_path / name).fates() for name in ("first", "second")]
    for direction in ("forward", "reverse"):
        shared = min(max(row.number for row in rows if row.direction == direction) for rows in runs)
        first, second = ({number for number in lost_numbers(rows, direction) if number <= shared} for rows in runs)
        assert first == second
        assert first


@pytest.mark.root
@pytest.mark.usefixtures("real_hosts")
def test_offload_shows_superpackets_at_the_sender_and_mtu_size_on_the_path(tmp_path: Path) -> None:
    scenario = replace(
        _LOSSY,
        topology=Topology.OFFLOAD,
        ip_version=6,
        transfer=Transfer(payload_bytes=2_000_000, seconds=10),
        forward=Impairments(delay_s=0.005, rate_bps=80e6, queue_bytes=2_000_000),
    )
    done = agreed(scenario, tmp_path)
    captures = done.truth["captures"]
    assert captures["sender"]["largest_ip_bytes"] > 1500
    assert captures["middle"]["largest_ip_bytes"] == 1500
    assert captures["receiver"]["data_packets"] < done.truth["forward"]["data_segments_arrived"]
    sent = sum(packet.payload_bytes for packet in read_packets(done.sender_pcap) if packet.payload_bytes > 1)
    assert sent == done.truth["forward"]["payload_bytes_sent"]


@pytest.mark.root
@pytest.mark.usefixtures("real_hosts")
@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_tls_transfers_speak_the_version_asked_for(tmp_path: Path, version: str) -> None:
    transfer = Transfer(Kind.EXCHANGE, exchanges=3, response_bytes=5000, tls=version)
    path = Impairments(delay_s=0.002)
    done = agreed(Scenario("tls", "", transfer, path, path, snaplen_bytes=WHOLE_PACKETS_BYTES), tmp_path)
    (end,) = done.truth["ends"]["sender"]["connections"]
    assert end["tls_version"] == f"TLSv{version}"
    assert end["sent_bytes"] == 15_000
    assert not list(tmp_path.glob("server.*"))


@pytest.mark.root
@pytest.mark.usefixtures("real_hosts")
def test_host_settings_reach_the_wire(tmp_path: Path) -> None:
    bare = HostSettings("reno", sack=False, timestamps=False, window_scaling=False)
    path = Impairments(delay_s=0.002)
    done = agreed(Scenario("bare", "", Transfer(payload_bytes=50_000), path, path, bare, bare), tmp_path)
    rows = [row for row in done.fates() if row.source_port]
    assert all(row.tsval == 0 for row in rows)
    assert max(row.payload_bytes for row in rows) == 1460
    options = {info["options"] for info in done.truth["tcp_info_last"]["sender"].values()}
    assert options == {0}


@pytest.mark.root
@pytest.mark.usefixtures("real_hosts")
def test_a_reader_that_sleeps_closes_the_window(tmp_path: Path) -> None:
    transfer = Transfer(payload_bytes=300_000, receive_buffer_bytes=16_384, read_pauses=((50_000, 0.7),))
    path = Impairments(delay_s=0.005)
    done = agreed(Scenario("zero", "", transfer, path, path), tmp_path)
    acks = [row for row in done.fates() if row.direction == "reverse" and row.source_port and row.flags == 16]
    assert any(row.window == 0 for row in acks)
    assert done.truth["forward"]["window_probes_sent"] == done.truth["counters"]["sender"].get("TCPWinProbe", 0) > 0


@pytest.mark.root
@pytest.mark.usefixtures("real_hosts")
def test_a_folder_s_other_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.pcap").write_text("precious")
    (tmp_path / "middle.pcap").write_text("of an earlier run")
    path = Impairments(delay_s=0.001)
    run(Scenario("short", "", Transfer(payload_bytes=1000), path, path), tmp_path)
    names = {file.name for file in tmp_path.iterdir()}
    results = {
        "sender.pcap",
        "receiver.pcap",
        "fates.csv.gz",
        "truth.json",
        "tcp_info.sender.csv",
        "tcp_info.receiver.csv",
    }
    assert names == results | {"mine.pcap"}


def test_without_root_one_clear_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert main(["clean-cubic-rtt20", "--out", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "needs root" in said


def test_unknown_scenario_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["no-such-thing", "--out", "/nowhere"]) == 2
    assert "no-such-thing" in capsys.readouterr().err


def test_every_scenario_is_listed_with_its_story(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= 24
    assert all(len(line.split()) > 2 for line in lines)
