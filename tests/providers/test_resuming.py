"""The end of a log, read without the rest of it."""

from pathlib import Path

from vmtrace.providers.resuming import last_lines


def test_only_complete_lines_of_the_end_are_read(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    assert last_lines(path) == []
    path.write_bytes(b"one\ntwo\ntor")
    assert last_lines(path) == [b"one", b"two"]
    path.write_bytes(b"x" * 3_000_000 + b"\nlast but one\nlast\n")
    assert last_lines(path) == [b"last but one", b"last"]
