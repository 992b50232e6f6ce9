"""Counts public captures by the engine and by a plain Python count, and compares what differs with what was judged.

python tools/public_captures.py FOLDER

FOLDER holds clones named OWNER+NAME, with or without a work tree. The judged differences are
bench/public_captures.tsv: the captures themselves are not part of this repository. Rows of repositories that are not
in FOLDER are left out.
"""

import csv
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
TABLE = ROOT / "bench/public_captures.tsv"
ENDINGS = (".pcap", ".pcapng", ".cap", ".dmp", ".dump", ".ntar", ".erf", ".snoop", ".trc")
PACKINGS = ("", ".gz", ".bz2", ".xz", ".zst", ".lz4")
LARGEST_BYTES = 4_000_000


class Judged(NamedTuple):
    """One difference that somebody has read."""

    repository: str
    commit: str
    path: str
    number: str
    engine: str
    counted: str
    why: str


def judged(table: Path = TABLE) -> list[Judged]:
    """The table; lines that begin with # are remarks."""
    with table.open(newline="") as file:
        lines = (line for line in file if not line.startswith("#"))
        return [Judged(*row) for row in csv.reader(lines, delimiter="\t")]


def git(clone: Path, *arguments: str) -> bytes:
    """What git says of a clone."""
    folder = clone / ".git" if (clone / ".git").exists() else clone
    return subprocess.run(["git", f"--git-dir={folder}", *arguments], capture_output=True, check=True).stdout


def captures(clone: Path, commit: str) -> Iterator[tuple[str, bytes]]:
    """The captures of a commit, by path."""
    for entry in git(clone, "ls-tree", "-r", "-l", "-z", commit).decode(errors="replace").split("\0"):
        head, _, path = entry.partition("\t")
        if not path.lower().endswith(tuple(end + packing for end in ENDINGS for packing in PACKINGS)):
            continue
        _, _, blob, size = head.split()
        if size.isdigit() and 24 < int(size) < LARGEST_BYTES:
            yield path, git(clone, "cat-file", "blob", blob)


def differences(data: bytes, path: str) -> dict[str, tuple[str, str]]:
    """What both say of one capture, as text, where it differs; nothing where either cannot read it."""
    from tests.traces.plain_count import count
    from tests.traces.test_oracle import of_count, of_engine
    from vmtrace.analyze.trace import TraceError, read

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / ("capture" + "".join(Path(path).suffixes[-2:]))
        file.write_bytes(data)
        try:
            own, other = of_engine(read(file).json()), of_count(count(file))
        except (TraceError, ValueError, EOFError, OSError):
            return {}
    return {name: (_text(own[name]), _text(other[name])) for name in own if own[name] != other[name]}


def _text(value: int | dict[object, int]) -> str:
    return str(value if isinstance(value, int) else sum(value.values()))


def compare(folder: Path, table: Path = TABLE) -> Iterator[str]:
    """A line for each difference that nobody has judged, and for each judged one that is no more."""
    known: dict[tuple[str, str], list[Judged]] = {}
    for row in judged(table):
        known.setdefault((row.repository, row.commit), []).append(row)
    for (repository, commit), rows in known.items():
        clone = folder / repository.replace("/", "+")
        clone = clone / "repo" if (clone / "repo").is_dir() else clone
        if not clone.is_dir():
            continue
        expected = {(row.path, row.number): (row.engine, row.counted) for row in rows if row.path}
        found = {
            (path, number): both
            for path, data in captures(clone, commit)
            for number, both in differences(data, path).items()
        }
        for key in sorted(expected.keys() | found.keys()):
            if expected.get(key) != found.get(key):
                yield f"{repository} {' '.join(key)}: {found.get(key)}, judged {expected.get(key)}"


def main() -> int:
    """Prints what is new; 1 if anything is."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.path.insert(0, str(ROOT))
    lines = list(compare(Path(sys.argv[1])))
    print(*lines or ["no difference that was not judged"], sep="\n")
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main())
