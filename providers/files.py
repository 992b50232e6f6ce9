"""Step 2 of a transaction: files of random bytes, made in a folder that is gone when the run is over."""

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from vmtrace.capture.quantities import shown_decimal_bytes
from vmtrace.providers.errors import ProvidersError
from vmtrace.providers.plan import Workload
from vmtrace.providers.service import LocalFile

_BLOCK_BYTES = 1 << 20
_SPARE_BYTES = 64 << 20  # the packets and the logs need some room, too


def craft(
    folder: Path, workload: Workload, part_bytes: int | None, made: Callable[[int], None] = lambda _: None
) -> list[LocalFile]:
    """The files of a workload, incompressible and never the same twice; `made` hears of each block's bytes.

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
        return [
            _craft_one(folder / f"{number:05d}", workload.size_bytes, part_bytes, made)
            for number in range(1, workload.files + 1)
        ]
    except OSError as error:
        raise ProvidersError(f"{folder}: files cannot be made: {error.strerror}") from error


def discard(folder: Path) -> None:
    """Remove the files and their folder; what cannot be removed stays."""
    shutil.rmtree(folder, ignore_errors=True)


def _craft_one(path: Path, size_bytes: int, part_bytes: int | None, made: Callable[[int], None]) -> LocalFile:
    sha256, md5 = hashlib.sha256(), hashlib.md5(usedforsecurity=False)
    part, parts, in_part_bytes = hashlib.md5(usedforsecurity=False), [], 0
    with path.open("wb") as file:
        left_bytes = size_bytes
        while left_bytes:
            room_bytes = left_bytes if part_bytes is None else part_bytes - in_part_bytes
            block = os.urandom(min(_BLOCK_BYTES, left_bytes, room_bytes))
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
