"""No document contradicts itself, of no capture that the tests have."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.traces.invariants import contradictions
from tools.engine_net_captures import RECIPES, capture
from vmtrace.analyze.trace import TraceError, read

TOP = Path(__file__).parents[2]
SHARED = TOP.parent / "shared"
ROOTS = (TOP / "samples", SHARED / "traces", SHARED / "field2", SHARED / "policing")
FIELD = SHARED / "field"
NAMES = (".pcap", ".pcapng", ".dmp", ".dump", ".snoop", ".gz", ".lz4")


def _captures() -> list[Path]:
    files = (path for root in ROOTS if root.is_dir() for path in sorted(root.rglob("*")))
    return [path for path in files if path.suffix in NAMES]


def _contradicts(path: Path) -> list[str]:
    try:
        document = read(path).json()
    except TraceError:  # no capture
        return []
    return list(contradictions(document))


@pytest.mark.parametrize("path", _captures(), ids=lambda path: path.name)
def test_a_capture_s_document_agrees_with_itself(path: Path) -> None:
    assert _contradicts(path) == []


@pytest.mark.parametrize("name", RECIPES)
def test_a_made_capture_s_document_agrees_with_itself(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.pcap"
    path.write_bytes(capture(RECIPES[name]))
    assert _contradicts(path) == []


@pytest.mark.parametrize("script", sorted(set(FIELD.glob("*.py")) - {FIELD / "mk.py"}), ids=lambda script: script.stem)
def test_a_field_case_s_documents_agree_with_themselves(script: Path, tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(FIELD), "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([sys.executable, script], cwd=tmp_path, env=environment, check=True, capture_output=True, timeout=60)
    written = sorted(path for path in tmp_path.rglob("*") if path.suffix in NAMES)
    assert written
    assert {path.name: _contradicts(path) for path in written if _contradicts(path)} == {}


def test_contradictions_are_seen() -> None:
    verdict = {
        "factor": "loss_recovery", "confidence": 0.9, "direction": "server_to_client", "saves_s": 0.1,
        "sentence": "It allowed no more than 1.0 Mbit/s.",
        "what_if": [{"goodput_bps": 1e6, "now_bps": 2e6, "low_bps": None, "high_bps": None}],
    }  # fmt: skip
    way = {"goodput_bps": 2e6, "payload_bytes": 9, "unique_payload_bytes": 10, "rtt": {"min_s": 2.0, "median_s": 1.0}}
    account = [{"kind": "idle", "time_s": 1.0, "saves_s": 0.5}, {"kind": "setup", "time_s": -1.0, "saves_s": None}]
    connection = {"id": 1, "duration_s": 9.0, "account": account, "verdict": verdict, "server_to_client": way}
    shared = {"kind": "token_bucket", "confidence": 0.9, "connections": [1]}
    said = list(contradictions({"connections": [connection], "shared_limits": [shared]}))
    parts = (
        "account is",
        "idle saves",
        "But it was",
        "what-if out of order",
        "more unique",
        "quantiles",
        "-1.0",
        "shadow",
    )
    assert all(any(part in one for one in said) for part in parts), said
