"""What campaigns of all kinds share: how work ends, and what `run.json` begins with."""

from pathlib import Path

import pytest

from vmtrace.capture.campaign import (
    COMPLETE,
    FAILED,
    INTERRUPTED,
    OVER_BUDGET,
    RUNNING,
    Outcome,
    begin_host_record,
    begun,
    capture_record,
    command_line,
    outcome_of,
)
from vmtrace.capture.settings import CaptureSettings


def ended_by(error: BaseException | None, status: str | None = FAILED) -> Outcome:
    """What becomes of work that raises this, and of which the campaign says so."""

    def work() -> None:
        if error is not None:
            raise error

    return outcome_of(work, lambda _: status)


def test_work_that_comes_to_its_end_is_complete() -> None:
    outcome = ended_by(None)
    assert (outcome.status, outcome.is_unfinished) == (COMPLETE, False)
    outcome.raise_defect()


def test_a_signal_interrupts_without_an_error() -> None:
    assert ended_by(KeyboardInterrupt()) == Outcome(INTERRUPTED)


def test_what_the_campaign_knows_is_a_status_and_no_defect() -> None:
    error = OSError("full")
    assert ended_by(error, OVER_BUDGET) == Outcome(OVER_BUDGET, error)
    ended_by(error).raise_defect()


def test_a_defect_is_raised_once_the_books_are_closed() -> None:
    outcome = ended_by(ZeroDivisionError("x"), None)
    assert (outcome.status, outcome.is_defect) == (FAILED, True)
    with pytest.raises(ZeroDivisionError):
        outcome.raise_defect()


def test_who_ends_the_program_is_not_held_up() -> None:
    with pytest.raises(SystemExit):
        ended_by(SystemExit(3))


def test_a_run_without_a_name_has_that_of_its_folder(tmp_path: Path) -> None:
    state = begun("1f", tmp_path / "run1", None, "vmtrace x", 7)
    assert (state["name"], state["status"], state["start_ns"], state["end_ns"]) == ("run1", RUNNING, 7, None)
    assert begun(None, tmp_path, "mine", "", None)["name"] == "mine"


def test_settings_of_a_capture_are_named_and_none_is_null() -> None:
    settings = CaptureSettings("lo", "tcp", 96)
    assert capture_record(settings) == {"interface": "lo", "filter": "tcp", "snaplen": 96}
    assert capture_record(None) is None


def test_each_session_has_counters_of_its_own(tmp_path: Path) -> None:
    for session in (1, 2):
        begin_host_record(tmp_path, "lo", metadata=False, session=session).stop()
    names = {path.name for path in (tmp_path / "host").iterdir()}
    assert {"facts.json", "counters.csv", "counters-2.csv"} <= names


def test_a_command_line_is_as_a_shell_takes_it() -> None:
    assert command_line(["send", "a b"]) == "vmtrace send 'a b'"
