"""Commands of the README and of the first hour work as they are written, in a folder that looks like the clone."""

import itertools
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
# What the README leaves to them.
PAGES = {
    "README": README,
    "first-hour": (ROOT / "docs/first-hour.md").read_text(),
    "captures": (ROOT / "docs/report.md").read_text().partition("\n## The report of captures\n")[0],
}
MOST_LINES = 80
TIMEOUT_S = 600
# A block by what it holds, and why it is not run here.
NOT_RUN = {
    "git clone": "set-up, the demo and this very suite",
    "pip install vmtrace-*.whl": "run from a wheel in tests/house/test_wheel.py",
    "vmtrace receive": "needs two machines; tests/sender runs both programs",
    "vmtrace send": "needs two machines; tests/sender runs both programs",
    "vmtrace storage run": "needs an account at a storage service; tests/providers runs it against stand-ins",
}
# These are set-up; the lines after them are run.
SET_UP = ("make install",)


def blocks(language: str) -> list[str]:
    """Those of all pages, a block that two of them have once."""
    found = (re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL) for text in PAGES.values())
    return list(dict.fromkeys(itertools.chain.from_iterable(found)))


def reason_not_to_run(block: str) -> str | None:
    lines = [line for line in block.splitlines() if line not in SET_UP]
    return next((why for text, why in NOT_RUN.items() if lines and text in "\n".join([*lines, ""])), None)


def first_words(block: str) -> str:
    return " ".join(next(line for line in block.splitlines() if line not in SET_UP).split()[:4])


RUN = [block for block in blocks("sh") if reason_not_to_run(block) is None]
# A busy machine makes figures of the lab doubtful, and its commands say so and end well.
WITH_RIGHTS = (pytest.mark.root, pytest.mark.untimed)

pytestmark = pytest.mark.slow


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder with all that is in the clone, where outputs are nobody's business."""
    folder = tmp_path / "clone"
    folder.mkdir()
    for path in ROOT.iterdir():
        if path.name not in {".git", ".venv"}:
            (folder / path.name).symlink_to(path)
    environment = folder / ".venv/bin"
    environment.mkdir(parents=True)
    for name in ("vmtrace", "python"):
        (environment / name).symlink_to(Path(sys.executable).with_name(name))
    if shutil.which("sudo") is None:
        # Where the tests run as root there need be no sudo.
        (tmp_path / "sudo").write_text('#!/bin/sh\nexec "$@"\n')
        (tmp_path / "sudo").chmod(0o755)
    return folder


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= MOST_LINES


def test_every_extra_is_named_where_installing_is_described() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    users = set(extras) - {"dev", "test", "stand-ins", "bench"}
    assert {name for name in users if f"`{name}`" not in PAGES["first-hour"]} == set()


def test_the_first_screen_has_the_commands_their_table_and_a_picture() -> None:
    first = README.splitlines()[:40]
    assert "make install" in first
    assert any("vmtrace analyze " in line for line in first)
    assert any(line.startswith("id  ") for line in first)
    (picture,) = [line for line in first if line.startswith("![")]
    assert (ROOT / re.findall(r"\]\((.*)\)", picture)[0]).read_bytes().startswith(b"\x89PNG")


def test_every_block_is_run_or_has_a_reason_not_to() -> None:
    assert len(RUN) >= 3
    assert {why for block in blocks("sh") if (why := reason_not_to_run(block))} <= set(NOT_RUN.values())
    for text in NOT_RUN:
        assert any(text in block for block in blocks("sh")), f"no block has {text!r} any more"


@pytest.mark.parametrize(
    "block", [pytest.param(one, marks=WITH_RIGHTS if "sudo " in one else (), id=first_words(one)) for one in RUN]
)
def test_a_block_works_as_it_is_written(block: str, clone: Path) -> None:
    if " lab " in block:
        from vmtrace.lab import namespaces

        missing = namespaces.missing_requirement()
        if missing is not None:
            pytest.skip(missing)
    path = f"{clone.parent}:{os.environ['PATH']}"
    for line in block.splitlines():
        if line in SET_UP:
            continue
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {line}"],
            cwd=clone,
            env=os.environ | {"PATH": path, "COLUMNS": "100"},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        assert done.returncode == 0, f"{line}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"


def test_the_table_shown_is_what_the_command_prints(clone: Path) -> None:
    (command,) = [line for line in blocks("sh")[0].splitlines() if "vmtrace analyze" in line]
    done = subprocess.run(
        ["bash", "-c", command], cwd=clone, capture_output=True, text=True, timeout=TIMEOUT_S, check=True
    )
    printed = {line.rstrip() for line in done.stdout.splitlines()}
    assert [line for line in blocks("text")[0].splitlines() if line.rstrip() not in printed] == []


def test_the_notebook_lines_work(clone: Path) -> None:
    (code,) = blocks("python")
    subprocess.run([sys.executable, "-P", "-c", code], cwd=clone, capture_output=True, timeout=TIMEOUT_S, check=True)
