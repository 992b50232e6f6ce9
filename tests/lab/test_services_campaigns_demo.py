"""The demo of the studies' campaigns: its plans are the built-in ones, and what it plants is in its truth."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cut import cut
from tests.in_process import run_here
from vmtrace.lab.services import campaigns_demo
from vmtrace.lab.services.campaigns_demo import CAMPAIGNS, build_parser


def test_all_five_plans_of_the_studies_are_shown() -> None:
    assert {one.words[1] for one in CAMPAIGNS} == {
        "garfinkel2007-probes", "garfinkel2007-surge", "palankar2008-availability", "palankar2008-locations",
        "yoon-upload",
    }  # fmt: skip
    planted = {one.name: one.planted for one in CAMPAIGNS}
    assert planted["probes"].delay_steps
    assert not planted["probes"].window_scaling
    assert planted["surge"].token_bucket is not None


def test_one_campaign_can_be_asked_for() -> None:
    arguments = build_parser().parse_args(["--out", "x", "--only", "sweep"])
    assert arguments.only == ["sweep"]


@pytest.mark.root
@pytest.mark.untimed
@pytest.mark.slow
@pytest.mark.parametrize("lasts_s", cut([8, 30], 1))
def test_a_campaign_of_the_demo_runs_and_is_reported_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lasts_s: int
) -> None:
    (own,) = [one for one in CAMPAIGNS if one.name == "locations"]
    assert "30s" in own.words
    words = tuple(f"{lasts_s}s" if word == "30s" else word for word in own.words)
    monkeypatch.setattr(campaigns_demo, "CAMPAIGNS", (replace(own, words=words),))
    done = run_here(campaigns_demo.main, ["--out", str(tmp_path), "--only", "locations"])
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "campaigns.html").exists()
    assert set(json.loads((tmp_path / "truth.json").read_text())) == {"locations"}
    assert json.loads((tmp_path / "locations/run.json").read_text())["location"] == "lab"
