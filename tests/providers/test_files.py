"""Files to be transferred: random, of their size, with the digests that services give."""

import hashlib
import shutil
import zlib
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from vmtrace.providers.errors import ProvidersError
from vmtrace.providers.files import craft, discard
from vmtrace.providers.plan import CHANGED, COMPRESSIBLE, CONTENTS, RANDOM, REPEATED, Workload


def test_files_have_their_size_and_digests_and_no_two_are_alike(tmp_path: Path) -> None:
    heard: list[int] = []
    files = craft(tmp_path / "files", Workload("a", 3, 2_500_000), None, heard.append)
    for file in files:
        content = file.path.read_bytes()
        assert len(content) == file.size_bytes == 2_500_000
        assert file.sha256 == hashlib.sha256(content).hexdigest()
        assert file.md5 == hashlib.md5(content, usedforsecurity=False).hexdigest()
        assert file.part_md5s == ()
    assert len({file.sha256 for file in files}) == 3
    assert sum(heard) == 3 * 2_500_000


@pytest.mark.parametrize(("size", "parts"), [(1, 1), (1_500_000, 1), (1_500_001, 2), (3_000_000, 2)])
def test_parts_are_those_that_a_service_cuts(tmp_path: Path, size: int, parts: int) -> None:
    (file,) = craft(tmp_path, Workload("a", 1, size), 1_500_000)
    content = file.path.read_bytes()
    cut = [content[start : start + 1_500_000] for start in range(0, size, 1_500_000)]
    assert file.part_md5s == tuple(hashlib.md5(part, usedforsecurity=False).hexdigest() for part in cut)
    assert len(cut) == parts


def test_files_that_do_not_fit_are_not_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1000))
    with pytest.raises(ProvidersError, match=r"1 GB of files do not fit \(1 kB free\)"):
        craft(tmp_path / "files", Workload("a", 1, 10**9), None)
    assert list((tmp_path / "files").iterdir()) == []


def test_a_folder_that_cannot_be_made_is_reported_and_one_that_is_gone_can_be_discarded(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    with pytest.raises(ProvidersError, match="files cannot be made"):
        craft(tmp_path / "plain" / "files", Workload("a", 1, 1), None)
    discard(tmp_path / "nowhere")


def test_nothing_is_left_after_discarding(tmp_path: Path, request: Any) -> None:
    craft(tmp_path / "files", Workload("a", 2, 10), None)
    discard(tmp_path / "files")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size", [1, 7, 100_000, 1_500_001])
@pytest.mark.parametrize("content", CONTENTS)
def test_files_of_every_content_have_their_size_and_digests(tmp_path: Path, content: str, size: int) -> None:
    for file in craft(tmp_path, Workload("a", 3, size, content), 1_000_000):
        found = file.path.read_bytes()
        assert len(found) == size
        assert file.sha256 == hashlib.sha256(found).hexdigest()


def contents(folder: Path, content: str) -> list[bytes]:
    return [file.path.read_bytes() for file in craft(folder, Workload("a", 3, 200_000, content), None)]


def test_text_compresses_to_an_eighth_and_what_is_random_does_not(tmp_path: Path) -> None:
    sizes = {content: len(zlib.compress(contents(tmp_path, content)[0])) for content in CONTENTS}
    assert sizes[COMPRESSIBLE] < 200_000 / 6
    assert min(sizes[RANDOM], sizes[REPEATED], sizes[CHANGED]) > 200_000


def test_repeated_files_are_alike_and_changed_ones_but_for_a_hundredth(tmp_path: Path) -> None:
    assert len(set(contents(tmp_path, REPEATED))) == 1
    changed = contents(tmp_path, CHANGED)
    for one, other in pairwise(changed):
        apart = [at for at, (old, new) in enumerate(zip(one, other, strict=True)) if old != new]
        assert 0 < apart[-1] - apart[0] < 2_000
