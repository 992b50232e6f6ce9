"""Whether loss of a run is continuous or bursty, from captures to sentence: an even world and bursty ones."""

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from tests import golden_texts
from vmtrace.analyze.pages.blocks import Lines
from vmtrace.analyze.read.records.run_folder import read_run
from vmtrace.analyze.reports.run.human import show
from vmtrace.analyze.reports.run.losses.bursts import LossBurstRow, loss_burst_rows
from vmtrace.analyze.reports.run.losses.places import lost_places
from vmtrace.analyze.reports.run.page.tables import loss_bursts
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.table_records import tables
from vmtrace.analyze.reports.run.transfers.transfers import Measuring

SEGMENTS, PAIRS = 600, 8
Lost = tuple[int, ...]


def independent(random: np.random.Generator) -> Lost:
    """A dozen anywhere; those that would be among the three behind another one are drawn again."""
    while True:
        lost = np.sort(random.choice(SEGMENTS - 10, 12, replace=False)) + 3
        if np.diff(lost).min() > 3:
            return tuple(int(one) for one in lost)


def in_bursts(random: np.random.Generator) -> Lost:
    starts = np.sort(random.choice(SEGMENTS // 60, 3, replace=False)) * 60 + 5
    return tuple(int(start + 4 * place) for start in starts for place in range(4))


def run_of(made: Any, losses: Callable[[np.random.Generator], Lost]) -> RunResults:
    random = np.random.default_rng(2)
    for sequence in range(1, PAIRS + 1):
        line = made.pair(sequence)
        line["data"]["bytes"] = SEGMENTS * 1000
        made.capture(line, "probe", lost=())
        made.capture(line, "data", lost=losses(random))
        made.add(line)
    run = read_run(made.folder)
    return RunResults(run, tuple(Measuring(run, compared=False).run()), ())


def row_of(results: RunResults) -> LossBurstRow:
    (row,) = loss_burst_rows(results)
    assert (row.role, row.transfers, row.losses) == ("data", PAIRS, 12 * PAIRS)
    return row


def test_bursts_are_found_and_shown_everywhere(new_run: Any) -> None:
    results = run_of(new_run(), in_bursts)
    row = row_of(results)
    assert row.judgement == "bursty"
    assert row.p_value is not None
    assert row.p_value < 0.001
    assert row.ratio.low is not None
    assert row.ratio.low > 1.25
    golden_texts.check("bursts-are-found-and-shown-everywhere", row.sentence)
    (lines, table) = loss_bursts(results)
    assert isinstance(lines, Lines)
    assert lines.items == (row.sentence,)
    assert table is not None
    screen = io.StringIO()
    show(results, Console(file=screen, width=400))
    assert row.sentence in screen.getvalue()
    (record,) = tables(results)["loss_bursts"]
    assert (record["judgement"], record["ratio"]["n"]) == ("bursty", PAIRS)
    assert all(one.measures.loss_gap_losses == 12 for one in results.of("data"))


def test_independent_losses_are_not_called_bursty(new_run: Any) -> None:
    row = row_of(run_of(new_run(), independent))
    assert row.judgement in ("continuous", "undecided")
    assert row.p_value is not None
    assert row.p_value >= 0.05
    assert row.bursty_transfers == 0


def test_single_losses_are_too_few(small_run: Any) -> None:
    run = read_run(small_run.folder)
    rows = loss_burst_rows(RunResults(run, tuple(Measuring(run).run()), ()))
    assert {row.judgement for row in rows} == {"too_few"}
    assert {row.p_value for row in rows} == {None}


def test_a_run_without_loss_has_no_row(new_run: Any) -> None:
    made = new_run()
    made.pairs(2, captured=False)
    run = read_run(made.folder)
    assert loss_burst_rows(RunResults(run, tuple(Measuring(run).run()), ())) == []


@pytest.mark.parametrize(
    ("packets", "expected"),
    [
        ([(0, 1000, False), (1000, 1000, False)], ([], 0)),
        ([(0, 3000, False), (1000, 1000, True), (3000, 2500, False)], ([1], 6)),
        ([(0, 112, False), (112, 9000, False), (2112, 1000, True), (6112, 1000, True)], ([2, 6], 10)),
        ([(0, 9000, False), (2000, 1000, True), (2000, 1000, True), (4000, 3000, True)], ([2, 2, 4, 5, 6], 9)),
    ],
    ids=["nothing lost", "joined data", "behind a short one", "lost twice and joined"],
)
def test_places_are_counted_in_segments(packets: list[tuple[int, int, bool]], expected: tuple[list[int], int]) -> None:
    columns = [np.array(column) for column in zip(*packets, strict=True)]
    places, n = lost_places(*columns)
    assert (places.tolist(), n) == expected
