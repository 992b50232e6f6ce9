import json
import os
import select

import pytest

from vmtrace.receiver import log as module
from vmtrace.receiver.log import Log


def test_people_get_a_line_and_programs_an_object(capsys: pytest.CaptureFixture[str]) -> None:
    Log().event("run", "a run", peer="x")
    assert capsys.readouterr().out == "a run\n"
    Log(json_lines=True).event("run", "a run", peer="x")
    said = json.loads(capsys.readouterr().out)
    assert (said["event"], said["peer"]) == ("run", "x")
    assert said["time_ns"] > 0


def test_quiet_says_the_address_and_trouble_only(capsys: pytest.CaptureFixture[str]) -> None:
    log = Log(quiet=True)
    log.event("run", "a run")
    log.event("listening", "listening on x")
    log.trouble("no")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("listening on x\n", "vmtrace: no\n")


def test_hostile_events_are_few_and_counted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Log()
    for _ in range(1000):
        log.hostile("wrong_key", "wrong key")
    assert capsys.readouterr().out.splitlines() == ["wrong key"] * 30
    monkeypatch.setattr(module, "_HOSTILE_EVENTS_S", 0.0)
    log.hostile("wrong_key", "wrong key")
    assert capsys.readouterr().out == "wrong key (and 970 more such events before)\n"
    log.hostile("wrong_key", "wrong key")
    monkeypatch.setattr(module, "_HOSTILE_EVENTS_S", 3600.0)
    for _ in range(1000):
        log.hostile("wrong_key", "wrong key")
    assert capsys.readouterr().out.splitlines() == ["wrong key"] * 30


def test_a_reader_that_went_away_is_no_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("builtins.print", broken)
    Log().event("run", "a run")
    Log().trouble("no")


def test_a_reader_that_does_not_read_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    with os.fdopen(writer, "w") as full, os.fdopen(reader) as late:
        monkeypatch.setattr("sys.stdout", full)
        log = Log()
        for _ in range(2000):
            log.event("run", "x" * 100)
        os.set_blocking(reader, False)
        seen = late.read()
        log.event("run", "now")
        log.event("run", "again")
        seen += late.read()
    lines = seen.splitlines()
    assert 100 < len(lines) < 2000
    gap = f"({2000 - (len(lines) - 3)} earlier events were left out: nobody read them)"
    assert lines[-3:] == [gap, "now", "again"]


def test_a_line_is_never_longer_than_a_pipe_takes_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    Log().event("run", "x" * 100_000)
    assert len(capsys.readouterr().out) == select.PIPE_BUF
