"""Skips tests that need real hosts where they cannot be made."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from vmtrace.lab import namespaces

# For the helpers beside the tests; at the end of the path it shadows nothing that is installed.
sys.path.append(str(Path(__file__).parents[2]))


@pytest.fixture(scope="session")
def real_hosts() -> None:
    """Skips the test, with the reason, on a machine where the lab cannot run."""
    reason = namespaces.missing_requirement()
    if reason:
        pytest.skip(reason)
