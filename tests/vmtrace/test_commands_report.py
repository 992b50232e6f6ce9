"""`vmtrace report`: every option does what its help says, and the exit status says how it went."""

import json
import stat
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests import golden_texts
from vmtrace.analyze.tables.schema import load


def test_one_run_gives_the_short_answer_and_a_page_beside_it(vmtrace: Any, small_run: Any) -> None:
    done = vmtrace("report", "run")
    assert (done.returncode, done.stderr) == (0, "")
    golden_texts.check("report-of-a-run", done.stdout)
    lines = done.stdout.splitlines()
    assert len(lines) <= 40
    assert "\x1b" not in done.stdout, "no colour where it is no terminal"
    assert max(map(len, lines)) <= 120
    page = small_run.folder / "report.html"
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert "Round-trip time and loss (Table 2)" in page.read_text()


def test_the_second_time_nothing_is_measured_again(vmtrace: Any, small_run: Any) -> None:
    first = vmtrace("report", "run", "--json", "-")
    kept = small_run.folder / "analysis/transfers.parquet"
    before = kept.stat().st_mtime_ns
    second = vmtrace("report", "run", "--json", "-")
    assert second.stdout == first.stdout
    assert kept.stat().st_mtime_ns == before


def test_json_on_standard_output_is_alone_there(vmtrace: Any, small_run: Any) -> None:
    done = vmtrace("report", "run", "--json", "-")
    document = json.loads(done.stdout)
    jsonschema.validate(document, load("vmtrace.run_report.1"))
    assert [run["name"] for run in document["runs"]] == ["run"]
    assert not (small_run.folder / "report.html").exists(), "another output was asked for"


@pytest.mark.slow
def test_every_output_can_be_made_at_once_of_several_runs(
    vmtrace: Any, small_run: Any, new_run: Any, tmp_path: Path
) -> None:
    other = new_run("other")
    other.pairs(2)
    done = vmtrace(
        "report", "run", "other", "--html", "r.html", "--csv", "csv", "--figures", "figures", "--json", "out.json",
        "--pair", "2", "-q",
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert [run["drawn_pair"]["sequence"] for run in json.loads((tmp_path / "out.json").read_text())["runs"]] == [2, 2]
    assert (tmp_path / "csv/table-2.csv").exists()
    assert (tmp_path / "figures/figure-8-spacing-and-window-2.svg").exists()
    assert "pair 2 (I_0) of other: asked for" in (tmp_path / "r.html").read_text()


def test_several_runs_without_an_output_are_only_named(vmtrace: Any, small_run: Any, new_run: Any) -> None:
    other = new_run("other")
    other.pairs(2, captured=False)
    done = vmtrace("report", "run", "other", "run")
    assert done.returncode == 0
    golden_texts.check("report-of-two-runs", done.stdout)
    assert not (small_run.folder / "report.html").exists()


def test_what_failed_and_what_was_dropped_is_said(vmtrace: Any, small_run: Any) -> None:
    small_run.record |= {"status": "interrupted", "error": "the time is over"}
    small_run.save()
    line = small_run.pair(9)
    small_run.capture(line, "data")
    line["data"]["capture"]["sender_dropped"] = 5
    small_run.add(line, small_run.pair(10, status="failed", data=None, error="no route to host"))
    with (small_run.folder / "pairs.jsonl").open("a") as file:
        file.write('{"sequ')
    done = vmtrace("report", "run")
    assert done.returncode == 0
    for said in (
        "the run is interrupted: the time is over",
        "1 pair failed, the first: no route to host",
        "captures of 1 transfer are incomplete, the first: pair 9 data: 5 packets dropped while capturing",
        "pairs.jsonl: its last line is torn and was left out",
    ):
        assert said in done.stdout


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["nowhere"], 1, "nowhere: no such run folder"),
        (["empty"], 1, "empty: not a run folder (it has no run.json)"),
        (["early"], 1, "early: no finished pair (the run is complete)"),
        (["failed"], 1, "failed: no finished pair (the run is failed, 1 failed pair: no space left)"),
        (["run", "--pair", "99"], 2, "--pair run: no complete pair 99: complete pairs are between 1 and 8"),
        (["run", "--pair", "0"], 2, "--pair"),
        (
            ["run", "--html", "no/such/folder/r.html"],
            1,
            "cannot write no/such/folder/r.html: No such file or directory",
        ),
        (["run", "--json", "/dev/full"], 1, "cannot write /dev/full: No space left on device"),
    ],
)
def test_trouble_is_one_line(
    vmtrace: Any, small_run: Any, new_run: Any, tmp_path: Path, arguments: list[str], status: int, said: str
) -> None:
    (tmp_path / "empty").mkdir()
    new_run("early")
    failed = new_run("failed")
    failed.record |= {"status": "failed", "error": "no space left"}
    failed.save()
    failed.add(failed.pair(1, status="failed", data=None))
    done = vmtrace("report", *arguments, "-q")
    assert done.returncode == status
    assert done.stderr.startswith("vmtrace: ")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_folder_that_is_no_run_does_not_hide_those_that_are(vmtrace: Any, small_run: Any, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = vmtrace("report", "empty", "run", "--csv", "csv")
    assert done.returncode == 1
    assert "8 of 8 pairs finished" in done.stdout
    assert (tmp_path / "csv/table-1.csv").exists()


def test_the_page_is_never_written_through_a_link_out_of_the_run_folder(
    vmtrace: Any, small_run: Any, tmp_path: Path
) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    (small_run.folder / "report.html").symlink_to(tmp_path / "mine.txt")
    done = vmtrace("report", "run")
    assert done.returncode == 1
    assert "give --html FILE" in done.stderr
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_help_has_the_options_that_scripts_rely_on_and_examples(vmtrace: Any) -> None:
    done = vmtrace("report", "--help", COLUMNS="200")
    assert done.returncode == 0
    for shown in ("--html", "--figures", "--csv", "--json", "--pair", "vmtrace report RUN --pair 17"):
        assert shown in done.stdout


def test_terminal_escapes_in_a_run_do_not_reach_the_terminal(vmtrace: Any, new_run: Any) -> None:
    made = new_run("bad")
    made.record |= {"status": "failed", "error": "\x1b[2J\x07 gone"}
    made.record["plan"]["name"] = "\x1b]0;title\x07"
    made.save()
    made.add(made.pair(1, index="I\x1b[31m"), made.pair(2, status="failed", error="\x1b[5m", data=None))
    done = vmtrace("report", "bad")
    assert done.returncode == 0
    assert not {"\x1b", "\x07"} & set(done.stdout + done.stderr)


def test_everything_is_printed_where_it_is_asked_for(vmtrace: Any, small_run: Any) -> None:
    golden_texts.check("report-of-a-run-with-all", vmtrace("report", "run", "--all").stdout)


def test_many_runs_stay_on_one_screen(vmtrace: Any, new_run: Any) -> None:
    names = [f"run{number}" for number in range(12)]
    for name in names:
        new_run(name).pairs(2, captured=False)
    lines = vmtrace("report", *names).stdout.splitlines()
    golden_texts.check("report-of-many-runs", "\n".join(lines))
    assert len(lines) <= 40
