"""The command as a whole: its version, and that starting it is cheap."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import vmtrace as package
from vmtrace.cli import _plain


def test_the_version_is_reported(vmtrace: Any) -> None:
    done = vmtrace("--version")
    assert (done.returncode, done.stdout) == (0, f"vmtrace {package.__version__}\n")


def test_the_names_for_a_notebook() -> None:
    assert package.__all__ == ["Options", "Trace", "TraceError", "read"]
    assert all(hasattr(package, name) for name in package.__all__)


DATA_LIBRARIES = {"jinja2", "matplotlib", "numpy", "pandas", "polars", "pyarrow", "scipy"}
# Each of them, or what it loads, takes longer than the analysis of a small capture.
SLOW_TO_LOAD = DATA_LIBRARIES | {
    *("argcomplete", "asyncio", "pydantic", "rich", "rich_argparse"),
    *("ctypes", "dataclasses", "datetime", "inspect", "secrets", "shutil", "subprocess", "tempfile", "traceback"),
}


def loaded_by(code: str, folder: Path) -> set[str]:
    """The packages that a fresh Python has loaded after running `code`."""
    report = "\nimport sys; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code + report], cwd=folder, capture_output=True, text=True, timeout=60, check=True
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("code", ["import vmtrace", "import vmtrace.cli", "import vmtrace; vmtrace.read('x.pcap')"])
def test_importing_is_cheap(transfer: Any, tmp_path: Path, code: str) -> None:
    transfer.write(tmp_path / "x.pcap")
    loaded = loaded_by(code, tmp_path)
    assert "vmtrace" in loaded
    assert loaded & (SLOW_TO_LOAD - loaded_by("", tmp_path)) == set()


def test_a_run_for_json_is_cheap(transfer: Any, tmp_path: Path) -> None:
    transfer.write(tmp_path / "x.pcap")
    code = "from vmtrace.cli import run; assert run(['analyze', 'x.pcap', '--json', 'out.json']) == 0"
    # Findings are dataclasses.
    spared = SLOW_TO_LOAD - loaded_by("", tmp_path) - {"dataclasses", "inspect"}
    assert loaded_by(code, tmp_path) & spared == set()
    assert (tmp_path / "out.json").exists()


@pytest.mark.parametrize("options", [["--threads", "1"], ["--nope"], ["--limit", "3", "--csv", "out"]])
def test_no_command_line_of_analyze_waits_for_a_data_library(tmp_path: Path, options: list[str]) -> None:
    loaded = loaded_by(f"from vmtrace.cli import run; assert run(['analyze', 'gone.pcap', *{options}]) > 0", tmp_path)
    assert loaded & (SLOW_TO_LOAD - loaded_by("", tmp_path)) == set()


def test_an_output_without_utf_8_has_a_letter_for_each() -> None:
    assert "".join(_plain(UnicodeEncodeError("ascii", one, 0, 1, "no"))[0] for one in "→±µ≤…") == ">~u<~"
