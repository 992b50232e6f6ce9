"""Where the files of a run lie, by what they are. Both sides make names from these words; none is ever sent."""

from __future__ import annotations

import re
from pathlib import Path

from vmtrace.sender.wire.records import PARTS

RECEIVER = "receiver"
SENDER = "sender"
_TRANSFER_FILE = re.compile(r"(\d{4,9})-(probe|data)(\.pcap|\.capture\.json|\.csv)", re.ASCII)
_SESSION_FILE = re.compile(r"(?:-(\d{1,9}))?\.csv", re.ASCII)
_KIND_OF_SUFFIX = {
    ("packets", ".pcap"): "packets",
    ("packets", ".capture.json"): "capture",
    ("tcpinfo", ".csv"): "tcpinfo",
}
_LARGEST_SEQUENCE = 999_999_999


def path_of(kind: str, sequence: int, part: str, side: str) -> Path:
    """Path below the run folder; raises `ValueError` for what is not a file of a run."""
    if not 0 <= sequence <= _LARGEST_SEQUENCE:
        raise ValueError(f"no pair has number {sequence}")
    if kind in ("packets", "capture", "tcpinfo"):
        if part not in PARTS or sequence == 0:
            raise ValueError(f"a file of packets or TCP_INFO belongs to the probe or data of a pair, not to {part!r}")
        folder, suffix = next(place for place, name in _KIND_OF_SUFFIX.items() if name == kind)
        return Path(folder) / side / f"{sequence:04d}-{part}{suffix}"
    if kind == "host":
        return Path("host") / (f"{side}.csv" if sequence < 2 else f"{side}-{sequence}.csv")
    if kind == "facts":
        return Path("host") / f"{side}.facts.json"
    if kind == "transfers":
        return Path(f"{side}.jsonl")
    raise ValueError(f"no kind of file is called {kind!r}")


def what_is(path: Path, side: str) -> tuple[str, int, str] | None:
    """Kind, sequence and part of a path below the run folder; None when it is none of that side's."""
    what = _parsed(path, side)
    try:
        return what if what is not None and path_of(*what, side) == path else None
    except ValueError:
        return None


def _parsed(path: Path, side: str) -> tuple[str, int, str] | None:
    parts = path.parts
    if len(parts) == 3 and parts[1] == side:
        match = _TRANSFER_FILE.fullmatch(parts[2])
        kind = _KIND_OF_SUFFIX.get((parts[0], match.group(3))) if match else None
        return (kind, int(match.group(1)), match.group(2)) if match and kind else None
    if parts == ("host", f"{side}.facts.json"):
        return "facts", 0, ""
    if parts == (f"{side}.jsonl",):
        return "transfers", 0, ""
    if len(parts) == 2 and parts[0] == "host" and parts[1].startswith(side):
        match = _SESSION_FILE.fullmatch(parts[1][len(side) :])
        return ("host", int(match.group(1) or 0), "") if match else None
    return None
