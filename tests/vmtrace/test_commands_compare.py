"""`vmtrace compare`: every option does what its help says, and the exit status says how it went."""

import json
import stat
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from vmtrace.analyze.tables.schema import load

SAMPLES = Path(__file__).parents[2] / "samples"
SENDER, RECEIVER = SAMPLES / "lossy-sender.pcap", SAMPLES / "lossy-receiver.pcap"


def test_two_captures_give_a_short_answer(vmtrace: Any) -> None:
    done = vmtrace("compare", SENDER, RECEIVER)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].endswith("lossy-receiver.pcap: 1 connection in both, 749 packets matched")
    assert lines[1].startswith("clock: the receiver's is ")
    (row,) = (line.split() for line in lines if "→" in line)
    assert row[3:5] == ["424", "6"]
    assert "\x1b" not in done.stdout, "no colour where it is no terminal"


def test_json_on_standard_output_is_alone_there(vmtrace: Any) -> None:
    done = vmtrace("compare", SENDER, RECEIVER, "--json", "-")
    assert (done.returncode, done.stderr) == (0, "")
    content = json.loads(done.stdout)
    jsonschema.validate(content, load("vmtrace.comparison.1"))
    assert content["sender_to_receiver"]["lost_in_network"] == 6


def test_every_output_can_be_made_at_once(vmtrace: Any, tmp_path: Path) -> None:
    done = vmtrace("compare", SENDER, RECEIVER, "--json", "c.json", "--csv", "csv", "--figures", "figures", "-q")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert stat.S_IMODE((tmp_path / "c.json").stat().st_mode) == 0o600
    assert sorted(path.name for path in (tmp_path / "csv").iterdir()) == [
        "clock-steps.csv",
        "connections.csv",
        "gaps.csv",
        "provenance.json",
    ]
    assert (tmp_path / "figures/connection-1-one-way-delay.svg").exists()


def test_pauses_count_from_the_length_asked_for_on(vmtrace: Any) -> None:
    few, many = (
        json.loads(vmtrace("compare", SENDER, RECEIVER, "--json", "-", "--oversize-abs", limit).stdout)
        for limit in ("1000", "1")
    )
    counts = [sum(one["sender_to_receiver"]["gaps_by_location"].values()) for one in (few, many)]
    assert counts[0] == 0
    assert counts[1] > 5


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ((SENDER, SAMPLES / "offload-receiver.pcap"), "no connection is in both captures"),
        ((SENDER, "missing.pcap"), "missing.pcap: No such file or directory"),
        ((SAMPLES / "README.md", RECEIVER), "README.md"),
        ((SENDER, SAMPLES), "samples"),
    ],
)
def test_what_cannot_be_compared_is_one_clear_line(vmtrace: Any, names: tuple[Path, Path], said: str) -> None:
    done = vmtrace("compare", *names)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("vmtrace: ")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_one_capture_alone_is_wrong_usage(vmtrace: Any) -> None:
    done = vmtrace("compare", SENDER)
    assert done.returncode == 2
    assert "RECEIVER" in done.stderr


def test_an_output_that_cannot_be_written_is_reported(vmtrace: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = vmtrace("compare", SENDER, RECEIVER, "--csv", "file/csv", "--json", "c.json")
    assert done.returncode == 1
    assert done.stderr.startswith("vmtrace: cannot write file/csv")
    assert (tmp_path / "c.json").exists(), "the others are still made"


def test_help_has_examples(vmtrace: Any) -> None:
    done = vmtrace("compare", "--help")
    assert done.returncode == 0
    assert "vmtrace compare sender.pcap receiver.pcap" in done.stdout
