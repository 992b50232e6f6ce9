"""Step 2 of a transaction: files of the content that is wanted, in a folder that is gone when the run is over."""

import hashlib
import os
import shutil
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

from vmtrace.formats.quantities import shown_decimal_bytes
from vmtrace.providers.errors import ProvidersError
from vmtrace.providers.plan import CHANGED, COMPRESSIBLE, RANDOM, Workload
from vmtrace.providers.service import LocalFile

_BLOCK_BYTES = 1 << 20
_CHANGED_PART = 100
_WORD_BYTES = 8
_WORDS = [f"word {number:x}\n ".encode()[:_WORD_BYTES] for number in range(16)]
_SPARE_BYTES = 64 << 20  # the packets and the logs need some room, too


def craft(
    folder: Path, workload: Workload, part_bytes: int | None, made: Callable[[int], None] = lambda _: None
) -> list[LocalFile]:
    """The files of a workload; those of random content are never the same twice. `made` hears of each block's bytes.

    Raises `ProvidersError` where the disk has no room for them.
    """
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        free_bytes = shutil.disk_usage(folder).free
        if free_bytes < workload.bytes + _SPARE_BYTES:
            raise ProvidersError(
                f"{folder}: {shown_decimal_bytes(workload.bytes)} of files do not fit"
                f" ({shown_decimal_bytes(free_bytes)} free): "
                "choose another --out or a smaller --scale"
            )
        files: list[LocalFile] = []
        for number in range(1, workload.files + 1):
            blocks = _blocks(workload.content, files[-1].path if files else None, workload.size_bytes)
            files.append(_craft_one(folder / f"{number:05d}", workload.size_bytes, part_bytes, made, blocks))
        return files
    except OSError as error:
        raise ProvidersError(f"{folder}: files cannot be made: {error.strerror}") from error


def discard(folder: Path) -> None:
    """Remove the files and their folder; what cannot be removed stays."""
    shutil.rmtree(folder, ignore_errors=True)


def _blocks(content: str, before: Path | None, size_bytes: int) -> Callable[[int], bytes]:
    """What gives the next so many bytes of a file; `before` is the one made before it."""
    if content == COMPRESSIBLE:
        return _text
    if before is None or content == RANDOM:
        return os.urandom
    whole = before.read_bytes()
    if content == CHANGED:
        changed_bytes = max(size_bytes // _CHANGED_PART, 1)
        at = int.from_bytes(os.urandom(8), "big") % (size_bytes - changed_bytes + 1)
        whole = whole[:at] + os.urandom(changed_bytes) + whole[at + changed_bytes :]
    return BytesIO(whole).read


def _text(size_bytes: int) -> bytes:
    """Lines of sixteen words, drawn at random: what compresses to about an eighth."""
    drawn = os.urandom(size_bytes // _WORD_BYTES + 1)
    return b"".join(_WORDS[one & 15] for one in drawn)[:size_bytes]


def _craft_one(
    path: Path,
    size_bytes: int,
    part_bytes: int | None,
    made: Callable[[int], None],
    blocks: Callable[[int], bytes] = os.urandom,
) -> LocalFile:
    sha256, md5 = hashlib.sha256(), hashlib.md5(usedforsecurity=False)
    part, parts, in_part_bytes = hashlib.md5(usedforsecurity=False), [], 0
    with path.open("wb") as file:
        left_bytes = size_bytes
        while left_bytes:
            room_bytes = left_bytes if part_bytes is None else part_bytes - in_part_bytes
            block = blocks(min(_BLOCK_BYTES, left_bytes, room_bytes))
            file.write(block)
            sha256.update(block)
            md5.update(block)
            left_bytes -= len(block)
            if part_bytes is not None:
                part.update(block)
                in_part_bytes += len(block)
                if in_part_bytes == part_bytes or not left_bytes:
                    parts.append(part.hexdigest())
                    part, in_part_bytes = hashlib.md5(usedforsecurity=False), 0
            made(len(block))
    return LocalFile(path, size_bytes, sha256.hexdigest(), md5.hexdigest(), tuple(parts))
