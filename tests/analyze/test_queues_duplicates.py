"""Repeated deliveries by cause: the visibility timeout was over, was not, or the message had been deleted."""

from pathlib import Path

import pytest

from tests.analyze.queues_made import Made, stage
from vmtrace.analyze.reports.queues.duplicates import DuplicateRow, duplicate_row
from vmtrace.analyze.reports.queues.messages import Messages


def found_in(made: Made) -> DuplicateRow:
    return duplicate_row(Messages(made.read()))


def sent(tmp_path: Path) -> Made:
    return Made(tmp_path / "run", stage(messages=2, visibility_s=2.0)).send([0], 0, 5)


@pytest.mark.parametrize(
    ("second_end", "cause"),
    [(15, "within_visibility"), (1500, "within_visibility"), (2011, "after_visibility"), (9000, "after_visibility")],
)
def test_the_timeout_decides_the_cause(tmp_path: Path, second_end: float, cause: str) -> None:
    made = sent(tmp_path).receive([(0, 0, None)], 5, 10).receive([(0, 0, None)], second_end - 5, second_end)
    found = found_in(made)
    assert getattr(found, cause) == 1
    assert found.after_visibility + found.within_visibility + found.after_deletion == 1
    assert (found.messages, found.most_deliveries) == (1, 2)


def test_a_response_that_was_slow_the_first_time_is_no_delivery_within_the_timeout(tmp_path: Path) -> None:
    made = sent(tmp_path).receive([(0, 0, None)], 5, 120).receive([(0, 0, None)], 1990, 2015)
    assert found_in(made).after_visibility == 1


def test_a_delivery_after_an_acknowledged_deletion_is_the_services(tmp_path: Path) -> None:
    made = sent(tmp_path).receive([(0, 0, None)], 5, 10).delete([0], 15, 20).receive([(0, 0, None)], 3000, 3010)
    found = found_in(made)
    assert (found.after_deletion, found.late_deletions) == (1, 0)


def test_a_delivery_that_was_under_way_when_the_deletion_came_is_not_after_it(tmp_path: Path) -> None:
    made = sent(tmp_path).receive([(0, 0, None)], 5, 10).receive([(0, 0, None)], 12, 30).delete([0], 15, 20)
    assert found_in(made).within_visibility == 1


def test_late_and_failed_deletions_are_counted(tmp_path: Path) -> None:
    made = sent(tmp_path).send([1], 10, 12).receive([(0, 0, None), (1, 10, None)], 15, 20)
    made.delete([0], 2500, 2600).delete([1], 30, 40, refused={"1": "stale"})
    assert found_in(made).late_deletions == 2


def test_what_the_collector_found_again_is_no_duplicate(tmp_path: Path) -> None:
    made = sent(tmp_path).receive([(0, 0, None)], 5, 10).receive([(0, 0, None)], 5000, 5010, role="collector")
    found = found_in(made)
    assert (found.messages, found.most_deliveries) == (0, 1)


def test_a_run_without_deliveries_has_none(tmp_path: Path) -> None:
    found = found_in(sent(tmp_path))
    assert (found.messages, found.within_visibility) == (0, 0)
