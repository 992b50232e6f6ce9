"""Transfers of real programs: how they are drawn, started and judged; one of them for real."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests import golden_texts
from vmtrace.lab.accuracy import program_runs, programs
from vmtrace.lab.accuracy.program_commands import Ends, Program, found, missing, nginx, rsync_daemon, scp, ssh_pipe
from vmtrace.lab.accuracy.program_runs import Made, NotMadeError, listens, made_of
from vmtrace.lab.accuracy.program_transfers import ProgramTransfer, draw
from vmtrace.lab.accuracy.programs import Judged, Measured, Told, measure, sections, told_of
from vmtrace.lab.accuracy.study import DOCUMENT, Options, write_document
from vmtrace.lab.fate_log import FLAG_ACK, PacketFate
from vmtrace.lab.hosts import end_process, module_environment
from vmtrace.lab.transfer import PORT

ABSENT = Program(("no-such-program",), lambda _: ["no-such-program"])


def transfer(name: str, seed: int = 1) -> ProgramTransfer:
    return next(one for one in draw(seed) if one.name == name)


def connection(
    payload_bytes: int, factor: str | None, *, server: str = "198.18.1.1:80", left_open: bool = False
) -> Any:
    """One whose server sends so much."""
    request = {"unique_payload_bytes": 100, "loss": {"retransmitted_segments": 1}}
    answer = {"unique_payload_bytes": payload_bytes, "loss": {"retransmitted_segments": 20}}
    between = ["idle", factor] if left_open else []
    verdict = {"factor": factor, "confidence": 0.9, "undetermined_between": between} if factor else None
    ways = {"client_to_server": request, "server_to_client": answer}
    return {"client": "198.18.2.1:4000", "server": server, "verdict": verdict, **ways}


def data(number: int, seq: int, *, in_s: float, out_s: float) -> PacketFate:
    """A segment of 1000 bytes; never out if it was lost."""
    times = (round(in_s * 1e9), round(out_s * 1e9), round(out_s * 1e9))
    return PacketFate(number, "forward", "delivered", *times, 1052, 0, PORT, 9, seq, 1, FLAG_ACK, 100, 1000, 0, 0)


def judged(verdict: str, *, repeats: int = 3, problems: tuple[str, ...] = ()) -> Judged:
    shown = dict.fromkeys(program_runs.PLACES, Told((verdict,), repeats))
    return Judged(transfer("nginx-limit"), Made(3, 4e6, problems), shown)


def test_a_seed_draws_the_same_transfers_whatever_else_is_drawn() -> None:
    assert [one.setting for one in draw(7)] == [one.setting for one in draw(7)]
    assert [one.setting for one in draw(7)] != [one.setting for one in draw(8)]
    names = [one.name for one in draw(7)]
    assert len(set(names)) == len(names) > 40
    assert all(one.factors and one.why and one.told for one in draw(7))


def test_what_should_not_matter_is_drawn_too() -> None:
    drawn = [one for seed in range(5) for one in draw(seed)]
    assert {one.ip_version for one in drawn} == {4, 6}
    assert {one.offload for one in drawn} == {True, False}
    assert {one.congestion_control for one in drawn} == {"cubic", "reno", "bbr"}


def test_the_path_leaves_an_application_that_gives_little_room() -> None:
    for seed in range(5):
        for one in draw(seed):
            if one.factors == ("application",):
                assert one.path.forward.rate_bps >= 8 * 5e6


def test_a_run_that_fails_leaves_nothing_of_an_earlier_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> Any:
        raise NotMadeError("no path")

    monkeypatch.setattr(program_runs, "joined_hosts", fails)
    (tmp_path / "made.json").write_text('{"retransmitted_segments": 1, "goodput_bps": 2.0, "problems": []}')
    assert program_runs.load(tmp_path) == Made(1, 2.0, ())
    with pytest.raises(NotMadeError):
        program_runs.run(transfer("nginx-curl"), tmp_path)
    assert program_runs.load(tmp_path) is None


def test_the_setting_says_what_the_path_does() -> None:
    assert "lost" in transfer("losses-nginx").setting
    assert "policer" in transfer("policer-nginx").setting
    assert "shaper" in transfer("shaper-nginx").setting


def test_programs_are_told_where_to_listen_and_whom_to_ask(tmp_path: Path) -> None:
    ends = Ends(tmp_path, "fd00:18:1::1")
    nginx("limit_rate 500k;").command(ends)
    shown = (tmp_path / "nginx.conf").read_text()
    golden_texts.check("programs-are-told-where-to-listen-and-whom-to-ask", shown.replace(str(tmp_path), "FOLDER"))
    assert rsync_daemon().command(ends)[-1] == str(tmp_path / "rsyncd.conf")
    assert "address = fd00:18:1::1" in (tmp_path / "rsyncd.conf").read_text()
    assert scp("-l", "4000").command(ends)[-1].startswith("root@[fd00:18:1::1]:")
    assert "root@fd00:18:1::1" in ssh_pipe().command(ends)


def test_what_is_not_installed_is_named() -> None:
    assert missing(ABSENT, ABSENT) == ["no-such-program"]
    assert found("ip") is not None


def test_a_transfer_whose_program_is_not_installed_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = transfer("nginx-curl")
    absent = ProgramTransfer(plain.name, plain.told, plain.factors, plain.why, ABSENT, plain.client, plain.path)
    measured = measure([absent], tmp_path, 1)
    assert (measured.judged, measured.left_out) == ([], ["nginx-curl: not installed: no-such-program"])
    assert "nginx-curl is left out: not installed: no-such-program" in capsys.readouterr().out


def test_the_verdicts_of_all_connections_with_much_data_count() -> None:
    both = {"connections": [connection(3_000_000, "application"), connection(1_000_000, "idle")]}
    assert told_of(both, "198.18.1.1") == Told(("application", "idle"), 40, (("application", 0.9), ("idle", 0.9)))
    little = {"connections": [connection(3_000_000, "application"), connection(10_000, "idle")]}
    assert told_of(little, "198.18.1.1") == Told(("application",), 40, (("application", 0.9),))
    assert told_of({"connections": []}, "198.18.1.1") == Told((), 0)


def test_only_the_data_of_the_sender_counts() -> None:
    assert told_of({"connections": [connection(3_000_000, "application")]}, "198.18.2.1").retransmitted_segments == 1


def test_what_is_left_open_is_neither_right_nor_wrong() -> None:
    left_open = {"connections": [connection(3_000_000, "application", left_open=True)]}
    assert told_of(left_open, "198.18.1.1").result(("application",)) == "open"
    assert told_of({"connections": [connection(3_000_000, None)]}, "198.18.1.1").result(("idle",)) == "open"
    assert Told((), 0).result(("idle",)) == "open"


def test_one_wrong_connection_makes_a_transfer_wrong() -> None:
    shown = Told(("application", "open", "slow_start"), 0)
    assert shown.result(("application",)) == "wrong"
    assert shown.result(("application", "slow_start")) == "open"


def test_goodput_and_repeats_are_the_log_s() -> None:
    lost = data(1, 1001, in_s=0.1, out_s=0)
    rows = [data(0, 1, in_s=0, out_s=0.02), lost, data(2, 1001, in_s=0.98, out_s=1)]
    assert made_of(rows, []) == Made(1, 16_000.0, ())
    with pytest.raises(NotMadeError, match="no data"):
        made_of([], [])


def test_a_row_has_what_was_reported_and_what_is_true() -> None:
    lines = sections(Measured([judged("application"), judged("idle", repeats=4, problems=("late",))], ["rsync: why"]))
    right, wrong = lines[2:4]
    assert right.endswith("| right | right | right | 4.0 | 3 / 3 |")
    assert wrong.startswith("| nginx-limit (b) |")
    assert wrong.endswith("| **wrong**: `idle` | **wrong**: `idle` | **wrong**: `idle` | 4.0 | 3 / **4** |")
    assert "In all: sender 1 of 2 right, 0 open" in lines[5]
    assert lines[-1] == "Left out: rsync: why."


def test_the_results_go_between_their_markers(tmp_path: Path) -> None:
    document = tmp_path / "accuracy.md"
    document.write_text("before\n<!-- programs: begin -->\nold\n<!-- programs: end -->\nafter\n")
    assert write_document("programs", ["one", "two"], document)
    assert not write_document("nothing", ["three"], document)
    assert document.read_text() == "before\n<!-- programs: begin -->\none\ntwo\n<!-- programs: end -->\nafter\n"
    assert "<!-- programs: begin -->" in DOCUMENT.read_text()


def test_nothing_to_judge_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = programs.study(Options(tmp_path, 1, only="nginx-curl", no_runs=True))
    assert (outcome.count, outcome.failed) == ("0 transfers", False)
    assert "nginx-curl is left out: no run is there" in capsys.readouterr().out


def test_a_port_is_known_to_be_open_without_a_connection_to_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert listens(os.getpid(), port)
    assert not listens(os.getpid(), port)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_a_slow_server_answers_and_takes_uploads(address: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, 0), family=family) as free:
        port = free.getsockname()[1]
    host = f"[{address}]" if ":" in address else address
    url = f"http://{host}:{port}/"
    script = (
        "import sys, urllib.request as u\n"
        f"print(len(u.urlopen('{url}').read()))\n"
        f"print(u.urlopen(u.Request('{url}', bytes(40000), method='PUT')).status)"
    )
    manner = ("--answer-bytes", "5000", "--think", "0.01", "--piece-bytes", "2000", "--interval", "0.01")
    command = [sys.executable, "-m", "vmtrace.lab.accuracy.program_servers", address, str(port), *manner]
    # A process of its own, as in a transfer: what tests of other servers import changes how threads of this one wait.
    with subprocess.Popen(command, env=module_environment(), stderr=subprocess.DEVNULL) as server:
        try:
            deadline_s = time.monotonic() + 20
            while not listens(server.pid, port) and time.monotonic() < deadline_s:
                time.sleep(0.02)
            client = [sys.executable, "-c", script]
            done = subprocess.run(client, capture_output=True, text=True, check=True, timeout=20)
        finally:
            end_process(server)
    assert done.stdout.split() == ["5000", "200"]


@pytest.mark.root
@pytest.mark.usefixtures("real_hosts")
def test_a_real_transfer_is_made_captured_and_judged(tmp_path: Path) -> None:
    # Python's own server and client are there wherever the tests are.
    plain = transfer("slow-generator-curl")
    command = [sys.executable, "-c", "import sys, urllib.request as u; u.urlopen(sys.argv[1]).read()"]
    client = Program((), lambda ends: [*command, f"http://{ends.url_host}/"])
    short = ProgramTransfer("short", plain.told, plain.factors, plain.why, plain.server, client, plain.path, seed=3)
    measured = measure([short], tmp_path, 3)
    assert measured.left_out == []
    (one,) = measured.judged
    assert 600_000 * 8 / 12 < one.made.goodput_bps < 600_000 * 8 / 5.9
    assert one.made.retransmitted_segments == one.told["sender"].retransmitted_segments == 0
    assert one.told["sender"].verdicts == ("application",)
    assert program_runs.load(tmp_path / "short-seed3") == one.made
    assert not (tmp_path / "short-seed3" / "file.bin").exists()


@pytest.mark.root
@pytest.mark.usefixtures("real_hosts")
def test_a_program_that_fails_is_reported_with_what_it_said(tmp_path: Path) -> None:
    plain = transfer("slow-generator-curl")
    client = Program((), lambda _: [sys.executable, "-c", "import sys; sys.exit('cannot do it')"])
    failing = ProgramTransfer("failing", plain.told, plain.factors, plain.why, plain.server, client, plain.path)
    measured = measure([failing], tmp_path, 1)
    assert len(measured.left_out) == 1
    assert measured.left_out[0].endswith("ended with status 1: cannot do it")
