"""A service in memory under the name `fake`."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

# For the helpers beside the tests; at the end of the path it shadows nothing that is installed.
sys.path.append(str(Path(__file__).parents[2]))

from providers import registry
from tests.providers.fakes import Memory, module


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Memory:
    """What the service `fake` holds; it is in the registry as long as the test runs."""
    held = Memory()
    made = ModuleType("providers.services.fake")
    vars(made).update(module(held))
    monkeypatch.setitem(sys.modules, "providers.services.fake", made)
    names = registry.names()
    monkeypatch.setattr(registry, "names", lambda: [*names, "fake"])
    return held
