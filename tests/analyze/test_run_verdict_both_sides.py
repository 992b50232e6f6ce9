"""Two captures of one transfer: agreeing they are surer, contradicting each other it is said what decides."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analyze.test_run_two_sides import captured, data_of
from tests.analyze.two_ends import Path
from tests.analyze.verdicts import judged
from vmtrace.analyze.reports.run.verdict.both_sides import Facts, together
from vmtrace.analyze.reports.run.verdict.judged import of_json
from vmtrace.analyze.words.factors import FACTORS

NOTHING = Facts()


def near(factor: str, confidence: float = 0.9, **more: Any) -> Any:
    return judged(factor, confidence, "sender", **more)


def far(factor: str, confidence: float = 0.9, **more: Any) -> Any:
    return judged(factor, confidence, "receiver", **more)


def put_together(one: Any, other: Any, facts: Facts = NOTHING) -> Any:
    made = together(one, other, facts)
    assert made is not None
    return made


def test_one_capture_s_verdict_is_that_of_both_and_none_is_none() -> None:
    assert together(near("slow_start"), None, NOTHING) == near("slow_start")
    assert together(None, far("slow_start"), NOTHING) == far("slow_start")
    assert together(None, None, NOTHING) is None


def test_captures_that_agree_leave_less_doubt_and_show_the_frames_of_both() -> None:
    made = put_together(near("receiver_window", 0.7), far("receiver_window", 0.64))
    assert (made.factor, made.agreement, made.confidence) == ("receiver_window", "agree", 0.8)
    assert made.sentence.endswith("Both captures agree.")
    assert [one.side for one in made.evidence] == ["sender", "receiver"]
    assert [one.side for one in made.said] == ["sender", "receiver"]


def test_agreement_is_never_surer_than_any_verdict_can_be() -> None:
    assert put_together(near("slow_start", 0.95), far("slow_start", 0.95)).confidence == 0.95


def test_a_settled_capture_beside_one_that_leaves_it_open_is_as_sure_as_alone() -> None:
    made = put_together(near("slow_start", 0.5), far("congestion_window", 0.7))
    assert (made.factor, made.confidence, made.agreement) == ("congestion_window", 0.7, "one_open")
    assert made.decided_by == "the data receiver's capture"
    assert made.sentence.endswith("The data sender's capture leaves it open.")


def test_two_that_are_as_sure_of_different_things_leave_it_undetermined_and_name_both() -> None:
    made = put_together(near("application"), far("slow_start"))
    assert made.is_open
    assert (made.agreement, made.undetermined_between) == ("disagree", ("application", "slow_start"))
    assert "at the data's sender shows the sending application, that at its receiver slow start" in made.sentence


def test_much_the_surer_one_decides_and_is_less_sure_than_alone() -> None:
    made = put_together(near("slow_start", 0.65), far("congestion_window", 0.95))
    assert (made.factor, made.agreement) == ("congestion_window", "disagree")
    assert made.decided_by == "the data receiver's capture, which is surer"
    assert math.isclose(made.confidence, 0.95 * 0.35 / (0.95 * 0.35 + 0.05 * 0.65 + 0.05 * 0.35), abs_tol=1e-3)


def test_a_stall_that_one_capture_tells_stands_if_the_pauses_were_made_at_a_host() -> None:
    facts = Facts(pause_at_receiver_s=0.8, pause_on_path_s=0.1)
    made = put_together(near("congestion_window"), far("host_stall", 0.7), facts)
    assert (made.factor, made.confidence) == ("host_stall", 0.7)
    assert "88.9 % of the time in pauses was made at a host" in (made.decided_by or "")


def test_a_stall_that_one_capture_tells_does_not_stand_if_the_path_made_the_pauses() -> None:
    made = put_together(
        near("loss_recovery", 0.7), far("host_stall"), Facts(pause_on_path_s=0.9, pause_at_sender_s=0.3)
    )
    assert made.factor == "loss_recovery"
    assert "on the path" in (made.decided_by or "")


def test_pauses_at_the_sender_do_not_tell_a_stall_from_an_idle_program() -> None:
    made = put_together(near("application"), far("host_stall"), Facts(pause_at_sender_s=1.0))
    assert made.is_open
    assert set(made.undetermined_between) == {"application", "host_stall"}


def test_losses_that_only_the_receiver_sees_are_none_if_nothing_was_lost_on_the_way() -> None:
    facts = Facts(lost_segments=0)
    assert put_together(near("slow_start", 0.7), far("loss_recovery"), facts).factor == "slow_start"
    assert put_together(near("loss_recovery", 0.7), far("slow_start", 0.7), facts).is_open, "the sender did repair"
    assert put_together(near("slow_start", 0.7), far("loss_recovery", 0.7), Facts(lost_segments=3)).is_open


def test_a_stop_that_neither_could_place_is_a_host_s_if_both_together_place_it_there() -> None:
    facts = Facts(pause_at_sender_s=0.6, pause_on_path_s=0.2)
    made = put_together(near("unknown", 0.5), far("unknown", 0.5), facts)
    assert (made.factor, made.confidence, made.undetermined_between) == ("host_stall", 0.75, ())
    assert made.sentence.startswith("The sender of the data stalled for 600 ms in all")


def test_a_stop_that_both_together_place_on_the_path_is_no_host_s_and_no_other_factor_s() -> None:
    made = put_together(near("unknown", 0.5), far("unknown", 0.5), Facts(pause_on_path_s=0.9, pause_at_sender_s=0.1))
    assert made.is_open
    assert made.undetermined_between == ("unknown",)
    assert made.sentence.startswith("Packets were held on the path for 900 ms in all, not at a host")


@given(
    st.sampled_from(FACTORS), st.sampled_from(FACTORS), st.floats(0, 0.95), st.floats(0, 0.95),
    st.builds(Facts, st.none() | st.integers(0, 9), *([st.floats(0, 9)] * 4)),
)  # fmt: skip
def test_whatever_two_captures_say_the_verdict_is_one_of_theirs_or_a_stall_and_can_be_kept(
    one: str, other: str, sure: float, other_sure: float, facts: Facts
) -> None:
    made = put_together(near(one, sure), far(other, other_sure), facts)
    assert made.factor in {one, other, "host_stall"}
    assert 0 <= made.confidence <= 0.95
    assert made.is_open == bool(made.undetermined_between)
    assert of_json(made.as_json()) == made


@pytest.mark.parametrize("sides", ["both", "sender", "receiver"])
def test_a_run_s_transfer_has_the_verdict_of_the_captures_there_are(new_run: Any, sides: str) -> None:
    run = new_run()
    captured(run, 1, Path(pauses=((100, 0.4),)), offset_s=3.0, sides=sides)
    found = data_of(run)
    verdict = of_json(found.verdict)
    assert verdict is not None
    assert [one.side for one in verdict.said] == (["sender", "receiver"] if sides == "both" else [sides])
    assert (found.verdict_factor, found.verdict_agreement) == (verdict.factor, verdict.agreement)
    assert (verdict.agreement == "one_side") == (sides != "both")
    if sides == "both":
        assert found.pauses_at_sender_s == pytest.approx(0.4, abs=0.01)
        assert found.pauses_on_path_s == 0
