"""Python packages that are not installed: one line that names them, and how they are installed.

The first answer from a capture needs few packages; others belong to extras of vmtrace's own metadata.
"""

import importlib.util
import re
import sys
from importlib.metadata import PackageNotFoundError, requires
from shlex import quote

from vmtrace.errors import CommandError

_PACKAGES = {"dns": "dnspython", "hdrh": "hdrhistogram", "rich_argparse": "rich-argparse"}
"""What is installed for a library of another name."""
REPORTS = ("scipy",)
"""What reports on runs need beyond captures."""
_WHOLE_EXTRAS = ("tables", "pages", "reports")
"""Who lacks one of its packages is told to install all of the first that has it."""


def line_of(error: ModuleNotFoundError) -> str | None:
    """What to say of it; None for a module of vmtrace's own, which is a defect."""
    library = (error.name or "").partition(".")[0]
    return None if library in {"", "vmtrace"} else line_for(library)


def line_for(library: str) -> str:
    """One line on a library that cannot be imported."""
    package = _PACKAGES.get(library, library)
    wanted = " ".join(map(quote, _requirements(package)))
    return f"the Python package {package} is not installed: {sys.executable} -m pip install {wanted}"


def require(*libraries: str) -> None:
    """Raise `CommandError` before long work if one of these is not there."""
    for library in libraries:
        if importlib.util.find_spec(library) is None:
            raise CommandError(line_for(library))


def _requirements(package: str) -> list[str]:
    """As vmtrace's metadata has them, with the others of an extra that goes as one."""
    try:
        lines = requires("vmtrace") or []
    except PackageNotFoundError:
        return [package]
    own = [line for line in lines if re.match(rf"{re.escape(package)}(?![\w.-])", line, re.IGNORECASE)]
    extras = ([line for line in lines if f"extra == '{extra}'" in line.replace('"', "'")] for extra in _WHOLE_EXTRAS)
    found = next((whole for whole in extras if any(line in whole for line in own)), own[:1])
    return [line.partition(";")[0].strip() for line in found] or [package]
