"""What became of each message: each is in one part, and the parts sum up."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.analyze.queues_made import Made, stage
from vmtrace.analyze.reports.queues.fates import accounts, fates_text


def test_each_message_is_in_one_part(tmp_path: Path) -> None:
    made = Made(tmp_path / "run", stage(messages=8))
    made.send([0], 0, 5).send([1], 10, 15).send([2], 20, 25)
    made.send([3], 30, 35, error_kind="throttled", refused={"3": "throttled"})
    made.send([4], 40, 45, error_kind="endpoint_gone").send([5], 50, 55, error_kind="endpoint_gone").attempt([6])
    made.receive([(0, 0, None), (5, 50, None)], 60, 70).receive([(1, 10, None)], 200, 210, role="collector")
    found = accounts(made.read())
    assert asdict(found) == {
        "planned": 8, "delivered": 2, "pending": 1, "lost": 1, "lost_in_flight": 2, "refused": 1, "unsent": 1,
    }  # fmt: skip
    assert fates_text(found) == ("8 messages: 2 delivered, 1 pending, 1 lost, 2 lost in flight, 1 refused, 1 not sent")


def test_without_collecting_nothing_is_called_lost(tmp_path: Path) -> None:
    made = Made(tmp_path / "run", stage(messages=3), collected=False, status="failed")
    made.send([0], 0, 5).attempt([1])
    found = accounts(made.read())
    assert (found.pending, found.lost, found.lost_in_flight, found.unsent) == (2, None, None, 1)


def test_a_refused_message_that_came_is_delivered(tmp_path: Path) -> None:
    made = Made(tmp_path / "run", stage(messages=1))
    made.send([0], 0, 5, error_kind="service", refused={"0": "service"}).receive([(0, 0, None)], 9, 10)
    assert accounts(made.read()).delivered == 1


def test_numbers_beyond_the_plan_are_nobodys(tmp_path: Path) -> None:
    made = Made(tmp_path / "run", stage(messages=1))
    made.send([0], 0, 5).receive([(0, 0, None), (77, 0, None)], 9, 10)
    found = accounts(made.read())
    assert (found.planned, found.delivered) == (1, 1)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(st.lists(st.sampled_from(["taken", "refused", "unknown", "killed", "never"]), min_size=1, max_size=20),
       st.sets(st.integers(0, 19)), st.sets(st.integers(0, 19)), st.booleans())  # fmt: skip
def test_the_parts_sum_to_the_plan(
    tmp_path_factory: object, fates: list[str], came: set[int], found: set[int], collected: bool
) -> None:
    folder: Path = tmp_path_factory.mktemp("run")  # type: ignore[attr-defined]
    made = Made(folder / "run", stage(messages=len(fates)), collected=collected)
    for number, fate in enumerate(fates):
        more: dict[str, dict[str, Any]] = {"taken": {}, "refused": {"error_kind": "x", "refused": {str(number): "x"}}}
        if fate == "killed":
            made.attempt([number])
        elif fate != "never":
            made.send([number], number, number + 1, **more.get(fate, {"error_kind": "endpoint_gone"}))
    made.receive([(number, 0, None) for number in sorted(came) if number < len(fates)], 50, 60)
    made.receive([(number, 0, None) for number in sorted(found) if number < len(fates)], 90, 99, role="collector")
    parts = asdict(accounts(made.read()))
    assert sum(value or 0 for name, value in parts.items() if name != "planned") == len(fates)
