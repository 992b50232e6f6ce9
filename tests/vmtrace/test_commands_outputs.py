"""What the subcommands have in common about their outputs."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, BinaryIO

import pytest

SAMPLES = Path(__file__).parents[2] / "samples"
COMMANDS = {
    "analyze": ["analyze", str(SAMPLES / "lossy-sender.pcap")],
    "compare": ["compare", str(SAMPLES / "lossy-sender.pcap"), str(SAMPLES / "lossy-receiver.pcap")],
    "report": ["report", "run"],
}


def run_into(output: BinaryIO, folder: Path, command: str, options: list[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-P", "-m", "vmtrace", *COMMANDS[command], *options],
        cwd=folder,
        stdout=output,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("options", [[], ["--json", "-"]], ids=["table", "json"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_behind_standard_output_is_named(small_run: Any, command: str, options: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = run_into(full, small_run.folder.parent, command, options)
    assert done.returncode == 1
    assert done.stderr == "vmtrace: cannot write standard output: No space left on device\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_reader_that_has_had_enough_ends_it_quietly(small_run: Any, command: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        done = run_into(closed, small_run.folder.parent, command, ["--json", "-"])
    assert (done.returncode, done.stderr) == (0, "")


def test_a_reader_that_has_had_enough_changes_no_file_and_no_judgement(small_run: Any) -> None:
    folder = small_run.folder.parent
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        done = run_into(closed, folder, "analyze", ["--json", "-", "--csv", "csv", "--fail-if", "duration_s>0"])
    assert done.returncode == 3
    assert done.stderr.startswith("vmtrace: --fail-if duration_s>0: connection 1 ")
    assert (folder / "csv/connections.csv").exists()


def test_one_output_that_fails_keeps_no_other_from_being_made(vmtrace: Any, tmp_path: Path) -> None:
    done = vmtrace(*COMMANDS["compare"], "--json", "no/c.json", "--csv", "csv", "--figures", "/dev/null/figures", "-q")
    assert done.returncode == 1
    assert [line.rpartition(": ")[0] for line in done.stderr.splitlines()] == [
        "vmtrace: cannot write no/c.json",
        "vmtrace: cannot write /dev/null/figures",
    ]
    assert (tmp_path / "csv/gaps.csv").exists()


@pytest.mark.parametrize("option", ["--json", "--report"])
def test_a_capture_in_place_of_a_forgotten_value_is_not_overwritten(vmtrace: Any, tmp_path: Path, option: str) -> None:
    """`vmtrace analyze --json *.pcap` names the first capture as the output."""
    captures = [tmp_path / "a.pcap", tmp_path / "b.pcap"]
    before = (SAMPLES / "lossy-sender.pcap").read_bytes()
    for capture in captures:
        capture.write_bytes(before)
    done = vmtrace("analyze", option, *map(str, captures))
    assert done.returncode == 2
    assert done.stderr == (
        f"vmtrace: {option} {captures[0]}: this is a capture and stays as it is; name another file to write\n"
    )
    assert [capture.read_bytes() for capture in captures] == [before, before]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_subcommand_overwrites_a_capture(small_run: Any, command: str) -> None:
    folder = small_run.folder.parent
    capture = folder / "only.pcap"
    before = (SAMPLES / "lossy-sender.pcap").read_bytes()
    capture.write_bytes(before)
    with Path(os.devnull).open("wb") as nowhere:
        done = run_into(nowhere, folder, command, ["--json", "only.pcap"])
    assert done.returncode != 0
    assert "is a capture" in done.stderr
    assert capture.read_bytes() == before
