"""Services are found by name, and imported only when they are asked for."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from vmtrace.providers import registry
from vmtrace.providers.errors import ErrorKind, ProvidersError, ServiceError, UsageError
from vmtrace.providers.service import Service, Target

ROOT = Path(__file__).parents[2]


def test_there_are_the_four_services_of_the_study() -> None:
    assert registry.names() == ["azure-blob", "glacier", "s3", "swift"]


@pytest.mark.parametrize(("name", "found"), [("s3", "s3"), ("azure", "azure-blob"), ("Azure_Blob", "azure-blob")])
def test_a_beginning_or_another_spelling_is_enough(name: str, found: str) -> None:
    provider = registry.find(name)
    assert provider.name == found
    assert provider.extra in {"s3", "azure"}


@pytest.mark.parametrize("name", ["", "s4", "dropbox", "../s3"])
def test_another_name_is_refused_with_those_there_are(name: str) -> None:
    with pytest.raises(UsageError, match="there are azure-blob, glacier, s3, swift"):
        registry.find(name)


def test_no_sdk_is_imported_before_a_client_is_built() -> None:
    code = (
        "import sys\nfrom providers import registry\nimport providers.campaign\n"
        "[registry.find(name) for name in registry.names()]\n"
        "print([name for name in ('boto3', 'azure', 'swiftclient', 'urllib3') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


def test_a_missing_sdk_is_reported_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "swiftclient", None)
    remedy = rf"{re.escape(sys.executable)} -m pip install 'python-swiftclient\[keystone\]>=[0-9.]+'"
    with pytest.raises(ProvidersError, match=remedy):
        registry.build(registry.find("swift"), Target("swift", "box"))


@pytest.mark.parametrize(
    ("command", "missing"),
    [*(("run", name) for name in ("boto3", "botocore", "urllib3", "s3transfer")), ("clean", "urllib3")],
)
def test_whatever_part_of_an_sdk_is_missing_the_command_says_so_in_one_line(
    tmp_path: Path, command: str, missing: str
) -> None:
    words = ["storage", "run", "--provider", "s3", "--out", "run", "--quick", "--no-capture"]
    if command == "clean":
        words = ["storage", "clean", "run"]
        (tmp_path / "run").mkdir()
        (tmp_path / "run/journal.jsonl").touch()
        state = {"schema": "vmtrace.storage_run/1", "provider": "s3", "id": "1" * 16, "container": "box"}
        (tmp_path / "run/run.json").write_text(json.dumps(state))
    code = f"import sys; sys.modules[{missing!r}] = None; from vmtrace.cli import run; sys.exit(run({words!r}))"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert re.search(r"^(vmtrace: )?boto3 \(the SDK of s3\) is not installed: .* -m pip install 'boto3>=", done.stderr)


def test_an_option_of_another_service_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="--option tier: not of swift, which has: retries, timeout"):
        registry.build(registry.find("swift"), Target("swift", "box", options={"tier": "Hot"}))


def test_what_an_sdk_says_of_settings_becomes_a_line() -> None:
    def refuse(_: Target) -> Service:
        raise ValueError("Invalid endpoint")

    def meant(error: Exception) -> ServiceError:
        return ServiceError(ErrorKind.OTHER, f"told: {error}")

    provider = replace(registry.find("swift"), build=refuse, error_of=meant)
    with pytest.raises(ServiceError, match="told: Invalid endpoint"):
        registry.build(provider, Target("swift", "box"))
