"""Instructions per packet: what callgrind counts becomes a table, budgets are kept or not, missing programs named."""

import shutil
from pathlib import Path

import pytest

from bench import kinds
from tools.engine_instructions import (
    Budget,
    Counted,
    Size,
    above,
    collected,
    freeze,
    instructions,
    peak_bytes,
    read,
    table,
    what_is_missing,
)

REPORT = "==7== Events    : Ir\n==7== Collected : 63034334\n==7==\n==7== I   refs:      63,034,334\n"
BUDGETS = {"short": Budget(1000, 600, "connection", "short connections")}


def counted(per_packet: int, connection_bytes: int = 600) -> Counted:
    smaller = Size(1000, 50, 5_000 + 1000 * per_packet, 1 << 20)
    return Counted("short", smaller, Size(2000, 100, 5_000 + 2000 * per_packet, (1 << 20) + 50 * connection_bytes))


def test_the_count_is_read_from_the_report() -> None:
    assert collected(REPORT) == 63034334
    with pytest.raises(ValueError, match="no count"):
        collected("==7== Fatal error")


def test_what_is_done_once_is_left_out() -> None:
    assert counted(990).per_packet == 990
    assert counted(990).memory("connection") == 600
    assert counted(990).memory("packet") == 30


def test_the_table_has_a_row_for_each_kind() -> None:
    row = table([counted(850)], BUDGETS).splitlines()[-1]
    assert row == "| short | short connections | 1,000 and 2,000 | 850 | 600 bytes a connection |"


def test_a_budget_is_exceeded_by_more_than_three_percent() -> None:
    assert above([counted(1029)], BUDGETS) == []
    [line] = above([counted(1031)], BUDGETS)
    assert "short takes 1,031 instructions a packet, 3.1% above the budget of 1,000" in line
    [line] = above([counted(1000, connection_bytes=700)], BUDGETS)
    assert "short takes 700 bytes a connection, 600 are allowed" in line


def test_freezing_writes_what_was_counted(tmp_path: Path) -> None:
    path = tmp_path / "budget.tsv"
    path.write_text("# what for\n")
    freeze([counted(900, connection_bytes=500)], BUDGETS, path)
    assert path.read_text().startswith("# what for\n")
    assert read(path) == {"short": Budget(900, 500, "connection", "short connections")}


def test_each_kind_has_a_budget() -> None:
    assert set(read()) == set(kinds.NAMES)
    assert all(budget.instructions > 0 for budget in read().values())


def fake(folder: Path, name: str, script: str) -> Path:
    program = folder / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return program


def test_the_program_is_run_by_callgrind_on_one_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(tmp_path, "valgrind", f'echo "$@" > {tmp_path}/asked\necho "Collected : 42" >&2')
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert instructions(tmp_path / "analyze", tmp_path / "x.pcap") == 42
    asked = (tmp_path / "asked").read_text().split()
    assert "--tool=callgrind" in asked
    assert asked[-3:] == [str(tmp_path / "analyze"), str(tmp_path / "x.pcap"), "1"]


def test_the_peak_of_memory_is_what_the_program_says(tmp_path: Path) -> None:
    program = fake(tmp_path, "analyze", "echo 'VmHWM:\t    2048 kB' >&2")
    assert peak_bytes(program, tmp_path / "x.pcap") == 2 << 20


def test_missing_programs_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: "/usr/bin/valgrind")
    assert "cargo build" in str(what_is_missing(tmp_path))
    for name in ("analyze", "bench_generate"):
        (tmp_path / name).touch()
    assert what_is_missing(tmp_path) is None
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    assert "apt-get install valgrind" in str(what_is_missing(tmp_path))
