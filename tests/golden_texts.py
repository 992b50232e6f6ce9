"""Texts that tests compare as a whole: files of `tests/golden`, which `make golden` writes anew.

A changed sentence is one run of `make golden` and a diff to read, instead of many asserts on words.
"""

import os
from pathlib import Path

FOLDER = Path(__file__).parent / "golden"
WRITES = "VMTRACE_WRITE_GOLDEN"


def check(name: str, text: str) -> None:
    """Fails where a text is not that of its file; writes the file instead where `VMTRACE_WRITE_GOLDEN` is set."""
    path = FOLDER / f"{name}.txt"
    ours = "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
    if os.environ.get(WRITES):
        path.write_text(ours)
    kept = path.read_text() if path.exists() else ""
    assert ours == kept, f"{path.name} differs: if it should, make golden, and read the diff"
