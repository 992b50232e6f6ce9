"""Planted worlds are run seed by seed: what could not be run is tried once more, and nine tenths must be right."""

from argparse import ArgumentParser
from pathlib import Path

import pytest

from vmtrace.lab import cpu_quota, namespaces, planted_seeds
from vmtrace.lab.planted_seeds import Judged, PlantedWorld, add_seeds, all_seeds


@pytest.fixture(autouse=True)
def as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (namespaces, cpu_quota):
        monkeypatch.setattr(module, "missing_requirement", lambda: None)


def status(words: str, fails: dict[int, int], wrong: set[int]) -> int:
    """`fails`: how often a seed's world does not come up."""
    parser = ArgumentParser()
    add_seeds(parser)
    left = dict(fails)

    def world(seed: int) -> PlantedWorld:
        def judged_in(folder: Path) -> Judged:
            assert not folder.exists()
            folder.mkdir(parents=True)
            if left.get(seed, 0):
                left[seed] -= 1
                raise RuntimeError("a traceback\nthe server does not come up")
            return Judged(seed not in wrong, "said")

        return PlantedWorld("truth", judged_in)

    return all_seeds("kind", parser.parse_args(words.split()), world)


def test_seeds_are_counted_from_the_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert status("--seeds 10 --first 40", {}, {43}) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "kind: 9 of 10 right"
    assert [line.split(":")[0] for line in lines[:-1]] == [f"kind {seed}" for seed in range(40, 50)]
    assert lines[3].endswith("planted truth: WRONG: said")


def test_less_than_nine_tenths_is_a_failure() -> None:
    assert status("--seeds 10", {}, {1, 2}) == 1


def test_a_world_that_does_not_come_up_is_tried_once_more(capsys: pytest.CaptureFixture[str]) -> None:
    assert status("--seeds 1", {0: planted_seeds.ATTEMPTS - 1}, set()) == 0
    assert status("--seeds 1", {0: planted_seeds.ATTEMPTS}, set()) == 1
    assert "WRONG: not run: the server does not come up" in capsys.readouterr().out
