"""Ratios of instructions: what callgrind counts of each thread is read, the best try counts, what is above is named."""

from pathlib import Path

import pytest

from bench import kinds
from tools import engine_ratios
from tools.engine_ratios import Bound, above, by_thread, measured, of_thread, table

BOUND = Bound("few", 0.6, 0.53, times=1)


def test_the_count_of_a_thread_is_the_sum_at_its_end() -> None:
    assert of_thread("summary: 5\nfn=(1) main\n7 41\ntotals: 42\n") == 42
    assert of_thread("fn=(1) main\n") == 0


def test_what_is_above_what_is_allowed_is_named() -> None:
    assert above([(BOUND, 0.6)]) == []
    assert above([(BOUND, 0.61)]) == ["ratio: few: 0.610, at most 0.6 is allowed (0.53 is wanted)"]
    assert table([(BOUND, 0.61)]).splitlines()[-1] == "| few | 0.610 | 0.6 | 0.53 |"


def test_nothing_is_allowed_below_what_is_wanted() -> None:
    assert all(bound.allowed >= bound.wanted for bound in engine_ratios.BOUNDS)


def fake_valgrind(folder: Path, monkeypatch: pytest.MonkeyPatch, counts: str) -> None:
    """Writes what callgrind would: a file for each thread; `counts` are words of a shell."""
    program = folder / "valgrind"
    lines = [
        "#!/bin/sh",
        "for word; do case $word in --callgrind-out-file=*) out=${word#*=};; esac; done",
        f"set -- {counts}",
        'echo "totals: $1" > $out-01; echo "totals: $2" > $out-02',
    ]
    program.write_text("\n".join(lines) + "\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


def test_each_thread_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_valgrind(tmp_path, monkeypatch, "30 70")
    assert by_thread(tmp_path / "analyze", tmp_path / "x.pcap", threads=2) == [30, 70]


def test_the_best_try_counts_and_ends_the_tries_once_it_is_what_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = iter([[60, 40], [57, 43], [52, 48], [50, 50]])
    monkeypatch.setattr(engine_ratios, "by_thread", lambda *_args, **_options: next(tries))
    monkeypatch.setattr(kinds, "cut", lambda *_args: kinds.Cut(tmp_path, 1, 1))
    assert measured(BOUND, tmp_path) == 0.52
    assert next(tries) == [50, 50]
