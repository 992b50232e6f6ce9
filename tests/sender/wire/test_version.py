from importlib import metadata

import pytest

from vmtrace.sender.wire import version


def test_the_version_is_the_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda name: f"{name} 9")
    assert version.vmtrace_version() == "vmtrace 9"


def test_copied_folders_have_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(_name: str) -> str:
        raise metadata.PackageNotFoundError

    monkeypatch.setattr(metadata, "version", absent)
    assert version.vmtrace_version() == "unknown"
