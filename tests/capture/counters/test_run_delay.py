"""How long threads of a program wait for a processor, from files like the kernel's."""

from __future__ import annotations

from pathlib import Path

import pytest

from vmtrace.capture.counters.run_delay import SOURCE, ThreadDelays
from vmtrace.capture.counters.source import Where


def task(root: Path, number: int, text: str) -> Path:
    folder = root / "proc/self/task" / str(number)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "schedstat").write_text(text)
    return folder


def test_it_is_the_sum_of_all_threads_and_keeps_those_that_ended(tmp_path: Path) -> None:
    task(tmp_path, 1, "5 2000000000 7\n")
    ended = task(tmp_path, 2, "5 500000000 7\n")
    delays = ThreadDelays(tmp_path)
    assert delays.seconds() == 2.5
    (ended / "schedstat").unlink()
    ended.rmdir()
    task(tmp_path, 1, "5 3000000000 7\n")
    assert delays.seconds() == 3.5


def test_a_number_that_another_thread_has_now_counts_both(tmp_path: Path) -> None:
    task(tmp_path, 1, "5 2000000000 7\n")
    delays = ThreadDelays(tmp_path)
    delays.seconds()
    task(tmp_path, 1, "5 100000000 7\n")
    assert delays.seconds() == pytest.approx(2.1)


@pytest.mark.parametrize("text", ["", "5\n", "5 many 7\n"])
def test_what_cannot_be_read_is_no_column(tmp_path: Path, text: str) -> None:
    assert SOURCE(Where(root=tmp_path)).read() == {}
    task(tmp_path, 1, text)
    assert SOURCE(Where(root=tmp_path)).read() == {}


def test_this_program_has_one() -> None:
    if not Path("/proc/self/schedstat").exists():
        pytest.skip("this kernel keeps no run delay")
    assert SOURCE(Where()).read()["run_delay_s"] >= 0
