"""Where a result comes from."""

import hashlib
from pathlib import Path

import pytest

from vmtrace.analyze.tables import provenance
from vmtrace.analyze.trace import read, version


def test_inputs_are_identified_by_their_content(transfer_file: Path) -> None:
    facts = provenance.of(read(transfer_file), anonymous=False)
    assert facts["inputs"] == [
        {
            "path": str(transfer_file),
            "size_bytes": transfer_file.stat().st_size,
            "modified_ns": transfer_file.stat().st_mtime_ns,
            "sha256": hashlib.sha256(transfer_file.read_bytes()).hexdigest(),
        }
    ]
    assert (facts["schema"], facts["vmtrace"], facts["interrupted"]) == ("vmtrace.analysis/1", version(), False)
    assert "command" in facts


def test_a_large_input_is_not_read_again(transfer_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "_HASH_LIMIT_BYTES", 10)
    inputs = provenance.of(read(transfer_file), anonymous=False)["inputs"]
    assert isinstance(inputs, list)
    assert inputs[0]["sha256"] is None
    assert inputs[0]["size_bytes"] == transfer_file.stat().st_size


def test_an_input_that_is_gone_keeps_its_name(transfer_file: Path) -> None:
    trace = read(transfer_file)
    transfer_file.unlink()
    assert provenance.of(trace, anonymous=False)["inputs"] == [
        {"path": str(transfer_file), "size_bytes": None, "modified_ns": None, "sha256": None}
    ]


def test_anonymous_provenance_names_no_folder_and_no_command(transfer_file: Path) -> None:
    facts = provenance.of(read(transfer_file), anonymous=True)
    assert "command" not in facts
    assert str(transfer_file.parent) not in str(facts)
