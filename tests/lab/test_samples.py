"""The samples are what their manifest says, small enough to carry, and not hidden from git."""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from vmtrace.lab.pcap_file import read_packets

FOLDER = Path(__file__).resolve().parents[2] / "samples"
SAMPLES: list[dict[str, Any]] = json.loads((FOLDER / "manifest.json").read_text())["samples"]
_NOT_PLAIN = {"damaged.pcap", "ipv6.pcapng", "modified.pcap.lz4", "extension-headers.pcap"}
PLAIN = [sample for sample in SAMPLES if sample["file"] not in _NOT_PLAIN]
_NAMES = [sample["file"] for sample in SAMPLES]


def test_manifest_and_folder_have_the_same_captures() -> None:
    captures = {path.name for path in FOLDER.iterdir() if path.suffix in {".pcap", ".pcapng", ".gz", ".lz4"}}
    assert captures == set(_NAMES)


@pytest.mark.parametrize("sample", SAMPLES, ids=_NAMES)
def test_sample_is_unchanged_small_and_told(sample: dict[str, Any]) -> None:
    content = (FOLDER / sample["file"]).read_bytes()
    assert hashlib.sha256(content).hexdigest() == sample["sha256"]
    assert len(content) == sample["bytes"] < 300_000
    readme = (FOLDER / "README.md").read_text()
    assert sample["file"] in readme
    assert sample["sha256"] in readme


def test_making_them_that_ends_half_way_leaves_a_whole_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = importlib.util.spec_from_file_location("samples_make", FOLDER / "make.py")
    assert spec is not None
    assert spec.loader is not None
    make = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "samples_make", make)
    monkeypatch.setattr(sys, "path", [*sys.path])
    spec.loader.exec_module(make)
    (tmp_path / "manifest.json").write_text(json.dumps({"samples": SAMPLES}))
    remade = SAMPLES[0] | {"bytes": 1}

    def one_and_no_more(*_: object) -> list[dict[str, Any]]:
        if json.loads((tmp_path / "manifest.json").read_text())["samples"][0] == remade:
            raise KeyboardInterrupt
        return [remade]

    monkeypatch.setattr(make, "HERE", tmp_path)
    monkeypatch.setattr(make, "_make", one_and_no_more)
    monkeypatch.setattr(make, "_tools", dict)
    with pytest.raises(KeyboardInterrupt):
        make.main([])
    assert json.loads((tmp_path / "manifest.json").read_text())["samples"] == [remade, *SAMPLES[1:]]


@pytest.mark.parametrize("sample", PLAIN, ids=[sample["file"] for sample in PLAIN])
def test_packets_in_the_file_are_those_of_the_truth(sample: dict[str, Any], tmp_path: Path) -> None:
    packets = []
    for part in sample["parts"]:
        content = (FOLDER / part).read_bytes()
        (tmp_path / part).write_bytes(gzip.decompress(content) if part.endswith(".gz") else content)
        packets += list(read_packets(tmp_path / part))
    assert len(packets) == sample["frames"]
    assert sum(packet.payload_bytes for packet in packets) == sum(way["payload_bytes"] for way in sample["directions"])


def test_headers_between_ip_and_tcp_are_passed_over() -> None:
    (sample,) = [sample for sample in SAMPLES if sample["run"] == "extension-headers"]
    content = (FOLDER / sample["file"]).read_bytes()
    # After an Ethernet header: hop-by-hop options first, then segment routing, then destination options, then TCP.
    first = content[24 + 16 + 14 :]
    assert [first[6], first[40], first[48], first[72]] == [0, 43, 60, 6]
    command = [sys.executable, "-m", "vmtrace", "analyze", str(FOLDER / sample["file"]), "--json", "-"]
    document = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    (connection,) = document["connections"]
    forward, reverse = sample["directions"]
    for way, name in ((forward, "client_to_server"), (reverse, "server_to_client")):
        seen = connection[name]
        assert seen["packets"] == way["packets"]
        assert seen["unique_payload_bytes"] == way["unique_payload_bytes"]
        assert seen["loss"]["retransmitted_segments"] == way["retransmitted_segments"]
    assert connection["handshake"]["complete"]
    assert document["inputs"][0]["undecoded_packets"] == {}


def test_git_does_not_ignore_samples() -> None:
    words = ["git", "-C", str(FOLDER), "check-ignore", *_NAMES]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode == 128:
        pytest.skip(f"not a git checkout: {done.stderr.strip()}")
    assert done.stdout == ""
