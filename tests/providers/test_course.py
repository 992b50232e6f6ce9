"""How a run against a service ends, and what its record begins with."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from vmtrace.capture.campaign import FAILED, OVER_BUDGET, Outcome
from vmtrace.capture.ending import Ending
from vmtrace.capture.errors import CaptureError
from vmtrace.providers.course import error_of, first_state, in_time, status_of
from vmtrace.providers.errors import BudgetError, ErrorKind, ProvidersError, ServiceError
from vmtrace.providers.order import ServiceOrder
from vmtrace.providers.service import Sdk


class _Observer:
    """What the observer of exchanges is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def resume(self) -> None:
        self.told.append("resume")

    def abort(self, error: ServiceError) -> None:
        self.told.append(f"abort: {error}")


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (BudgetError("too dear"), OVER_BUDGET),
        (ServiceError(ErrorKind.BUDGET, "too dear", ""), OVER_BUDGET),
        (ServiceError(ErrorKind.OTHER, "late", ""), FAILED),
        (ProvidersError("no"), FAILED),
        (CaptureError("no"), FAILED),
        (OSError("no"), FAILED),
        (KeyError("no"), None),
    ],
)
def test_what_services_raise_ends_a_run_and_all_else_is_a_defect(error: Exception, status: str | None) -> None:
    assert status_of(error) == status


def test_an_error_keeps_its_kind_and_a_defect_its_type() -> None:
    service = ServiceError(ErrorKind.OTHER, "late", "")
    assert error_of(Outcome(FAILED, service)) is service
    capture = error_of(Outcome(FAILED, CaptureError("no rights")))
    assert capture is not None
    assert (capture.kind, str(capture)) == (ErrorKind.CAPTURE, "no rights")
    defect = error_of(Outcome(FAILED, KeyError("x"), is_defect=True))
    assert str(defect) == "KeyError: 'x'"
    assert error_of(Outcome(FAILED)) is None


def test_removal_resumes_calls_first_and_is_aborted_where_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    ending, observer = Ending("x"), _Observer()
    any_observer: Any = observer
    assert in_time(ending, any_observer, lambda: 3) == 3
    monkeypatch.setattr(ending, "in_time", lambda _: None)
    assert in_time(ending, any_observer, lambda: 3) is None
    assert observer.told == ["resume", "resume", "abort: interrupted"]


def test_prices_stand_in_the_record_only_where_the_service_has_them(tmp_path: Path) -> None:
    table: Any = SimpleNamespace(as_record=lambda: {"name": "mine"})
    order = ServiceOrder(provider="s", out=tmp_path / "run1", plan=table, prices=table)
    sdk = Sdk("sdk", "1", {"a": 1})
    assert first_state(order, "s3", "1f", sdk, 7, charged=True)["prices"] == {"name": "mine"}
    state = first_state(order, "s3", "1f", sdk, 7, charged=False)
    assert (state["prices"], state["plan"], state["name"]) == (None, {"name": "mine"}, "run1")
    assert state["budget"] == {"max_bytes": None, "max_cost": None}
