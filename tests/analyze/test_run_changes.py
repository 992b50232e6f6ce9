"""What changed between two runs: what is compared with what, and that the document and its page agree."""

import json
import re
from io import StringIO
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from rich.console import Console

from tests.analyze.schemas import properties
from vmtrace.analyze.read.records.run_folder import read_run
from vmtrace.analyze.reports.run.changes.columns import columns, could_be_judged, names, rows
from vmtrace.analyze.reports.run.changes.compare_runs import (
    OF_CAPTURES,
    OF_PROGRAMS,
    PING,
    Change,
    RunComparison,
    compare_runs,
)
from vmtrace.analyze.reports.run.changes.document import document
from vmtrace.analyze.reports.run.changes.terminal import show
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.transfers.transfers import Measuring
from vmtrace.analyze.tables.schema import load
from vmtrace.analyze.words.document import as_bytes

SCHEMA = load("vmtrace.runs_comparison.1")
PAGE = Path(__file__).parents[2] / "docs/report.md"


def results_of(made: Any) -> RunResults:
    run = read_run(made.folder)
    return RunResults(run, tuple(Measuring(run).run()), run.problems)


def compared(before: Any, after: Any) -> RunComparison:
    return compare_runs(results_of(before), results_of(after))


def of(comparison: RunComparison, part: str, metric: str, index: str | None = "I_0") -> Change:
    (found,) = [
        one for one in comparison.changes if (one.part, one.metric, one.index) == (part, metric, index)
    ]  # fmt: skip
    return found


def campaign(made: Any, seed: int, pairs: int = 20, factor: float = 1.0, indices: tuple[str, ...] = ("I_0",)) -> Any:
    """Pairs without captures: probes near 1 Mbit/s, data near `factor` times 2 Mbit/s, pings near 20 ms."""
    generator = np.random.default_rng(seed)
    sequence = 0
    for index in indices:
        for _ in range(pairs):
            sequence += 1
            line = made.pair(sequence, index)
            spread = generator.lognormal(0, 0.1, 3)
            line["probe"] = made.transfer(sequence, "probe", 1e6 * spread[0])
            line["data"] = made.transfer(sequence, "data", factor * 2e6 * spread[1])
            line["rtt"] |= {"mean_s": 0.02 * spread[2]}
            made.add(line)
    return made


def test_runs_that_do_not_differ_have_no_change(new_run: Any) -> None:
    comparison = compared(campaign(new_run("before"), 1), campaign(new_run("after"), 2))
    assert comparison.established == []
    assert comparison.tested == 3, "throughput of probe and data, ping; the kernel's counts never vary"
    assert of(comparison, "data", "kernel_retransmission_rate").reason == "all values are the same"


def test_a_run_with_slower_data_transfers_shows_that_alone(new_run: Any) -> None:
    comparison = compared(campaign(new_run("before"), 1), campaign(new_run("after"), 2, factor=0.8))
    (change,) = comparison.established
    assert (change.index, change.part, change.metric, change.change) == ("I_0", "data", "goodput_bps", "lower")
    ratio = change.difference.ratio_of_medians
    assert ratio.low is not None
    assert ratio.high is not None
    assert ratio.low < 0.8 < ratio.high
    assert change.median_before == pytest.approx(2e6, rel=0.1)


def test_many_pairs_of_runs_that_do_not_differ_rarely_show_a_change(new_run: Any) -> None:
    runs = [results_of(campaign(new_run(f"run{seed}"), seed, pairs=8, indices=("I_0", "I_1"))) for seed in range(20)]
    alarms = sum(bool(compare_runs(runs[at], runs[at + 10]).established) for at in range(10))
    assert alarms <= 2


def test_indices_are_put_together_within_each(new_run: Any) -> None:
    indices = ("I_0", "I_1")
    comparison = compared(
        campaign(new_run("before"), 1, indices=indices), campaign(new_run("after"), 2, factor=1.3, indices=indices)
    )
    together = of(comparison, "data", "goodput_bps", None)
    assert (together.n_before, together.n_after, together.median_before) == (40, 40, None)
    assert together.change == "higher"
    assert rows(comparison) == [None, "I_0", "I_1"]


def test_what_is_not_alike_is_not_compared_and_told(new_run: Any) -> None:
    before, after = new_run("before"), new_run("after")
    before.pairs(6, "I_0", captured=False)
    before.pairs(6, "I_1", first=7, captured=False)
    after.pairs(6, "I_2", captured=False)
    for sequence in range(7, 13):
        line = after.pair(sequence, "I_0")
        line["data"] |= {"bytes": 70_000}
        after.add(line)
    comparison = compared(before, after)
    assert comparison.notes == (
        "only in before: I_1",
        "only in after: I_2",
        "I_0, data: not compared, other sizes (50.0 kB upload and 70.0 kB upload)",
    )
    assert {change.part for change in comparison.changes} == {"probe", "ping"}


def test_captures_of_the_other_end_are_left_out(new_run: Any) -> None:
    before, after = new_run("before"), new_run("after")
    before.pairs(7)
    after.pairs(6)
    line = after.pair(7)
    line["data"]["goodput_bps"] = 14e6
    after.capture(line, "probe")
    after.capture(line, "data", "receiver")
    after.add(line)
    comparison = compared(before, after)
    assert comparison.notes == (
        "I_0, data: 1 transfer left out, not captured at the data sender as the others were",
    )  # fmt: skip
    loss = of(comparison, "data", "loss_rate")
    assert (loss.n_before, loss.n_after) == (7, 6)
    assert loss.median_after == pytest.approx(1 / 51)
    assert of(comparison, "data", "goodput_bps").n_after == 7


def test_a_run_compared_with_itself_did_not_change(small_run: Any) -> None:
    comparison = compared(small_run, small_run)
    assert comparison.established == []
    assert {one.difference.cliffs_delta.value for one in comparison.changes} == {0}


def test_thresholds_see_only_what_is_established(new_run: Any) -> None:
    comparison = compared(campaign(new_run("before"), 1), campaign(new_run("after"), 2, factor=0.8))
    found = columns(comparison)
    assert list(found) == names()
    assert found["changes"] == [1]
    ratio = of(comparison, "data", "goodput_bps").difference.ratio_of_medians.value
    assert found["data_goodput_bps_ratio"] == [ratio]
    assert found["probe_goodput_bps_ratio"] == [None]
    assert could_be_judged(comparison, ["probe_goodput_bps_ratio"])
    assert not could_be_judged(comparison, ["data_loss_rate_difference"])


def written(comparison: RunComparison) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(as_bytes(document(comparison)))
    return content


def test_the_document_is_as_its_schema_says(small_run: Any, new_run: Any) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    other = campaign(new_run("other"), 3)
    for content in (written(compared(small_run, small_run)), written(compared(small_run, other))):
        jsonschema.validate(content, SCHEMA)
    assert content["before"]["pairs"] == 8


def test_the_schema_requires_every_field_and_the_page_describes_it() -> None:
    described = set(re.findall(r"[a-z0-9_]+", " ".join(re.findall(r"`([^`\n]+)`", PAGE.read_text()))))
    assert [name for name, required in properties(SCHEMA) if name not in required] == []
    assert {name for name, _ in properties(SCHEMA)} - described == set()
    assert {*OF_PROGRAMS, *OF_CAPTURES, PING} - described == set()


def shown(comparison: RunComparison, width: int = 140) -> list[str]:
    out = StringIO()
    show(comparison, Console(file=out, width=width, color_system=None, markup=False, highlight=False))
    return [line.rstrip() for line in out.getvalue().splitlines()]


def test_the_answer_has_a_line_for_each_metric_and_a_last_word(new_run: Any) -> None:
    lines = shown(compared(campaign(new_run("before"), 1), campaign(new_run("after"), 2, factor=0.8)))
    assert lines[0].startswith("Throughput of data transfers: lower")
    assert lines[1].startswith("before: before, 20 pairs from 2")
    (row,) = [line.split() for line in lines if "data" in line and "goodput_bps" in line]
    assert row[:4] == ["I_0", "data", "goodput_bps", "20/20"]
    assert row[-2:] == ["<0.001", "lower"]
    assert row[8].startswith("\N{MULTIPLICATION SIGN}0.8")
    assert lines[-1] == "1 change established among 3 metrics tested; p is adjusted for their number (Holm)"


def test_runs_too_short_to_compare_say_so(new_run: Any) -> None:
    lines = shown(compared(campaign(new_run("before"), 1, pairs=3), campaign(new_run("after"), 2, pairs=3)))
    assert lines[-1] == "nothing could be tested: fewer than 6 values on a side"


def test_an_answer_of_many_notes_shows_the_first(new_run: Any) -> None:
    before, after = new_run("before"), new_run("after")
    for sequence in range(1, 9):
        line = before.pair(sequence, f"I_{sequence}")
        before.add(line)
        line["probe"] |= {"bytes": 11_000}
        after.add(line)
    lines = shown(compared(before, after))
    assert sum("I_" in line and "not compared" in line for line in lines) == 5
    assert "  and 3 more notes: --json has all" in lines


def test_a_narrow_terminal_still_has_the_change_and_how_sure_it_is(new_run: Any) -> None:
    comparison = compared(campaign(new_run("before"), 1), campaign(new_run("after"), 2, factor=0.8))
    for width in (60, 72, 80, 95, 120):
        lines = shown(comparison, width)
        at = next(place for place, line in enumerate(lines) if line.endswith("lower"))
        row = " ".join(" ".join(lines[at : at + 5]).replace(",", " ").replace(";", " ").split())
        assert row.startswith("I_0 data goodput_bps")
        assert len(re.findall(r"[\d.]+ Mbit/s", row)) == 2, "before and after"
        assert re.search(r"\N{MULTIPLICATION SIGN}0\.8\d* \[", row)
        assert "<0.001" in row
        assert max(map(len, lines[3:-1])) <= width


def test_the_values_before_and_after_make_up_the_change_over_all_indices_too(new_run: Any) -> None:
    indices = ("I_0", "I_1")
    comparison = compared(
        campaign(new_run("before"), 1, indices=indices), campaign(new_run("after"), 2, factor=1.3, indices=indices)
    )
    for change in comparison.changes:
        ratio, difference = change.difference.ratio_of_medians.value, change.difference.difference_of_means.value
        if ratio is not None:
            assert change.level_after / change.level_before == pytest.approx(ratio)
        else:
            assert change.level_after - change.level_before == pytest.approx(difference)
