"""Verdicts are counted by their confidence, and the share that is right is compared with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import golden_texts
from vmtrace.lab.accuracy import confidence
from vmtrace.lab.accuracy.confidence import Bin, Told, bins, collect, sections, write


def told(confidence: float, *, right: bool = True, factor: str = "application", place: str = "sender") -> Told:
    return Told("limits", "pieces-0", place, "complete", factor, confidence, right)


def test_a_bin_has_the_verdicts_of_its_confidence() -> None:
    found = bins([told(0.95), told(0.9), told(0.9, right=False), told(0.55), told(0.6)])
    assert [(one.low, one.count, one.right) for one in found] == [(0.0, 1, 1), (0.6, 1, 1), (0.9, 3, 2)]
    assert found[-1].confidence == pytest.approx(2.75 / 3)
    assert found[-1].share == pytest.approx(2 / 3)


def test_what_is_unclear_names_no_factor_and_is_in_no_bin() -> None:
    unclear = told(0.5, right=False, factor="unknown")
    assert bins([unclear]) == []
    assert "1 verdicts, 1 right; 1 more name no factor; " in "\n".join(sections([told(0.95), unclear]))


@pytest.mark.parametrize(("right", "is_close"), [(85, True), (84, False), (99, True), (100, True), (75, False)])
def test_a_share_is_close_within_ten_points(right: int, is_close: bool) -> None:
    assert Bin(0.9, 1.0, 100, right, 0.95).is_close == is_close


def test_the_interval_of_few_verdicts_is_wide_and_within_bounds() -> None:
    narrow, wide = Bin(0.9, 1.0, 400, 380, 0.95).interval, Bin(0.9, 1.0, 4, 4, 0.95).interval
    assert narrow[0] < 0.95 < narrow[1] < 0.98
    assert wide[0] == pytest.approx(0.51, abs=0.01)
    assert wide[1] == 1.0


def test_the_table_says_which_bins_are_too_far_or_too_small() -> None:
    lines = sections([*[told(0.95)] * 20, *[told(0.75, right=False)] * 12, told(0.65)])
    text = "\n".join(lines)
    golden_texts.check("the-table-says-which-bins-are-too-far-or-too-small", text)


def test_what_is_wrong_above_four_fifths_is_named() -> None:
    lines = sections([told(0.85, right=False, place="receiver"), told(0.8, right=False)])
    assert lines[-1] == "Wrong above 0.8: pieces-0 (receiver, complete: `application` 0.85)."
    assert sections([told(0.95)])[-1] == "Wrong above 0.8: none."


def test_a_folder_without_transfers_has_no_verdicts(tmp_path: Path) -> None:
    assert collect(tmp_path, 1, 1) == []


def test_in_mid_stream_a_bucket_may_look_like_a_path() -> None:
    later = confidence._faults()["begun in mid-stream"]
    assert confidence._factors_with(later, ("token_bucket",)) == ("token_bucket", "bottleneck_bandwidth")
    assert confidence._factors_with(later, ("application",)) == ("application",)


def test_what_is_written_has_all_bins_and_verdicts(tmp_path: Path) -> None:
    write([told(0.95), told(0.7, right=False)], tmp_path / "confidence.json")
    kept = json.loads((tmp_path / "confidence.json").read_text())
    assert [(one["confidence"], one["share"]) for one in kept["bins"]] == [(0.7, 0.0), (0.95, 1.0)]
    assert [one["is_right"] for one in kept["verdicts"]] == [True, False]
