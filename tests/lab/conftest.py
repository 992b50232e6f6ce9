"""Skips tests that need real hosts where they cannot be made."""

from __future__ import annotations

import pytest

from lab import namespaces


@pytest.fixture(scope="session")
def real_hosts() -> None:
    """Skips the test, with the reason, on a machine where the lab cannot run."""
    reason = namespaces.missing_requirement()
    if reason:
        pytest.skip(reason)
