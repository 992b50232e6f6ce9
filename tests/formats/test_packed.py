"""A file is read the same whatever packed it, and whatever it is called."""

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from vmtrace.formats.packed import opened


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_content_is_that_before_it_was_packed(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "x"
    path.write_bytes(pack(b"one\ntwo\n"))
    with opened(path) as file:
        assert file.read() == b"one\ntwo\n"


def test_an_empty_file_and_one_cut_off_in_its_first_bytes_are_read_as_they_are(tmp_path: Path) -> None:
    for content in (b"", b"\x1f", b"\xfd7z"):
        (tmp_path / "x").write_bytes(content)
        with opened(tmp_path / "x") as file:
            assert file.read() == content
