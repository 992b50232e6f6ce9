"""What is checked of crates and Python packages, and that the lock is in step with what is asked for."""

import json
import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from tools.audit import Package, crates, is_allowed, locked, main, problems_of_crates, problems_of_lock, sbom

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "tools/locked.txt").read_text()
POLICY: dict[str, Any] = {"licenses": {"allow": ["MIT", "ISC"]}, "bans": {"skip": []}}
SUM = "0" * 64


@pytest.mark.parametrize(
    ("expression", "good"),
    [
        ("MIT", True),
        ("GPL-3.0", False),
        ("MIT OR GPL-3.0", True),
        ("GPL-3.0/MIT", True),
        ("MIT AND GPL-3.0", False),
        ("MIT AND ISC", True),
        ("(GPL-3.0 OR MIT) AND ISC", True),
        ("(GPL-3.0 OR MIT) AND GPL-2.0", False),
        ("MIT WITH exception", False),
        ("(MIT", False),
        ("MIT ISC", False),
        ("", False),
    ],
)
def test_licence_expressions(expression: str, good: bool) -> None:
    assert is_allowed(expression, ["MIT", "ISC"]) is good


def made(name: str = "one", version: str = "1.0", **more: Any) -> Package:
    plain: dict[str, Any] = {"licence": "MIT", "sha256": (SUM,), "source": "registry+x"}
    return Package("cargo", name, version, **{**plain, **more})


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        ([made(licence="GPL-3.0")], "licence GPL-3.0 is not allowed"),
        ([made(licence=None)], "licence unknown is not allowed"),
        ([made(source="git+x")], "comes from git+x, no registry"),
        ([made(source=None)], "comes from a folder, no registry"),
        ([made(sha256=())], "has no checksum in Cargo.lock"),
        ([made(), made(version="2.0")], "crate one: 2 versions (1.0, 2.0)"),
    ],
)
def test_what_is_not_allowed_of_a_crate_is_named(found: list[Package], problem: str) -> None:
    assert list(problems_of_crates([made("other")], POLICY)) == []
    (line,) = problems_of_crates(found, POLICY)
    assert problem in line


def test_a_skip_that_skips_nothing_is_named() -> None:
    policy = {**POLICY, "bans": {"skip": [{"crate": "one"}]}}
    assert list(problems_of_crates([made(), made(version="2.0")], policy)) == []
    assert list(problems_of_crates([made()], policy)) == ["deny.toml: skips one, which is there once"]


def test_what_is_not_pinned_by_its_hash_is_named() -> None:
    found = locked(f"# made\none==1.0 ; python_version < '4' \\\n    --hash=sha256:{SUM}\ntwo==2.0\nthree>=3\n")
    assert [(one.name, one.version, one.sha256) for one in found][:1] == [("one", "1.0", (SUM,))]
    assert list(problems_of_lock(found)) == ["two 2.0: no hash", "three>=3: no single version"]


def test_the_lock_has_all_that_developing_asks_for_and_names_no_host() -> None:
    have = {re.sub(r"[-_.]+", "-", one.name): one.version for one in locked(LOCK)}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [*project["dependencies"], *(line for some in project["optional-dependencies"].values() for line in some)]
    asked = [one for one in map(Requirement, lines) if one.name != "vmtrace"]
    assert len(asked) > 40
    for one in asked:
        version = have.get(re.sub(r"[-_.]+", "-", one.name.lower()))
        assert version is not None, f"{one} is not in the lock: make lock"
        assert one.specifier.contains(version, prereleases=True), f"{one}: the lock has {version}: make lock"
    assert "://" not in LOCK


@pytest.mark.slow
def test_nothing_is_wrong_with_what_is_used_and_the_bill_of_materials_lists_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not installed")
    assert main(["--sbom", str(tmp_path)]) == 0, capsys.readouterr().out
    engine = json.loads((tmp_path / "engine.cdx.json").read_text())
    assert (engine["bomFormat"], engine["specVersion"]) == ("CycloneDX", "1.5")
    assert {one["name"] for one in engine["components"]} == {one.name for one in crates()}
    assert len({one["bom-ref"] for one in engine["components"]}) == len(engine["components"])
    python = json.loads((tmp_path / "python.cdx.json").read_text())
    assert {one["version"] for one in python["components"] if one["name"] == "numpy"} != set()
    assert sbom("x", "1", [made()])["components"][0]["hashes"] == [{"alg": "SHA-256", "content": SUM}]
