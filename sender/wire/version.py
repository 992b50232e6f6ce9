"""Which vmtrace this is. Copied folders and the agent have no package metadata: then the version is not known."""

from __future__ import annotations

from importlib import metadata

UNKNOWN = "unknown"


def vmtrace_version() -> str:
    """The version of the installed package, or `unknown` where nothing is installed."""
    try:
        return metadata.version("vmtrace")
    except metadata.PackageNotFoundError:
        return UNKNOWN
