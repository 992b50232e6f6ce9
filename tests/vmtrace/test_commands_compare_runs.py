"""`vmtrace compare-runs`: every option does what its help says, and the exit status says how it went."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from vmtrace.analyze.tables.schema import load


@pytest.fixture
def slower(new_run: Any) -> None:
    """Two runs, `main` and `branch`; data transfers of the second have half the throughput."""
    for name, rate_bps in (("main", 2e6), ("branch", 1e6)):
        made = new_run(name)
        for sequence in range(1, 13):
            line = made.pair(sequence)
            line["probe"] = made.transfer(sequence, "probe", 1e6 + 1e3 * sequence)
            line["data"] = made.transfer(sequence, "data", rate_bps + 1e3 * sequence)
            made.add(line)


@pytest.mark.usefixtures("slower")
def test_the_answer_names_what_changed(vmtrace: Any) -> None:
    done = vmtrace("compare-runs", "main", "branch")
    assert (done.returncode, done.stderr) == (0, "")
    (row,) = [line.split() for line in done.stdout.splitlines() if line.endswith("lower")]
    assert row[:3] == ["I_0", "data", "goodput_bps"]
    assert "\x1b" not in done.stdout


@pytest.mark.usefixtures("slower")
def test_json_goes_where_it_is_wanted(vmtrace: Any, tmp_path: Path) -> None:
    done = vmtrace("compare-runs", "main", "branch", "--json", "-")
    content = json.loads(done.stdout)
    jsonschema.validate(content, load("vmtrace.runs_comparison.1"))
    assert [one["metric"] for one in content["changes"] if one["change"]] == ["goodput_bps"]
    assert vmtrace("compare-runs", "main", "branch", "--json", "c.json", "-q").stdout == ""
    assert json.loads((tmp_path / "c.json").read_text()) == content


@pytest.mark.parametrize(
    ("expression", "status", "said"),
    [
        ("data_goodput_bps_ratio<0.95", 3, "index I_0: data_goodput_bps_ratio = 0.50"),
        ("goodput_bps_ratio<0.95", 3, "index I_0, data: goodput_bps_ratio = 0.50"),
        ("changes>0", 3, "index I_0: changes = 1"),
        ("data_goodput_bps_ratio>1", 0, ""),
        ("probe_goodput_bps_ratio<2", 0, ""),
        ("data_loss_rate_difference>0", 0, "could not be judged, too little was measured in both runs"),
        ("goodput<1", 2, "no metric 'goodput'; did you mean"),
        ("changes>", 2, "expected a number"),
    ],
)
@pytest.mark.usefixtures("slower")
def test_thresholds_decide_about_the_status(vmtrace: Any, expression: str, status: int, said: str) -> None:
    done = vmtrace("compare-runs", "main", "branch", "-q", "--fail-if", expression)
    assert done.returncode == status
    assert said in done.stderr
    assert done.stderr.count("\n") == bool(said)


@pytest.mark.usefixtures("slower")
def test_a_run_that_cannot_be_read_ends_it(vmtrace: Any) -> None:
    done = vmtrace("compare-runs", "main", "nowhere", "--fail-if", "changes>0")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "vmtrace: nowhere: no such run folder\n"


@pytest.mark.usefixtures("slower")
def test_the_page_has_both_runs(vmtrace: Any, tmp_path: Path) -> None:
    assert vmtrace("compare-runs", "main", "branch", "--html", "changes.html", "-q").returncode == 0
    text = (tmp_path / "changes.html").read_text()
    assert "main and branch compared" in text
    assert (tmp_path / "changes.html").stat().st_mode & 0o777 == 0o600


def test_runs_with_nothing_in_common_fail_clearly(vmtrace: Any, new_run: Any, tmp_path: Path) -> None:
    for name, index in (("main", "I_0"), ("branch", "I_1")):
        new_run(name).pairs(8, index, captured=False)
    done = vmtrace("compare-runs", "main", "branch", "--html", "changes.html")
    line = "main and branch have nothing that could be compared: only in main: I_0; only in branch: I_1"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"vmtrace: {line}\n")
    assert not (tmp_path / "changes.html").exists()
