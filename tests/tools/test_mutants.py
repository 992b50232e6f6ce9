"""A changed file is found by a test that looks, and survives one that does not."""

from pathlib import Path

import pytest

from tools.mutants import mutants, named_after, survives

SOURCE = "def least(a: int, b: int) -> int:\n    return a if a < b and b > 0 else 0\n"


def test_each_place_is_changed_once() -> None:
    made = list(mutants(SOURCE))
    assert sorted(one.change for one in made) == ["0 to 1", "0 to 1", "And to Or", "Gt to GtE", "Lt to LtE", "negate"]
    assert len({one.source for one in made}) == len(made)
    assert all(one.line == 2 for one in made)


def test_the_named_after_a_file_are_those_named_after_it() -> None:
    assert named_after(Path("sender/wire/keys.py")) == ["tests/sender/wire/test_keys.py"]
    assert named_after(Path("receiver/places.py")) == ["tests/receiver/test_places.py"]


@pytest.mark.parametrize(("check", "lives"), [("least(1, 2) == 1", False), ("True", True)])
def test_a_mutant_survives_only_tests_that_do_not_look(tmp_path: Path, check: str, lives: bool) -> None:
    (tmp_path / "few.py").write_text(SOURCE)
    (tmp_path / "test_few.py").write_text(
        f"from few import least\n\ndef test_it():\n    assert {check} or least is None\n"
    )
    (negated,) = [one for one in mutants(SOURCE) if one.change == "negate"]
    assert survives(Path("few.py"), negated, tmp_path, ["test_few.py"]) is lives


def test_a_file_without_tests_of_its_own_has_those_of_its_folder() -> None:
    found = named_after(Path("analyze/findings/rules/ports.py"))
    assert "tests/analyze/test_findings.py" in found
    assert all("test_findings" in name for name in found)
    assert named_after(Path("nowhere/at_all.py")) == []
