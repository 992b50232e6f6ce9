"""What is installed is what is in the folders: no room forgotten, no name taken, one version."""

import importlib.metadata
import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def toml(name: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / name).read_text())


def test_the_one_package_has_a_link_to_each_other_folder_with_an_init() -> None:
    assert toml("pyproject.toml")["tool"]["maturin"]["python-packages"] == ["vmtrace"]
    rooms = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"vmtrace"}
    links = {path.name: str(path.readlink()) for path in (ROOT / "vmtrace").iterdir() if path.is_symlink()}
    assert links == {room: f"../{room}" for room in rooms}


def test_the_package_says_that_it_is_typed() -> None:
    assert (ROOT / "vmtrace/py.typed").exists()


def test_there_is_no_python_at_the_root_and_no_package_in_tests() -> None:
    assert list(ROOT.glob("*.py")) == []
    assert list((ROOT / "tests").rglob("__init__.py")) == []


def test_no_other_installed_distribution_owns_the_name() -> None:
    assert set(importlib.metadata.packages_distributions().get("vmtrace", [])) <= {"vmtrace"}


def test_the_version_stands_in_one_place() -> None:
    version = toml("Cargo.toml")["workspace"]["package"]["version"]
    assert "version" in toml("pyproject.toml")["project"]["dynamic"]
    for crate in (ROOT / "analyze/engine").glob("*/Cargo.toml"):
        if crate.parent.name != "fuzz":
            assert tomllib.loads(crate.read_text())["package"]["version"] == {"workspace": True}, crate
    assert importlib.metadata.version("vmtrace") == version


def test_the_changelog_has_the_version_or_what_is_unreleased_on_top() -> None:
    version = toml("Cargo.toml")["workspace"]["package"]["version"]
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] in {version, "Unreleased"}
    assert version in headings
