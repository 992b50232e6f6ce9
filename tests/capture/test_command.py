"""The command as a person runs it: files, exit status, Ctrl-C, wrong usage."""

from __future__ import annotations

import argparse
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.capture.traffic import NumberedDatagrams, numbers, read_pcap
from tests.old_python import python39
from vmtrace.analyze import trace
from vmtrace.capture.command import build_parser, size
from vmtrace.capture.health import health_path

ROOT = Path(__file__).parents[2]
needs_rights = pytest.mark.usefixtures("may_capture")
SMALL = ["--buffer-bytes", "4Mi"]


def command(*words: str, python: str = sys.executable) -> list[str]:
    return [python, "-m", "vmtrace.capture", *words]


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*words), check=False, capture_output=True, text=True, cwd=ROOT, timeout=60)


def start(*words: str, stdout: int = subprocess.PIPE, python: str = sys.executable) -> subprocess.Popen[str]:
    """Returns when it says that it records."""
    process = subprocess.Popen(
        command(*words, *SMALL, python=python), stdout=stdout, stderr=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert process.stderr
    line = process.stderr.readline()
    assert line.startswith("recording "), line
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.root
@needs_rights
def test_a_signal_ends_a_recording_with_a_good_file_and_its_health(tmp_path: Path, number: signal.Signals) -> None:
    path = tmp_path / "trace.pcap"
    with NumberedDatagrams() as traffic:
        process = start("--interface", "lo", "--write", str(path), "--filter", f"udp port {traffic.port}")
        traffic.send(50)
        process.send_signal(number)
        out, error = process.communicate(timeout=20)
    assert process.returncode == 0, error
    assert numbers(read_pcap(path)) == list(range(50))
    assert "trace.pcap: 50 packets" in out
    assert "received 50, dropped by kernel 0, by interface 0" in out
    assert json.loads(health_path(path).read_text())["written"] == 50


@pytest.mark.root
@needs_rights
def test_an_interrupted_duration_is_130_and_a_finished_one_0(tmp_path: Path) -> None:
    words = ["--interface", "lo", "--write", str(tmp_path / "trace.pcap"), "--filter", "tcp port 9"]
    process = start(*words, "--duration", "60")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 130
    began_s = time.monotonic()
    assert run(*words, *SMALL, "--duration", "0.3", "--overwrite").returncode == 0
    assert 0.3 <= time.monotonic() - began_s < 10


@pytest.mark.root
@needs_rights
def test_what_came_before_kill_9_is_in_the_file_and_the_health_says_so(tmp_path: Path) -> None:
    path = tmp_path / "trace.pcap"
    with NumberedDatagrams() as traffic:
        process = start("--interface", "lo", "--write", str(path), "--filter", f"udp port {traffic.port}")
        traffic.send(500)
        deadline_s = time.monotonic() + 10
        while path.stat().st_size < 24 + 500 * 74 and time.monotonic() < deadline_s:
            time.sleep(0.02)
        process.kill()
        process.communicate(timeout=20)
    assert trace.read(path).json()["inputs"][0]["packets"] == 500
    record = json.loads(health_path(path).read_text())
    assert record["error"] == "the recording was not finished: the file holds what came before"
    assert record["end_ns"] is None


@pytest.mark.root
@needs_rights
def test_json_has_the_whole_and_each_file(tmp_path: Path) -> None:
    path = str(tmp_path / "trace.pcap")
    done = run(
        "-i", "lo", "-w", path, "--filter", "udp port 9", "--duration", "0.5", "--rotate-seconds", "0.2", "--json"
    )
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["file"] == "trace.pcap"
    assert [one["file"] for one in record["files"]] == [file.name for file in sorted(tmp_path.glob("*.pcap"))]
    assert len(record["files"]) >= 2
    assert done.stderr == ""


@pytest.mark.root
@needs_rights
def test_standard_output_carries_packets_and_nothing_else(tmp_path: Path) -> None:
    with NumberedDatagrams() as traffic, (tmp_path / "out.pcap").open("wb") as out:
        words = ("--interface", "lo", "--write", "-", "--filter", f"udp port {traffic.port}", "--count", "20")
        process = start(*words, stdout=out.fileno())
        traffic.send(20)
        _, error = process.communicate(timeout=20)
    assert process.returncode == 0
    assert numbers(read_pcap(tmp_path / "out.pcap")) == list(range(20))
    assert "-: 20 packets" in error
    assert not list(tmp_path.glob("*.capture.json"))


@pytest.mark.root
@needs_rights
def test_drops_are_reported_even_when_quiet(tmp_path: Path) -> None:
    with NumberedDatagrams() as traffic:
        words = ["-i", "lo", "-w", str(tmp_path / "trace.pcap"), "--filter", f"udp port {traffic.port}", "--quiet"]
        process = subprocess.Popen(
            command(*words, "--snaplen", "262144", "--buffer-bytes", "1"), stderr=subprocess.PIPE, text=True, cwd=ROOT
        )
        deadline_s = time.monotonic() + 10
        while not health_path(tmp_path / "trace.pcap").exists() and time.monotonic() < deadline_s:
            time.sleep(0.02)
        traffic.send(3000, 60_000)
        process.send_signal(signal.SIGTERM)
        _, error = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "NOT COMPLETE" in error


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-w", "x.pcap"], "--interface is missing"),
        (["-i", "lo"], "--write is missing"),
        (["-i", "lo", "-w", "-", "--json"], "both want standard output"),
        (["-i", "lo", "-w", "-", "--rotate-seconds", "3"], "cannot be rotated"),
        (["-i", "lo", "-w", "x.capture.json"], "the name of a health file"),
        (["-i", "lo", "-w", "x.pcap", "--snaplen", "0"], "0: expected a whole number from 1 to 262144"),
        (["-i", "lo", "-w", "x.pcap", "--duration", "nan"], "'nan' is not a duration"),
        (["-i", "lo", "-w", "x.pcap", "--for", "0s"], "a number above 0"),
        (["-i", "lo", "-w", "x.pcap", "--rotate-size", "5X"], "not a number of bytes"),
        (["-i", "lo", "-w", "x.pcap", "--buffer-bytes", "5G"], "more than libpcap takes"),
        (["-i", "lo", "-w", "x.pcap", "--direction", "up"], "invalid choice"),
    ],
)
def test_wrong_usage_is_2_and_says_what(words: list[str], message: str) -> None:
    done = run(*words)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.root
@needs_rights
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-i", "none7", "-w", "{}/x.pcap"], "there is no interface none7; there are .*lo"),
        (["-i", "lo", "-w", "{}/x.pcap", "--filter", "no filter"], "'no filter' cannot be used on lo"),
        (["-i", "lo", "-w", "{}/none/x.pcap"], "cannot be written"),
    ],
)
def test_what_cannot_be_done_is_1_and_one_line(tmp_path: Path, words: list[str], message: str) -> None:
    done = run(*(word.format(tmp_path) for word in words))
    assert done.returncode == 1
    lines = [line for line in done.stderr.splitlines() if not line.startswith("recording ")]
    assert len(lines) == 1
    assert lines[0].startswith("vmtrace: ")
    assert re.search(message, lines[0])


def test_the_list_needs_no_rights_and_no_other_option() -> None:
    done = run("--list")
    assert done.returncode == 0
    assert any(line.split()[0] == "lo" for line in done.stdout.splitlines())


@pytest.mark.parametrize(
    ("text", "count"), [("1", 1), ("500k", 500_000), ("64M", 64 * 10**6), ("1Gi", 1 << 30), ("2KiB", 2048)]
)
def test_sizes_take_a_prefix(text: str, count: int) -> None:
    assert size(text) == count


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5M", "Mi", "1i", "1T", "\uff11"])
def test_other_sizes_are_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        size(text)


def test_every_option_is_described() -> None:
    actions = [action for action in build_parser()._actions if action.option_strings]
    assert [action.option_strings for action in actions if not action.help] == []


@pytest.mark.may_skip
def test_help_on_python_3_9() -> None:
    done = subprocess.run(command("--help", python=python39()), check=False, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert "--rotate-seconds" in done.stdout
    assert "examples:" in done.stdout


@pytest.mark.may_skip
@pytest.mark.root
@needs_rights
def test_a_recording_on_python_3_9(tmp_path: Path) -> None:
    path = tmp_path / "trace.pcap"
    with NumberedDatagrams() as traffic:
        words = ("--interface", "lo", "--write", str(path), "--filter", f"udp port {traffic.port}")
        process = start(*words, python=python39())
        traffic.send(50)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=20)
    assert process.returncode == 0, error
    assert numbers(read_pcap(path)) == list(range(50))


@pytest.mark.root
@needs_rights
def test_a_file_is_not_overwritten_unless_that_is_said(tmp_path: Path) -> None:
    place = tmp_path / "x.pcap"
    place.write_bytes(b"mine")
    words = ["--interface", "lo", "--write", str(place), "--duration", "0.2"]
    refused = run(*words)
    assert refused.returncode == 2
    assert "this file exists; --overwrite replaces it" in refused.stderr
    assert place.read_bytes() == b"mine"
    done = run(*words, "--overwrite", *SMALL)
    assert done.returncode == 0, done.stderr
    assert place.read_bytes()[:4] != b"mine"
    assert f"wrote: {place}" in done.stdout
    assert f"next:  vmtrace analyze {place}" in done.stdout


def test_of_several_files_the_first_is_not_overwritten_either(tmp_path: Path) -> None:
    (tmp_path / "x-0001.pcap").write_bytes(b"mine")
    done = run("--interface", "lo", "--write", str(tmp_path / "x.pcap"), "--rotate-seconds", "60")
    assert done.returncode == 2
    assert "x-0001.pcap: this file exists" in done.stderr
