"""What a name leads to is known by its content, and the right command is named for it."""

import json
from pathlib import Path
from typing import Any

import pytest

from vmtrace.commands.kinds import Kind, kind_of, redirect


@pytest.fixture
def things(transfer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A capture, two runs of each sort, and things that are neither, in the current folder."""
    transfer.write(tmp_path / "x.pcap")
    for name, schema in (("run1", "vmtrace.run/1"), ("run2", "vmtrace.run/2"), ("s3", "vmtrace.storage_run/1")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text(json.dumps({"schema": schema}))
    for name, text in (("list", "[]"), ("broken", "{"), ("deep", "[" * 100_000), ("bytes", "\x00")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("x.pcap", Kind.CAPTURE),
        ("run1", Kind.RUN),
        ("run2", Kind.RUN),
        ("s3", Kind.STORAGE_RUN),
        *((name, None) for name in ("list", "broken", "deep", "bytes", "gone", ".", "", "a\0b")),
    ],
)
def test_things_are_known_by_their_content(things: Path, name: str, kind: Kind | None) -> None:
    assert kind_of(name) is kind


def test_what_is_right_is_not_redirected(things: Path) -> None:
    assert redirect(["run1", "run2", "gone"], Kind.RUN) is None


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["report", "x.pcap"], "x.pcap is a capture: vmtrace analyze x.pcap"),
        (["report", "s3"], "s3 is a run of vmtrace storage: vmtrace storage report s3"),
        (["compare", "run1", "run2"], "run1 is a run of vmtrace send: vmtrace compare-runs run1 run2"),
        (["compare-runs", "x.pcap", "x.pcap"], "x.pcap is a capture: vmtrace compare x.pcap x.pcap"),
        (["compare-runs", "s3", "s3"], "s3 is a run of vmtrace storage: vmtrace storage report s3 s3"),
        (["storage", "report", "run1"], "run1 is a run of vmtrace send: vmtrace report run1"),
    ],
)
def test_commands_name_the_right_one(things: Path, vmtrace: Any, words: list[str], line: str) -> None:
    done = vmtrace(*words)
    assert (done.returncode, done.stderr) == (2, f"vmtrace: {line}\n")
