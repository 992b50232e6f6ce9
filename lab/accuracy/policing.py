"""Labelled captures: `python -m vmtrace.lab.accuracy.policing FOLDER` judges vmtrace by the policing study's.

Flach et al. (SIGCOMM 2016) publish the captures with which they checked their own detector (repository
USC-NSL/policing-detection, folder `data/validation`): videos in chunks of 2 MB from a server, beside which they were
captured, through a router that polices or shapes. The name of each file says what the router was told. Captures of two
videos at a time share one bucket, so that one connection alone cannot show it: those are left out.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from vmtrace.lab.accuracy.strangers import read_document

_LEAST_PAYLOAD_BYTES = 500_000
"""Below it a direction carries no video."""
_FEWEST_LOST_SEGMENTS = 15
"""With fewer a policer cannot be told (docs/methods.md, section 8)."""


@dataclass(frozen=True, slots=True)
class Label:
    """What the router was told. `burst_bytes` is the policer's bucket or the shaper's queue, none where it chose it."""

    is_policed: bool
    rate_bps: int
    burst_bytes: int | None
    loss: str


def label(name: str) -> Label | None:
    """The label in the name of a file, such as `C=5-L=2000000-CD=500-PCIR=1500000-PBC=100000-…-LOSS=0%-….pcap.xz`.

    None if it is of several videos, or no such name.
    """
    fields = dict(part.split("=", 1) for part in name.split("-") if "=" in part)
    rate = fields.get("PCIR") or fields.get("SCIR")
    if rate is None or "CD" not in fields:
        return None
    burst = fields.get("PBC") or fields.get("SBC")
    return Label("PCIR" in fields, int(rate), int(burst) if burst else None, fields.get("LOSS", "0%"))


@dataclass(frozen=True, slots=True)
class Judged:
    """A video: its label, the bucket that vmtrace found (or none) and the factor of the verdict."""

    label: Label
    bucket: dict[str, Any] | None
    factor: str | None
    lost_segments: int


def judged(name: str, document: dict[str, Any]) -> Iterator[Judged]:
    """The videos in a document of `vmtrace analyze`, if the name of its capture says what is true."""
    true = label(name)
    if true is None:
        return
    for connection in document["connections"]:
        for way in (connection["client_to_server"], connection["server_to_client"]):
            if way["unique_payload_bytes"] >= _LEAST_PAYLOAD_BYTES:
                factor = (connection["verdict"] or {}).get("factor")
                yield Judged(true, way.get("token_bucket"), factor, way["loss"]["lost_segments_inferred"])


def table(videos: Iterable[Judged]) -> list[str]:
    """Lines of a table, one for each kind of router."""
    kinds: dict[str, list[Judged]] = {}
    for video in videos:
        kinds.setdefault(_kind(video.label), []).append(video)
    lost, rate = f"with {_FEWEST_LOST_SEGMENTS} lost segments", "rate reported / true, median (least to most)"
    lines = [
        f"| router | videos | {lost} | policer reported | verdict `token_bucket` | {rate} |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for kind, of_kind in sorted(kinds.items()):
        shown = [video for video in of_kind if video.bucket is not None]
        ratios = sorted(float(video.bucket["sustained_bps"]) / video.label.rate_bps for video in shown if video.bucket)
        rates = f"{median(ratios):.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f})" if ratios else ""
        by_verdict = sum(video.factor == "token_bucket" for video in of_kind)
        lossy = sum(video.lost_segments >= _FEWEST_LOST_SEGMENTS for video in of_kind)
        lines.append(f"| {kind} | {len(of_kind)} | {lossy} | {len(shown)} | {by_verdict} | {rates} |")
    return lines


def _kind(true: Label) -> str:
    if not true.is_policed:
        return "shapes" if true.loss == "0%" else "shapes, and loses by chance"
    burst = f"{true.burst_bytes / 1000:,.0f} kB" if true.burst_bytes else "of its own choice"
    return f"polices {true.rate_bps / 1e6:g} Mbit/s, bucket {burst}"


def main() -> int:
    """Reads the command line."""
    parser = argparse.ArgumentParser(prog="python -m vmtrace.lab.accuracy.policing", description=__doc__)
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="data/validation of the repository")
    folder = parser.parse_args().folder
    captures = sorted(path for path in folder.glob("*.pcap*") if label(path.name) is not None)
    if not captures:
        print(f"{folder}: no captures whose names say how the router was set", file=sys.stderr)
        return 1
    documents = ((path, read_document(path)) for path in captures)
    videos = (video for path, document in documents if document for video in judged(path.name, document))
    print("\n".join(table(videos)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
