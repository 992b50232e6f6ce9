"""Prediction of data throughput: answers known by hand, and never a look at what is still to come."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmtrace.analyze.reports.run.prediction import DESCRIPTIONS, RULES, WINDOW, judged, predictions, relative_errors

PROBE = np.array([1.0, 2.0, 4.0, 2.0]) * 1e6
DATA = np.array([10.0, 30.0, 20.0, 40.0]) * 1e6


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("probe", [2.0, 4.0, 2.0]),
        ("last_value", [10.0, 30.0, 20.0]),
        ("moving_mean", [10.0, 20.0, 20.0]),
        # Ratios 10, 15, 5: medians of the first one, two, three are 10, 12.5, 10.
        ("ratio", [20.0, 50.0, 20.0]),
    ],
)
def test_each_rule_says_what_its_description_says(rule: str, said: list[float]) -> None:
    found = predictions(rule, PROBE, DATA)
    assert np.isnan(found[0]), "the first pair has no past"
    assert (found[1:] / 1e6).tolist() == pytest.approx(said)


def test_the_error_is_a_share_of_what_came() -> None:
    errors = relative_errors("last_value", PROBE, DATA)
    assert errors.tolist() == pytest.approx([2 / 3, 1 / 2, 1 / 2])
    found = judged("last_value", errors)
    assert found.mean_error.value == pytest.approx(5 / 9)
    assert found.median_error.value == pytest.approx(0.5)
    assert found.mean_error.n == 3


def test_moving_predictions_forget_what_is_long_ago() -> None:
    data = np.concatenate([np.full(5, 1e9), np.full(WINDOW, 2e6), [3e6]])
    probe = np.full(len(data), 1e6)
    for rule in ("moving_mean", "ratio"):
        assert predictions(rule, probe, data)[-1] == pytest.approx(2e6)


def test_one_pair_predicts_nothing_and_a_transfer_without_throughput_is_left_out() -> None:
    for rule in RULES:
        assert len(relative_errors(rule, PROBE[:1], DATA[:1])) == 0
        assert len(relative_errors(rule, np.array([1e6, 0.0, 1e6]), np.array([1e6, 1e6, 2e6]))) == 1
    assert judged("ratio", np.empty(0)).mean_error.value is None


def test_every_rule_is_described() -> None:
    assert set(DESCRIPTIONS) == set(RULES)


RATES = st.lists(st.tuples(st.floats(1, 1e12), st.floats(1, 1e12)), min_size=3, max_size=30)


@pytest.mark.parametrize("rule", RULES)
@given(pairs=RATES, data=st.data())
def test_a_prediction_uses_only_the_past_and_its_own_probe(
    rule: str, pairs: list[tuple[float, float]], data: st.DataObject
) -> None:
    probe_bps, data_bps = (np.array(values, np.float64) for values in zip(*pairs, strict=True))
    now = data.draw(st.integers(1, len(pairs) - 1))
    before = predictions(rule, probe_bps, data_bps)
    other_probe, other_data = probe_bps.copy(), data_bps.copy()
    other_data[now:] = data.draw(st.floats(1, 1e12))
    other_probe[now + 1 :] = data.draw(st.floats(1, 1e12))
    after = predictions(rule, other_probe, other_data)
    assert before[1 : now + 1].tolist() == after[1 : now + 1].tolist()


@pytest.mark.parametrize("rule", ["last_value", "moving_mean", "ratio"])
@given(rate=st.floats(1, 1e12), number=st.integers(2, 20))
def test_what_never_changes_is_predicted_exactly(rule: str, rate: float, number: int) -> None:
    errors = relative_errors(rule, np.full(number, rate), np.full(number, 2 * rate))
    assert errors == pytest.approx(0, abs=1e-9)
