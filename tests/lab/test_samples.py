"""The samples are what their manifest says, small enough to carry, and not hidden from git."""

from __future__ import annotations

import gzip
import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from lab.pcap_file import read_packets

FOLDER = Path(__file__).resolve().parents[2] / "samples"
SAMPLES: list[dict[str, Any]] = json.loads((FOLDER / "manifest.json").read_text())["samples"]
_NAMES = [sample["file"] for sample in SAMPLES]


def test_manifest_and_folder_have_the_same_captures() -> None:
    captures = {path.name for path in FOLDER.iterdir() if path.suffix in {".pcap", ".pcapng", ".gz"}}
    assert captures == set(_NAMES)


@pytest.mark.parametrize("sample", SAMPLES, ids=_NAMES)
def test_sample_is_unchanged_small_and_told(sample: dict[str, Any]) -> None:
    content = (FOLDER / sample["file"]).read_bytes()
    assert hashlib.sha256(content).hexdigest() == sample["sha256"]
    assert len(content) == sample["bytes"] < 300_000
    readme = (FOLDER / "README.md").read_text()
    assert sample["file"] in readme and sample["sha256"] in readme


@pytest.mark.parametrize("sample", SAMPLES, ids=_NAMES)
def test_packets_in_the_file_are_those_of_the_truth(sample: dict[str, Any], tmp_path: Path) -> None:
    if sample["file"] == "damaged.pcap" or sample["file"].endswith(".pcapng"):
        pytest.skip("not a plain pcap file: this check has only a plain reader")
    packets = []
    for part in sample["parts"]:
        content = (FOLDER / part).read_bytes()
        (tmp_path / part).write_bytes(gzip.decompress(content) if part.endswith(".gz") else content)
        packets += list(read_packets(tmp_path / part))
    assert len(packets) == sample["frames"]
    assert sum(packet.payload_bytes for packet in packets) == sum(way["payload_bytes"] for way in sample["directions"])


def test_git_does_not_ignore_samples() -> None:
    words = ["git", "-C", str(FOLDER), "check-ignore", *_NAMES]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode == 128:
        pytest.skip(f"not a git checkout: {done.stderr.strip()}")
    assert done.stdout == ""
