"""Options of reports that choose what they are about: `--from`, `--until` and `--at-least`."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.analyze.campaign_made import START_NS, folder_of, request
from tests.in_process import vmtrace_here
from vmtrace.analyze.read.records.run_folder import read_run
from vmtrace.command_line import every_parser
from vmtrace.commands.rooms import COMMANDS
from vmtrace.commands.values import instant_ns

REPORTS = ("report", "storage report", "queue report", "swarm report", "discover report", "compare-runs")


def report_of(folder: Path, *words: str) -> dict[str, Any]:
    done = vmtrace_here("storage", "report", folder, *words, "--json", "-", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    (run,) = json.loads(done.stdout)["runs"]
    return dict(run)


@pytest.fixture
def probes(tmp_path: Path) -> Path:
    """Ten requests a minute apart, of 8 Mbit/s and, from the seventh on, of 0.4 Mbit/s."""
    rows = [request(60.0 * n, 8e6 if n < 6 else 4e5) for n in range(10)]
    return folder_of(tmp_path / "probes", "availability", rows)


def test_requests_slower_than_the_floor_are_not_available(probes: Path) -> None:
    assert report_of(probes)["availability"][0]["share"] == 1.0
    with_floor = report_of(probes, "--at-least", "100kB/s")
    assert with_floor["availability"][0]["share"] == 0.6
    assert with_floor["campaign"]["at_least_bps"] == 800_000
    assert report_of(probes, "--at-least", "50kB")["availability"][0]["share"] == 1.0


def test_a_floor_that_is_no_rate_is_wrong_usage(probes: Path) -> None:
    done = vmtrace_here("storage", "report", probes, "--at-least", "quick")
    assert done.returncode == 2
    assert "--at-least" in done.stderr


def test_a_part_of_the_time_is_reported_on_and_said(probes: Path) -> None:
    begin = instant_ns("2007-03-27T12:53:20Z")
    assert begin == START_NS, "the tests below are written for it"
    run = report_of(probes, "--from", "2007-03-27T12:55:20", "--until", "2007-03-27T12:58:20Z")
    assert run["campaign"]["requests"] == 3
    assert run["campaign"]["problems"] == [
        "only what began from 2007-03-27 12:55:20.000 UTC until 2007-03-27 12:58:20.000 UTC: 3 of 10 requests"
    ]
    done = vmtrace_here("storage", "report", probes, "--until", "2007-03-27T14:54:20+02:00")
    assert "1 of 10 requests" in done.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--from", "yesterday"], "expected a time such as 2030-01-01T12:00Z"),
        (["--from", "2026-01-02", "--until", "2026-01-01"], "the first is not before the second"),
    ],
)
def test_times_that_cannot_be_are_wrong_usage(probes: Path, words: list[str], told: str) -> None:
    done = vmtrace_here("storage", "report", probes, *words)
    assert done.returncode == 2
    assert told in done.stderr


def test_nothing_in_the_window_is_an_error_of_one_line(probes: Path) -> None:
    done = vmtrace_here("storage", "report", probes, "--from", "2026-01-01")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1


def test_every_report_on_runs_has_both() -> None:
    parsers = [one for name in COMMANDS for one in every_parser(COMMANDS[name].parser(name))]
    found = [one for one in parsers if one.prog.removeprefix("vmtrace ") in REPORTS]
    assert len(found) == len(REPORTS)
    for parser in found:
        assert {"--from", "--until"} <= {word for one in parser._actions for word in one.option_strings}


def test_pairs_of_a_campaign_until_the_sixth(vmtrace: Any, small_run: Any) -> None:
    starts_ns = [pair.start_ns or 0 for pair in read_run(small_run.folder).pairs]
    moment = datetime.fromtimestamp(starts_ns[5] / 1e9, UTC).isoformat()
    run = json.loads(vmtrace("report", "run", "--json", "-", "--until", moment).stdout)["runs"][0]
    assert run["problems"][0].endswith("5 of 8 pairs")
    assert {one["sequence"] for one in run["pair_verdicts"]} <= {1, 2, 3, 4, 5}


def test_a_run_is_compared_with_itself_in_a_part_of_the_time(vmtrace: Any, small_run: Any) -> None:
    pairs = read_run(small_run.folder).pairs
    moment = datetime.fromtimestamp((pairs[5].start_ns or 0) / 1e9, UTC).isoformat()
    found = json.loads(vmtrace("compare-runs", "run", "run", "--json", "-", "--until", moment).stdout)
    for side in ("before", "after"):
        assert found[side]["pairs"] == 5
        assert found[side]["problems"][0].endswith("5 of 8 pairs")
    assert max(one["n_before"] for one in found["changes"] if one["index"] is None) <= 5
