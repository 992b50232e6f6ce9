"""The run folder survives being cut off anywhere, and is never shared."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vmtrace.capture.campaign import COMPLETE, INTERRUPTED
from vmtrace.sender.errors import SenderError
from vmtrace.sender.plan import Plan
from vmtrace.sender.run_folder import RunFolder, pair_records
from vmtrace.sender.settings import Settings

NewRun = Callable[..., RunFolder]


def pair(sequence: int, status: str = COMPLETE) -> dict[str, Any]:
    return {"sequence": sequence, "status": status, "probe": None, "data": None}


def state(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((path / "run.json").read_text())
    return content


def test_a_run_is_described_from_its_first_moment(new_run: NewRun, plan: Plan) -> None:
    folder = new_run()
    content = state(folder.path)
    assert (content["schema"], content["status"], content["pairs_planned"]) == ("vmtrace.run/1", "running", 3)
    assert (content["start_ns"], content["end_ns"], content["sessions"][0]["end_ns"]) == (1_000, None, None)
    assert folder.plan == plan


def test_only_its_owner_can_read_a_run(new_run: NewRun) -> None:
    folder = new_run()
    folder.add_pair(pair(1))
    folder.add_attempt(2, 1, "lost")
    folder.add_echo(2, "icmp", 5, 0.1)
    for path in [folder.path, *folder.path.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_counts_and_ends_are_kept(new_run: NewRun) -> None:
    folder = new_run()
    folder.add_pair(pair(1))
    folder.add_pair(pair(2, "failed"))
    folder.end(INTERRUPTED, "stopped by a signal")
    content = state(folder.path)
    assert (content["pairs_finished"], content["pairs_failed"]) == (2, 1)
    assert (content["status"], content["error"]) == (INTERRUPTED, "stopped by a signal")
    assert content["end_ns"] == content["sessions"][0]["end_ns"]


def test_a_folder_with_something_in_it_is_refused(tmp_path: Path, plan: Plan, new_run: NewRun) -> None:
    (tmp_path / "note").write_text("mine")
    with pytest.raises(SenderError, match="there is something in this folder: name a new folder"):
        RunFolder.create(tmp_path, plan, Settings(), "", None)
    folder = new_run()
    with pytest.raises(SenderError, match="give --resume to go on with it"):
        RunFolder.create(folder.path, plan, Settings(), "", None)


def test_a_file_in_the_place_of_a_folder_is_one_line(tmp_path: Path, plan: Plan) -> None:
    (tmp_path / "run").write_text("")
    with pytest.raises(SenderError, match="run: Not a directory"):
        RunFolder.create(tmp_path / "run", plan, Settings(), "", None)


def test_a_run_that_never_began_leaves_nothing(tmp_path: Path, plan: Plan) -> None:
    RunFolder.create(tmp_path / "run", plan, Settings(), "", None).close()
    assert not (tmp_path / "run").exists()


def test_two_senders_never_share_a_run(new_run: NewRun) -> None:
    folder = new_run()
    with pytest.raises(SenderError, match="another vmtrace is writing to this run"):
        RunFolder.open(folder.path)


def test_where_no_run_is_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(SenderError, match=r"no run is there \(no run.json\)"):
        RunFolder.open(tmp_path)
    (tmp_path / "run.json").write_text('{"schema": "vmtrace.run/2"}')
    with pytest.raises(SenderError, match=r"it is vmtrace\.run/2, and this vmtrace reads vmtrace\.run/1"):
        RunFolder.open(tmp_path)
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(SenderError, match=r"run\.json: "):
        RunFolder.open(tmp_path)


def test_pairs_cut_off_at_any_byte_of_their_last_line_are_gone_on_with_rightly(new_run: NewRun) -> None:
    folder = new_run()
    folder.add_pair(pair(1))
    folder.add_pair(pair(2))
    folder.close()
    path = folder.path / "pairs.jsonl"
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    for length in range(first, len(whole) + 1):
        path.write_bytes(whole[:length])
        again = RunFolder.open(folder.path)
        done = 2 if length == len(whole) else 1
        assert again.finished == done
        again.add_pair(pair(done + 1))
        again.close()
        assert [record["sequence"] for record in pair_records(folder.path)] == list(range(1, done + 2))
    folder._lock = os.open(folder.path, os.O_RDONLY)  # for the fixture, which closes it


def test_lines_that_were_changed_are_reported(new_run: NewRun) -> None:
    folder = new_run()
    (folder.path / "pairs.jsonl").write_text('{"sequence": 2}\n')
    with pytest.raises(SenderError, match="line 1 is not about pair 1"):
        list(pair_records(folder.path))
    (folder.path / "pairs.jsonl").write_text("[]\n")
    with pytest.raises(SenderError, match="line 1 is damaged"):
        list(pair_records(folder.path))


def test_going_on_removes_the_files_of_the_pair_in_flight_and_no_others(new_run: NewRun) -> None:
    folder = new_run()
    folder.add_pair(pair(1))
    (folder.path / "packets/receiver").mkdir()
    kept = [folder.path_of("packets", 1, "data"), folder.path / "packets/receiver/0001-probe.pcap"]
    gone = [
        folder.path_of("packets", 2, "probe"),
        folder.path_of("capture", 2, "probe"),
        folder.path_of("tcpinfo", 2, "probe"),
        folder.path / "packets/receiver/0002-probe.pcap",
        folder.path / "packets/receiver/.0002-probe.pcap.fetching",
    ]
    for path in kept + gone:
        path.write_bytes(b"x")
    folder.begin_session(2_000)
    assert all(path.exists() for path in kept)
    assert not any(path.exists() for path in gone)
    assert [session["start_ns"] for session in state(folder.path)["sessions"]] == [1_000, 2_000]
    assert state(folder.path)["start_ns"] == 1_000


def test_echoes_are_numbered_on(new_run: NewRun) -> None:
    folder = new_run()
    folder.add_echo(1, "icmp", 5, 0.1)
    folder.add_echo(1, "icmp", 6, None)
    folder.close()
    again = RunFolder.open(folder.path)
    again.add_echo(1, "tcp", 7, 0.2)
    again.close()
    lines = [json.loads(line) for line in (folder.path / "ping.jsonl").read_text().splitlines()]
    assert [(line["sequence"], line["rtt_s"]) for line in lines] == [(1, 0.1), (2, None), (3, 0.2)]
    folder._lock = os.open(folder.path, os.O_RDONLY)


def test_the_time_of_all_sessions_counts(new_run: NewRun) -> None:
    folder = new_run()
    folder._state["sessions"][0]["elapsed_s"] = 100.0
    folder.begin_session(2_000)
    assert 100 <= folder.elapsed_s < 110
    assert folder.sessions == 2


def test_what_is_noted_after_the_last_session_adds_nothing_to_its_time(new_run: NewRun) -> None:
    """`vmtrace fetch` opens a run and notes what it got; the time of a run limited by `--for` is summed from this."""
    folder = new_run()
    folder._state["sessions"][0]["elapsed_s"] = 100.0
    folder._began_s = None
    folder.note(receiver_half=None)
    folder.close()
    fetching = RunFolder.open(folder.path)
    fetching.note(receiver_half={"status": COMPLETE})
    assert (fetching.elapsed_s, fetching.receiver_half_complete) == (0.0, True)
    fetching.close()
    assert state(folder.path)["sessions"][0]["elapsed_s"] == 100.0
    folder._lock = os.open(folder.path, os.O_RDONLY)


@pytest.mark.parametrize("sessions", [None, "many", [3, {"elapsed_s": "long"}]])
def test_strange_words_of_a_changed_run_json_are_no_defect(new_run: NewRun, sessions: object) -> None:
    folder = new_run()
    folder.close()
    content = {**state(folder.path), "sessions": sessions, "receiver_half": "whole"}
    (folder.path / "run.json").write_text(json.dumps(content))
    again = RunFolder.open(folder.path)
    assert not again.receiver_half_complete
    again.begin_session(2_000)
    assert again.elapsed_s < 10
    again.close()
    folder._lock = os.open(folder.path, os.O_RDONLY)


def test_a_run_that_cannot_be_opened_is_not_held(new_run: NewRun) -> None:
    folder = new_run()
    folder.close()
    (folder.path / "pairs.jsonl").write_text("damaged\n")
    with pytest.raises(SenderError, match="line 1 is damaged"):
        RunFolder.open(folder.path)
    (folder.path / "pairs.jsonl").unlink()
    RunFolder.open(folder.path).close()
    folder._lock = os.open(folder.path, os.O_RDONLY)


def test_settings_and_plan_come_back(new_run: NewRun) -> None:
    settings = Settings(capture=False, tcp_info_interval_s=None, patience_s=5.0, attempts=2)
    folder = new_run(settings=settings)
    assert folder.settings == settings
    folder._state["settings"] = {"attempts": "many"}
    with pytest.raises(SenderError, match=r"run\.json: settings: attempts: expected a whole number"):
        _ = folder.settings
