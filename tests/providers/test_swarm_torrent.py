"""Torrents: one file of any piece size; what is damaged, empty or of several files is refused in one line."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.providers.swarm_made import shared_file
from vmtrace.providers.errors import UsageError
from vmtrace.providers.swarm.client import library
from vmtrace.providers.swarm.errors import SwarmError
from vmtrace.providers.swarm.torrent import (
    check_file,
    made_torrent,
    parsed_torrent,
    piece_size_of,
    read_torrent,
    write_torrent,
)


@pytest.mark.parametrize("piece_bytes", [0, 16 << 10, 1 << 20, 4 << 20])
def test_any_piece_size_is_read_again_as_it_was_made(tmp_path: Path, piece_bytes: int) -> None:
    file, made = shared_file(tmp_path / "shared", 300_000, piece_bytes)
    write_torrent(made, tmp_path / "data.torrent")
    found = read_torrent(tmp_path / "data.torrent")
    assert found == made
    assert (found.name, found.size_bytes) == ("data.bin", 300_000)
    assert found.pieces == -(-300_000 // found.piece_bytes)
    assert check_file(file, found).wrong_pieces == 0


def test_a_torrent_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    _, made = shared_file(tmp_path / "shared", 1000)
    write_torrent(made, tmp_path / "data.torrent")
    assert (tmp_path / "data.torrent").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("change", ["flipped", "longer", "shorter"])
def test_a_file_that_is_not_the_torrents_has_wrong_pieces(tmp_path: Path, change: str) -> None:
    file, made = shared_file(tmp_path / "shared", 100_000, 16 << 10)
    content = file.read_bytes()
    flipped = content[:70_000] + bytes([content[70_000] ^ 1]) + content[70_001:]
    file.write_bytes({"flipped": flipped, "longer": content + b"x", "shorter": content[:-1]}[change])
    assert check_file(file, made).wrong_pieces == 1


def test_several_files_are_refused(tmp_path: Path) -> None:
    lt = library()
    folder = tmp_path / "two"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / name).write_bytes(b"x" * 40_000)
    made = lt.create_torrent(lt.list_files(str(folder)), 0, lt.create_torrent.v1_only)
    lt.set_piece_hashes(made, str(tmp_path))
    with pytest.raises(SwarmError, match=r"several\.torrent: the torrent has 2 files: make one of a single file"):
        parsed_torrent(lt.bencode(made.generate()), "several.torrent")


def test_a_torrent_of_version_2_can_be_used(tmp_path: Path) -> None:
    lt = library()
    file = tmp_path / "data.bin"
    file.write_bytes(b"y" * 100_000)
    made = lt.create_torrent(lt.list_files(str(file)), 16 << 10, lt.create_torrent.v2_only)
    lt.set_piece_hashes(made, str(tmp_path))
    found = parsed_torrent(lt.bencode(made.generate()), "v2")
    assert found.piece_hashes == ()
    assert len(found.info_hash) == 64
    assert check_file(file, found).wrong_pieces is None


@given(st.binary(max_size=300))
def test_what_is_no_torrent_is_an_error_of_one_line(content: bytes) -> None:
    with pytest.raises(SwarmError) as caught:
        parsed_torrent(content, "it")
    assert "\n" not in str(caught.value)


@given(st.integers(0, 400), st.integers(0, 255))
def test_a_damaged_torrent_never_raises_anything_else(place: int, value: int) -> None:
    content = bytearray(_small_torrent())
    content[place % len(content)] = value
    with suppress(SwarmError):
        parsed_torrent(bytes(content), "it")


def test_an_absent_file_and_an_empty_one_cannot_be_shared(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    for name, why in (("empty", "is empty"), ("absent", "no such file"), (".", "not a file")):
        with pytest.raises(SwarmError, match=why):
            made_torrent(tmp_path / name)


@pytest.mark.parametrize("size", [1, 1000, 48 << 10, 256 << 20])
def test_piece_sizes_that_bittorrent_does_not_take_are_refused(size: int) -> None:
    with pytest.raises(UsageError, match="a power of two"):
        piece_size_of(size)


_MADE: list[bytes] = []


def _small_torrent() -> bytes:
    if not _MADE:
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            _MADE.append(shared_file(Path(folder), 50_000)[1].content)
    return _MADE[0]
