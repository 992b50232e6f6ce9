"""A wheel of the checkout as it is, without building: its files, and the engine that the tests run."""

import os
import subprocess
import sys
import zipfile
from importlib.metadata import distribution
from pathlib import Path

from vmtrace.analyze import _engine

ROOT = Path(__file__).parents[2]


def wheel(folder: Path) -> Path:
    """It lacks no file that a built one has; its name says for whom it is, as a built one's does."""
    about = distribution("vmtrace")
    information = f"vmtrace-{about.version}.dist-info"
    path = folder / f"vmtrace-{about.version}-py3-none-any.whl"
    rooms = sorted(one.parent.name for one in ROOT.glob("*/__init__.py"))
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *rooms, "vmtrace"]
    tracked = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    names = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as made:

        def put(name: str, content: bytes) -> None:
            names.append(name)
            made.writestr(name, content)

        for one in sorted(set(tracked)):
            source = ROOT / one
            if source.is_file() and not source.is_symlink() and not one.startswith("analyze/engine/"):
                put(one if one.startswith("vmtrace/") else f"vmtrace/{one}", source.read_bytes())
        put("vmtrace/analyze/_engine.abi3.so", Path(str(_engine.__file__)).read_bytes())
        put(f"{information}/METADATA", str(about.read_text("METADATA")).encode())
        put(f"{information}/WHEEL", b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        put(f"{information}/entry_points.txt", b"[console_scripts]\nvmtrace = vmtrace.cli:main\n")
        lines = [*(f"{name},," for name in names), f"{information}/RECORD,,"]
        made.writestr(f"{information}/RECORD", "\n".join(lines) + "\n")
    return path


def environment() -> dict[str, str]:
    """For the scripts: this Python runs what they install; libraries are those of the tests."""
    quick = {"PIP_ARGS": "--no-deps --no-index --no-compile", "DEB_COMPRESSION": "-Znone"}
    return {**os.environ, **quick, "PYTHON": sys.executable}
