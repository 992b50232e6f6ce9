"""What tests of edited captures share: samples to edit, the engine's answer, and the same capture seen elsewhere."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow

import vmtrace
from vmtrace.lab.edit.capture import Capture, parse_capture, pcap_bytes
from vmtrace.lab.edit.segment import segment_of

Record = dict[str, Any]

SAMPLES = Path(__file__).resolve().parents[2] / "samples"


@cache
def sample(name: str) -> Capture:
    content = (SAMPLES / name).read_bytes()
    return parse_capture(gzip.decompress(content) if name.endswith(".gz") else content)


def analyzed(capture: Capture) -> Record:
    """The JSON document of the engine."""
    document: Record = vmtrace.read(pcap_bytes(capture)).json()
    return document


def directions(document: Record) -> Iterator[Record]:
    """All directions of all connections, the client's first."""
    for connection in document["connections"]:
        yield connection["client_to_server"]
        yield connection["server_to_client"]


def bulk(document: Record) -> Record:
    """The direction of most payload."""
    return max(directions(document), key=lambda way: int(way["payload_bytes"]))


def quality(document: Record) -> Record:
    """How complete the capture is."""
    found: Record = document["inputs"][0]["capture"]
    return found


def total(document: Record, name: str) -> int:
    """Sum over all directions of a count of `loss`."""
    return sum(int(way["loss"][name]) for way in directions(document))


@dataclass(frozen=True, slots=True)
class Judged:
    """What the engine took a frame for, and the round trip that it completed."""

    number: int
    kind: str
    payload_bytes: int
    rtt_s: float | None


def judged(capture: Capture) -> list[Judged]:
    """Frame by frame, by the numbers of the clean capture; what was left out as a copy is missing."""
    trace = vmtrace.read(pcap_bytes(capture))
    rows = pyarrow.table(trace.packets(range(1, len(trace) + 1))).to_pylist()
    return [
        Judged(capture.frames[row["frame"] - 1].number, row["kind"], row["payload_bytes"], row["rtt_s"]) for row in rows
    ]


def seen_after(capture: Capture, path_ns: int) -> Capture:
    """The capture as if made so far towards the other end: what the client sends passes later, the rest sooner.

    Holds for captures beside the client, up to half the shortest round trip.
    """
    moved, client = [], None
    for frame in capture.frames:
        segment = segment_of(frame, capture.link_type)
        assert segment is not None
        client = client or segment.source[0]
        delay_ns = path_ns if segment.source[0] == client else -path_ns
        moved.append(replace(frame, time_ns=frame.time_ns + delay_ns))
    moved.sort(key=lambda frame: frame.time_ns)
    return capture.with_frames(replace(frame, number=number) for number, frame in enumerate(moved, 1))
