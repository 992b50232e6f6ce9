"""Instructions per packet: what callgrind prints becomes a table, and what is missing is named."""

import shutil
from pathlib import Path

import pytest

from tools import engine_instructions
from tools.engine_instructions import Counted, Size, collected, instructions, table, what_is_missing

REPORT = "==7== Events    : Ir\n==7== Collected : 63034334\n==7==\n==7== I   refs:      63,034,334\n"


def test_the_count_is_read_from_the_report() -> None:
    assert collected(REPORT) == 63034334
    with pytest.raises(ValueError, match="no count"):
        collected("==7== Fatal error")


def test_what_is_done_once_is_left_out() -> None:
    assert Counted("few", Size(1000, 5_000 + 1000 * 990), Size(2000, 5_000 + 2000 * 990)).per_packet == 990


def test_the_table_compares_with_the_baseline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(engine_instructions.BASELINE, "few", 1000.0)
    row = table([Counted("few", Size(1000, 900_000), Size(2000, 1_750_000))]).splitlines()[-1]
    assert row == "| few | 1,000 and 2,000 | 900,000 and 1,750,000 | 850.0 | 0.8500 |"


def test_the_program_is_run_by_callgrind_on_one_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "valgrind"
    fake.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\necho "Collected : 42" >&2\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert instructions(tmp_path / "analyze", tmp_path / "x.pcap") == 42
    asked = (tmp_path / "asked").read_text().split()
    assert "--tool=callgrind" in asked
    assert asked[-3:] == [str(tmp_path / "analyze"), str(tmp_path / "x.pcap"), "1"]


def test_missing_programs_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: "/usr/bin/valgrind")
    assert "cargo build --release" in str(what_is_missing(tmp_path))
    for name in ("analyze", "bench_generate"):
        (tmp_path / name).touch()
    assert what_is_missing(tmp_path) is None
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    assert "apt-get install valgrind" in str(what_is_missing(tmp_path))
