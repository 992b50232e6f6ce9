"""Torrent files of one file: read with care, or made of a file.

A torrent is hostile input: libtorrent parses it within bounds, and what has several files or no size is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vmtrace.formats.durable import write_aside
from vmtrace.providers.errors import UsageError
from vmtrace.providers.swarm.client import library
from vmtrace.providers.swarm.errors import SwarmError, one_line

_LARGEST_TORRENT_BYTES = 64 << 20
LEAST_PIECE_BYTES, LARGEST_PIECE_BYTES = 16 << 10, 128 << 20  # what libtorrent takes


@dataclass(frozen=True, slots=True)
class Torrent:
    """One file to be shared, as its torrent describes it."""

    name: str
    size_bytes: int
    piece_bytes: int
    pieces: int
    info_hash: str
    """In hexadecimal; of version 1 where there is one."""
    trackers: tuple[str, ...]
    piece_hashes: tuple[bytes, ...]
    """SHA-1 of each piece; empty in a torrent of version 2 alone."""
    content: bytes
    """The torrent file."""

    def parameters(self, folder: Path) -> Any:
        """libtorrent's parameters to share it in a folder, with neither the trackers nor the web seeds it names."""
        made = library().load_torrent_buffer(self.content)
        made.save_path, made.trackers, made.url_seeds = str(folder), [], []
        return made

    def place(self, folder: Path) -> Path:
        """Where libtorrent writes the file in a folder; the name is libtorrent's, cleaned of what leads elsewhere."""
        return folder / str(self.parameters(folder).ti.layout().file_path(0))

    def as_record(self) -> dict[str, Any]:
        """For `run.json`."""
        return {
            "name": self.name,
            "size_bytes": self.size_bytes,
            "piece_bytes": self.piece_bytes,
            "pieces": self.pieces,
            "info_hash": self.info_hash,
        }


def read_torrent(path: Path) -> Torrent:
    """The torrent in a file; raises `SwarmError`."""
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_TORRENT_BYTES + 1)
    except OSError as error:
        raise SwarmError(f"{path}: {error.strerror}") from error
    if len(content) > _LARGEST_TORRENT_BYTES:
        raise SwarmError(f"{path}: larger than {_LARGEST_TORRENT_BYTES >> 20} MiB: not a torrent file")
    return parsed_torrent(content, str(path))


def parsed_torrent(content: bytes, about: str) -> Torrent:
    """The torrent in these bytes; raises `SwarmError`, whose message begins with `about`."""
    lt = library()
    try:
        parameters = lt.load_torrent_buffer(content)
    except (RuntimeError, TypeError, ValueError) as error:
        raise SwarmError(f"{about}: not a torrent file ({one_line(str(error))})") from error
    info, files = parameters.ti, _files(parameters.ti.layout())
    if files != 1:
        raise SwarmError(f"{about}: the torrent has {files} files: make one of a single file")
    if info.total_size() <= 0:
        raise SwarmError(f"{about}: the torrent's file is empty: there is nothing to measure")
    hashes = info.info_hashes()
    first = hashes.v1 if hashes.has_v1() else hashes.v2
    pieces = tuple(bytes(info.hash_for_piece(piece)) for piece in range(info.num_pieces())) if hashes.has_v1() else ()
    return Torrent(
        name=one_line(info.name()),
        size_bytes=info.total_size(),
        piece_bytes=info.piece_length(),
        pieces=info.num_pieces(),
        info_hash=str(first),
        trackers=tuple(parameters.trackers),
        piece_hashes=pieces,
        content=content,
    )


def _files(layout: Any) -> int:
    """How many files there are, without those that only fill up a piece."""
    padding = library().file_flags_t.flag_pad_file
    return sum(not layout.file_flags(number) & padding for number in range(layout.num_files()))


def made_torrent(
    path: Path, trackers: tuple[str, ...] = (), piece_bytes: int = 0, hashed: Callable[[int], object] = lambda _: None
) -> Torrent:
    """The torrent of a file (`piece_bytes` 0: libtorrent chooses); `hashed` is called with each piece's number.

    A web seed's URL is no part of it: a signed one would be published with the torrent.
    """
    lt = library()
    if not path.is_file():
        raise SwarmError(f"{path}: {'not a file' if path.exists() else 'no such file'}: name the file to be shared")
    if path.stat().st_size == 0:
        raise SwarmError(f"{path}: the file is empty: there is nothing to share")
    try:
        made = lt.create_torrent(lt.list_files(str(path.resolve())), piece_bytes, lt.create_torrent.v1_only)
        for tracker in trackers:
            made.add_tracker(tracker)
        lt.set_piece_hashes(made, str(path.resolve().parent), hashed)
        return parsed_torrent(lt.bencode(made.generate()), str(path))
    except RuntimeError as error:
        raise SwarmError(f"{path}: no torrent can be made of it: {one_line(str(error))}") from error


def piece_size_of(size_bytes: int) -> int:
    """A piece size that BitTorrent takes, 0 for libtorrent's choice; raises `UsageError`."""
    if size_bytes == 0:
        return 0
    if not LEAST_PIECE_BYTES <= size_bytes <= LARGEST_PIECE_BYTES or size_bytes & (size_bytes - 1):
        raise UsageError(f"--piece-size: {size_bytes:,} bytes: expected a power of two from 16 KiB to 128 MiB")
    return size_bytes


def write_torrent(torrent: Torrent, path: Path) -> None:
    """Write the torrent file; raises `SwarmError`."""
    try:
        write_aside(path, torrent.content)
    except OSError as error:
        raise SwarmError(f"{path}: {error.strerror}") from error


@dataclass(frozen=True, slots=True)
class Checked:
    """What a downloaded file turned out to be."""

    sha256: str
    wrong_pieces: int | None
    """Pieces whose SHA-1 is not the torrent's; None for a torrent without them."""


def check_file(path: Path, torrent: Torrent) -> Checked:
    """Digest a file once more, apart from libtorrent; raises `OSError` where it cannot be read."""
    sha256, wrong = hashlib.sha256(), 0
    with path.open("rb") as file:
        for expected in torrent.piece_hashes:
            piece = file.read(torrent.piece_bytes)
            sha256.update(piece)
            wrong += hashlib.sha1(piece, usedforsecurity=False).digest() != expected
        rest = 0
        while block := file.read(1 << 20):
            sha256.update(block)
            rest += len(block)
    if not torrent.piece_hashes:
        return Checked(sha256.hexdigest(), None)
    return Checked(sha256.hexdigest(), wrong + (rest > 0))
