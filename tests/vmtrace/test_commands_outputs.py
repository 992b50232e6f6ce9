"""What the subcommands have in common about their outputs."""

import json
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
    assert "\nvmtrace: --fail-if duration_s>0: connection 1 " in f"\n{done.stderr}"
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
        f"vmtrace: {option} {captures[0]}: this is a capture, which is not overwritten; name another file\n"
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


@pytest.fixture
def capture(transfer: Any, tmp_path: Path) -> Path:
    written: Path = transfer.write(tmp_path / "x.pcap")
    return written


@pytest.mark.parametrize("command", COMMANDS)
def test_a_reader_of_the_table_that_has_had_enough_changes_no_file(small_run: Any, command: str) -> None:
    folder = small_run.folder.parent
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        done = run_into(closed, folder, command, ["--csv", "csv"])
    assert (done.returncode, done.stderr) == (0, "")
    assert list((folder / "csv").glob("*.csv"))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_table_that_cannot_be_printed_keeps_no_file_from_being_written(small_run: Any, command: str) -> None:
    folder = small_run.folder.parent
    with Path("/dev/full").open("wb") as full:
        done = run_into(full, folder, command, ["--csv", "csv"])
    assert done.returncode == 1
    assert done.stderr == "vmtrace: cannot write standard output: No space left on device\n"
    assert list((folder / "csv").glob("*.csv"))


@pytest.mark.parametrize("words", ["analyze x.pcap", "analyze x.pcap --json -", "analyze --help", "--version"])
def test_a_closed_standard_output_is_reported(capture: Path, words: str) -> None:
    command = f"{sys.executable} -P -m vmtrace {words} >&-"
    done = subprocess.run(
        ["bash", "-c", command], cwd=capture.parent, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert done.stderr in {f"vmtrace: {what}Bad file descriptor\n" for what in ("cannot write standard output: ", "")}


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_letters_that_standard_output_does_not_know_are_replaced(vmtrace: Any, capture: Path, encoding: str) -> None:
    done = vmtrace("analyze", capture.name, "--connection", "1", PYTHONIOENCODING=encoding, PYTHONUTF8="0")
    assert (done.returncode, done.stderr) == (0, "")
    assert "10.0.0.1:40000" in done.stdout
    lines = vmtrace("analyze", capture.name, PYTHONIOENCODING=encoding).stdout.splitlines()
    assert next(cells for line in lines if (cells := line.split())[:1] == ["1"])[2] == ">", "→"


@pytest.mark.parametrize("option", ["--csv", "--parquet", "--figures"])
@pytest.mark.parametrize("place", ["file", "file/below", "/dev/null"])
def test_a_file_in_the_place_of_a_folder_is_named(vmtrace: Any, capture: Path, option: str, place: str) -> None:
    (capture.parent / "file").touch()
    done = vmtrace("analyze", capture.name, "-q", option, place)
    assert done.returncode == 1
    assert done.stderr.startswith(f"vmtrace: cannot write {place}: ")
    assert "not a folder" in done.stderr or "Not a directory" in done.stderr


@pytest.mark.parametrize("option", ["--json", "--csv", "--parquet", "--figures", "--report"])
@pytest.mark.parametrize("equals", [True, False])
def test_an_output_without_a_name_is_wrong_usage(vmtrace: Any, capture: Path, option: str, equals: bool) -> None:
    done = vmtrace("analyze", capture.name, *([f"{option}="] if equals else [option, ""]))
    assert done.returncode == 2
    assert done.stderr == f"vmtrace: {option}: expected a file or folder name, not an empty one\n"
    assert [path.name for path in capture.parent.iterdir()] == [capture.name]


def test_two_outputs_of_one_name_are_wrong_usage(vmtrace: Any, capture: Path) -> None:
    done = vmtrace("analyze", capture.name, "--json", "out", "--report", "./out")
    assert (done.returncode, done.stderr) == (2, "vmtrace: --json and --report: out can hold one of them, not both\n")
    assert vmtrace("analyze", capture.name, "--json", "/dev/null", "--report", "/dev/null").returncode == 0


def test_a_link_to_itself_is_named(vmtrace: Any, capture: Path) -> None:
    (capture.parent / "loop").symlink_to("loop")
    done = vmtrace("analyze", capture.name, "--json", "loop")
    assert done.stderr in {"", "vmtrace: cannot write loop: Too many levels of symbolic links\n"}
    assert (done.returncode == 0) == (done.stderr == "") == (not (capture.parent / "loop").is_symlink())


def test_a_name_may_be_as_long_as_the_system_takes_it(vmtrace: Any, capture: Path) -> None:
    name = "x" * 250 + ".json"
    assert vmtrace("analyze", capture.name, "--json", name).returncode == 0
    assert (capture.parent / name).read_text().startswith('{"schema"')


def test_tables_of_an_earlier_capture_do_not_stay_beside_the_new_ones(vmtrace: Any, capture: Path) -> None:
    tables = {"--csv": "csv", "--parquet": "parquet"}
    everything = [word for option, folder in tables.items() for word in (option, folder)]
    (capture.parent / "csv").mkdir()
    (capture.parent / "csv/notes.csv").write_text("mine")
    vmtrace("analyze", capture.name, *everything, "--connection", "1", "--by", "provider")
    assert all((capture.parent / folder / f"packets.{folder}").exists() for folder in tables.values())
    assert (capture.parent / "csv/providers.csv").exists()
    vmtrace("analyze", capture.name, *everything)
    left = sorted(path.name for folder in tables.values() for path in (capture.parent / folder).iterdir())
    assert left == [
        "connections.csv", "connections.parquet", "findings.csv", "findings.parquet", "flows.csv", "flows.parquet",
        "lookups.csv", "lookups.parquet", "notes.csv",
        "provenance.json", "syns.csv", "syns.parquet",
    ]  # fmt: skip


def test_what_is_missing_after_an_option_points_to_the_help_of_its_command(vmtrace: Any) -> None:
    done = vmtrace("analyze", "x.pcap", "--json")
    assert done.returncode == 2
    assert done.stderr.endswith("(see vmtrace analyze --help)\n")


def test_json_lines_are_what_the_document_lists(vmtrace: Any, tmp_path: Path) -> None:
    samples = Path(__file__).parents[2] / "samples"
    sources = (samples / "lossy-sender.pcap", samples / "tls13.pcap")
    done = vmtrace("analyze", *sources, "--json-lines")
    assert (done.returncode, done.stderr) == (0, "")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    document = json.loads(vmtrace("analyze", *sources, "--json", "-").stdout)
    for kind, name in (
        ("connection", "connections"),
        ("flow", "flows"),
        ("lookup", "lookups"),
        ("finding", "findings"),
    ):
        of_kind = [
            {key: value for key, value in one.items() if key != "record"} for one in lines if one["record"] == kind
        ]
        assert of_kind == document.get(name, [])
    assert {one["record"] for one in lines} >= {"connection", "finding"}
    both = vmtrace("analyze", *sources, "--json-lines", "--json", "-")
    assert (both.returncode, both.stderr) == (
        2,
        "vmtrace: --json - and --json-lines: standard output can hold one of them, not both\n",
    )
