"""Several captures: parts of one run, or the same traffic at two points."""

import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from vmtrace.analyze.read.grouping import Grouping, group
from vmtrace.analyze.trace import read


@pytest.fixture
def both_ends(tmp_path: Path, transfer: Any) -> list[Path]:
    return [transfer.write(tmp_path / name) for name in ("sender.pcap", "receiver.pcap")]


@pytest.fixture
def rotated(tmp_path: Path, two_transfers: Any, new_capture: Any) -> list[Path]:
    halves = new_capture(), new_capture()
    halves[0].records, halves[1].records = two_transfers.records[:60], two_transfers.records[60:]
    return [half.write(tmp_path / f"run-{number}.pcap") for number, half in enumerate(halves)]


def test_rotated_files_are_one_capture(rotated: list[Path]) -> None:
    assert group(rotated, Grouping.AUTO) == [[0, 1]]


def test_both_ends_of_a_transfer_are_kept_apart(both_ends: list[Path]) -> None:
    assert group(both_ends, Grouping.AUTO) == [[0], [1]]


def test_files_join_the_capture_that_they_are_part_of(both_ends: list[Path], rotated: list[Path]) -> None:
    # Both rotated files hold parts of the transfer that the first one holds as a whole.
    assert group([both_ends[0], *rotated], Grouping.AUTO) == [[0], [1, 2]]


def test_what_the_user_says_goes(both_ends: list[Path], rotated: list[Path]) -> None:
    assert group(both_ends, Grouping.MERGE) == [[0, 1]]
    assert group(rotated, Grouping.SEPARATE) == [[0], [1]]


def test_what_cannot_be_compared_is_left_to_the_analysis(tmp_path: Path, both_ends: list[Path]) -> None:
    assert group([tmp_path / "gone.pcap", both_ends[0]], Grouping.AUTO) == [[0, 1]]
    assert group(["-", both_ends[0]], Grouping.AUTO) == [[0, 1]]
    assert group([], Grouping.AUTO) == [[]]


def test_of_many_files_those_of_one_folder_and_of_one_name_are_compared(tmp_path: Path, transfer: Any) -> None:
    paths = []
    for run in range(33):
        (tmp_path / f"{run}").mkdir()
        paths += [transfer.write(tmp_path / f"{run}" / name) for name in ("sender.pcap", "receiver.pcap")]
    groups = group(paths, Grouping.AUTO)
    for members in groups:
        names = [(paths[m].parent, paths[m].name) for m in members]
        assert len({folder for folder, _ in names}) == len(names), "two ends of one run together"


def test_both_ends_among_captures_of_other_traffic_are_found(tmp_path: Path, transfer: Any, new_capture: Any) -> None:
    others = []
    for number in range(20):
        other = new_capture()
        other.tcp(60.0 * number, ("198.18.9.1", 1000 + number), ("198.18.9.2", 80), flags=2, sequence=number)
        others.append(other.write(tmp_path / f"a{number:02}.pcap"))
    ends = [transfer.write(tmp_path / name) for name in ("receiver.pcap", "sender.pcap")]
    assert [20, 21] not in [sorted(members)[-2:] for members in group([*others, *ends], Grouping.AUTO)]


def test_a_run_may_have_more_files_than_a_process_may_open(
    tmp_path: Path, two_transfers: Any, new_capture: Any
) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    for number, record in enumerate(two_transfers.records):
        part = new_capture()
        part.records = [record]
        part.write(parts / f"run-{number:04}.pcap")
    assert len(two_transfers.records) > 100
    few = (80, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    code = "import sys, vmtrace as t; sys.stdout.write(str(t.read(*sys.argv[1:]).values('ledger_wire_bytes')))"
    run = subprocess.run(
        [sys.executable, "-c", code, *map(str, sorted(parts.iterdir()))],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, few),
    )
    whole = read(two_transfers.bytes())
    assert (run.stdout, run.stderr) == (str(whole.values("ledger_wire_bytes")), "")


def test_more_captures_than_can_be_numbered_are_refused() -> None:
    with pytest.raises(ValueError, match="65,537 captures: at most 65,536"):
        read(*(["capture.pcap"] * 65_537))
