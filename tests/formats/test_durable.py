"""After a crash or a full disk a file is whole, or as it was; its owner alone may read it."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmtrace.formats.durable import append_line, hold_folder, make_folder, read_lines, repair_tail, write_aside

# A process whose files may not grow beyond 4096 bytes meets EFBIG, as it would meet ENOSPC on a full disk.
LIMITED = """
import resource, signal, sys
from pathlib import Path
from vmtrace.formats.durable import append_line, write_aside
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    {call}
except OSError as error:
    print(error.errno, error.filename)
"""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_what_is_written_aside_replaces_the_whole_file_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text("something much longer than what follows")
    write_aside(path, b"{}")
    assert path.read_bytes() == b"{}"
    assert list(tmp_path.iterdir()) == [path]


def test_files_and_folders_are_their_owner_s_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        make_folder(tmp_path / "a" / "b")
        write_aside(tmp_path / "a" / "b" / "whole", b"x")
        append_line(tmp_path / "a" / "b" / "lines", "x")
    finally:
        os.umask(before)
    assert [mode(path) for path in sorted((tmp_path / "a").rglob("*"))] == [0o700, 0o600, 0o600]
    assert mode(tmp_path / "a") == 0o700


def test_making_a_folder_twice_is_fine_and_a_file_in_its_place_is_not(tmp_path: Path) -> None:
    make_folder(tmp_path / "folder")
    make_folder(tmp_path / "folder")
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError) as caught:
        make_folder(tmp_path / "file")
    assert caught.value.filename == str(tmp_path / "file")


@pytest.mark.parametrize("write", [lambda path: write_aside(path, b"x"), lambda path: append_line(path, "x")])
def test_a_folder_that_vanished_is_an_error_with_the_path(tmp_path: Path, write) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "gone" / "file"
    with pytest.raises(FileNotFoundError) as caught:
        write(path)
    assert caught.value.filename == str(path)


@pytest.mark.parametrize(
    "call", ["write_aside(Path(sys.argv[1]), bytes(9000))", "append_line(Path(sys.argv[1]), '-' * 9000)"]
)
def test_a_full_disk_leaves_the_file_as_it_was(tmp_path: Path, call: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"before\n")
    done = subprocess.run(
        [sys.executable, "-c", LIMITED.format(call=call), str(path)], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{errno.EFBIG} {path}\n"
    assert path.read_bytes() == b"before\n"
    assert list(tmp_path.iterdir()) == [path]


def test_a_torn_last_line_is_not_read_and_is_cut_before_the_next_is_appended(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    append_line(path, '{"sequence": 1}')
    with path.open("a") as file:
        file.write('{"sequ')
    assert read_lines(path) == ['{"sequence": 1}']
    assert repair_tail(path) == 6
    append_line(path, '{"sequence": 2}')
    assert read_lines(path) == ['{"sequence": 1}', '{"sequence": 2}']


def test_repairing_nothing_changes_nothing(tmp_path: Path) -> None:
    assert repair_tail(tmp_path / "absent") == 0
    assert not (tmp_path / "absent").exists()
    append_line(tmp_path / "whole", "line")
    assert repair_tail(tmp_path / "whole") == 0


def test_a_torn_line_longer_than_a_block_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"whole\n" + b"-" * 200_000)
    assert repair_tail(path) == 200_000
    assert path.read_bytes() == b"whole\n"


def test_a_line_with_a_newline_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="newline"):
        append_line(tmp_path / "file", "two\nlines")


@given(
    lines=st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]))),
    torn=st.binary(max_size=20),
)
def test_lines_come_back_as_they_were_whatever_was_torn(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], torn: bytes
) -> None:
    path = tmp_path_factory.mktemp("lines") / "file"
    path.touch()
    for line in lines:
        append_line(path, line)
    with path.open("ab") as file:
        file.write(torn.replace(b"\n", b""))
    assert read_lines(path) == lines
    repair_tail(path)
    assert path.read_bytes() == "".join(line + "\n" for line in lines).encode()


def test_a_folder_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    held = hold_folder(tmp_path)
    with pytest.raises(BlockingIOError):
        hold_folder(tmp_path)
    os.close(held)
    os.close(hold_folder(tmp_path))
