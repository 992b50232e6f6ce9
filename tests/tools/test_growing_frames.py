"""Families of captures are many, as large as asked for, and the same each time."""

from pathlib import Path

from tools import growing

_FEWEST_FAMILIES = 21


def test_families_are_many_and_as_large_as_asked_for(tmp_path: Path) -> None:
    assert len(growing.FAMILIES) >= _FEWEST_FAMILIES
    for family in growing.FAMILIES:
        sizes = []
        for count in (120, 240):
            growing.write(family, count, tmp_path / family)
            sizes.append((tmp_path / family).stat().st_size)
        assert 1.6 <= sizes[1] / sizes[0] <= 2.1, family


def test_the_same_capture_is_made_each_time(tmp_path: Path) -> None:
    for family in growing.FAMILIES:
        for name in ("one", "other"):
            growing.write(family, 50, tmp_path / name)
        assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes(), family
