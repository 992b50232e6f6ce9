"""Options of `vmtrace corpus` and its progress. What the commands do is tested in `tests/corpus/test_commands.py`."""

import argparse

import pytest

from vmtrace.commands.corpus_options import memory


@pytest.mark.parametrize(
    ("text", "size_bytes"), [("1GiB", 1 << 30), ("1.5 GiB", 3 << 29), ("512MiB", 512 << 20), ("1GB", 10**9)]
)
def test_memory_is_written_as_sizes_are_everywhere(text: str, size_bytes: int) -> None:
    assert memory(text) == size_bytes


@pytest.mark.parametrize("text", ["127MiB", "0", "much", "-1GiB", "1GiB more", "9e9"])
def test_memory_that_is_too_little_or_no_size_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"at least 128MiB|no size"):
        memory(text)
