"""Files that may be compressed, by their first bytes and not by their names."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import BinaryIO, cast

_BY_FIRST_BYTES = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ": "lzma"}


def opened(path: Path) -> BinaryIO:
    """The content of a file, unpacked while it is read. Damage is the library's own error, on reading."""
    with path.open("rb") as file:
        start = file.read(6)
    library = next((name for magic, name in _BY_FIRST_BYTES.items() if start.startswith(magic)), None)
    if library is None:
        return path.open("rb")
    return cast("BinaryIO", importlib.import_module(library).open(path))
