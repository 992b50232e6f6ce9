"""Captures of other people beside tshark: `python -m vmtrace.lab.accuracy.strangers FOLDER...` reads all their files.

Their truth is not known. But each difference can be looked at, packet by packet, and has one side that is right; and
what one document says of itself must agree. The test suites of Zeek, Suricata, nDPI, tcpdump and others hold thousands
of captures of every age, kind and damage.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vmtrace.lab.accuracy.readings import ledger_parts_bytes, tshark_label, tshark_lines

_FIELDS = (
    "frame.number", "frame.protocols", "tcp.stream", "tcp.len", "tcp.analysis.retransmission",
    "tcp.analysis.fast_retransmission", "tcp.analysis.spurious_retransmission", "tcp.analysis.out_of_order",
    "tcp.analysis.keep_alive",
)  # fmt: skip
_WAYS = ("client_to_server", "server_to_client")
_DATA_TRIGGERS = ("fast", "rto", "tlp", "rack", "unknown")
_SUMMED_UP = {
    "connections": "files with other connections",
    "repeated segments": "connections with other repeated segments",
}
_TIME_LIMIT_S = 120


@dataclass(frozen=True, slots=True)
class Difference:
    """What vmtrace counts of `what`, and tshark; `first_frame` is that of the connection, none for the whole file."""

    what: str
    own: int
    other: int
    first_frame: int | None = None

    def __str__(self) -> str:
        """In one line."""
        where = "" if self.first_frame is None else f" of the connection that begins with frame {self.first_frame}"
        return f"{self.what}{where}: {self.own}, tshark {self.other}"


def differences(document: Mapping[str, Any], lines: Iterable[Mapping[str, str]]) -> Iterator[Difference]:
    """Connections and repeated segments that tshark counts otherwise.

    `lines` are tshark's fields of each TCP packet (see `_FIELDS`). Connections are the same if they begin with the same
    frame. Frames that were captured twice, which vmtrace leaves out, tshark calls retransmissions: no difference.
    """
    repeats: Counter[str] = Counter()
    first_frames: dict[str, int] = {}
    for line in lines:
        # Errors that quote a segment are none themselves.
        if "icmp" in line["frame.protocols"] or not line["tcp.stream"]:
            continue
        first_frames.setdefault(line["tcp.stream"], int(line["frame.number"]))
        is_data = int(line["tcp.len"] or 0) > 0 and not line["tcp.analysis.keep_alive"]
        repeats[line["tcp.stream"]] += is_data and tshark_label(line) == "retransmission"
    connections = document["connections"]
    if len(connections) != len(first_frames):
        yield Difference("connections", len(connections), len(first_frames))
    copies = any(one["capture"]["duplicates"] for one in document["inputs"])
    streams = {frame: stream for stream, frame in first_frames.items()}
    for connection in connections:
        stream = streams.get(connection["first_frame"])
        if stream is None:
            continue
        own = sum(connection[way]["loss"]["retransmitted_segments"] or 0 for way in _WAYS)
        if own != repeats[stream] and not (copies and own < repeats[stream]):
            yield Difference("repeated segments", own, repeats[stream], connection["first_frame"])


def contradictions(document: Mapping[str, Any]) -> Iterator[str]:
    """What cannot be true together, whatever passed: each in one line."""
    for connection in document["connections"]:
        ledger = connection["ledger"]
        parts = ledger_parts_bytes(ledger)
        if parts != ledger["wire_bytes"] or parts != sum(connection[way]["wire_bytes"] for way in _WAYS):
            yield f"connection {connection['id']}: the parts of the ledger are {parts} of {ledger['wire_bytes']} bytes"
        for name in _WAYS:
            yield from (f"connection {connection['id']}, {name}: {what}" for what in _of_way(connection[name]))


def _of_way(way: Mapping[str, Any]) -> Iterator[str]:
    loss = way["loss"]
    if loss["retransmitted_segments"] is None:
        return
    if sum(loss["by_trigger"][trigger] for trigger in _DATA_TRIGGERS) != loss["retransmitted_segments"]:
        yield "the triggers are not those of all repeated segments"
    if not loss["spurious_segments"] <= loss["retransmitted_segments"] <= way["data_segments"]:
        yield "more spurious than repeated, or more repeated than all segments"
    if not way["unique_payload_bytes"] <= way["payload_bytes"] or not way["data_packets"] <= way["packets"]:
        yield "more unique than all bytes, or more packets with data than packets"
    for name, keys in (
        ("rtt", ("min_s", "median_s", "p95_s", "p99_s", "max_s")),
        ("spacing", ("median_s", "p99_s", "max_s")),
        ("window", ("min_bytes", "mean_bytes", "max_bytes")),
        ("flight", ("mean_bytes", "max_bytes")),
    ):
        values = [way[name][key] for key in keys]
        if None not in values and values != sorted(values):
            yield f"{name} is {values}, which does not rise"
    shares = [loss["loss_rate"], loss["retransmission_rate"], way["window"]["limited_fraction"]]
    shares += [limit["fraction"] for limit in way["limits"]]
    if not all(share is None or 0 <= share <= 1 for share in shares):
        yield f"a share is none: {shares}"


def read_document(capture: Path) -> dict[str, Any] | None:
    """What vmtrace says of a capture; none if it cannot be read. Raises RuntimeError if it says more than one line."""
    command = [sys.executable, "-m", "vmtrace", "analyze", str(capture), "--json", "-", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIME_LIMIT_S)
    if done.returncode > 1 or done.stderr.count("\n") > 1:
        raise RuntimeError(done.stderr.strip()[-400:] or f"status {done.returncode}")
    return json.loads(done.stdout) if done.stdout else None


def look(captures: Iterable[Path]) -> int:
    """Prints what differs, and what vmtrace contradicts itself in; the number of the latter and of failures."""
    numbers, bad = Counter[str](), 0
    for capture in captures:
        numbers["files"] += 1
        try:
            document = read_document(capture)
        except (RuntimeError, subprocess.TimeoutExpired) as failure:
            print(f"{capture}: {failure}", flush=True)
            bad += 1
            continue
        if document is None:
            numbers["unread files"] += 1
            continue
        numbers["connections"] += len(document["connections"])
        wrong = list(contradictions(document))
        bad += len(wrong)
        found = list(differences(document, tshark_lines(capture, _FIELDS))) if document["connections"] else []
        numbers.update(_SUMMED_UP[difference.what] for difference in found)
        for line in [*wrong, *found]:
            print(f"{capture}: {line}", flush=True)
    print(", ".join(f"{number:,} {name}" for name, number in numbers.items()) + f", {bad:,} contradictions or failures")
    return bad


def main() -> int:
    """Reads the command line."""
    parser = argparse.ArgumentParser(prog="python -m vmtrace.lab.accuracy.strangers", description=__doc__)
    parser.add_argument("folders", metavar="FOLDER", nargs="+", type=Path, help="all files within are read")
    folders = parser.parse_args().folders
    return min(look(path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()), 1)


if __name__ == "__main__":
    sys.exit(main())
