"""What all tests share: where the collected traces are, real storage servers, and when a skip counts as a failure."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

if TYPE_CHECKING:
    from vmtrace.lab.services.certificates import Certificates
    from vmtrace.lab.services.service import Service

ROOT = Path(__file__).parent.parent

# Else eventlet, which Swift brings along, loads dnspython a second time: its errors are of classes that nobody catches.
os.environ.setdefault("EVENTLET_NO_GREENDNS", "yes")

# Slow machines and first calls must not fail a property; a failure prints how to repeat it. The examples are the same
# in every run, so that nothing fails by chance; `make test-long` draws others, and ten times as many.
EXAMPLES = int(os.environ.get("VMTRACE_EXAMPLES", "50"))
hypothesis.settings.register_profile(
    "vmtrace", deadline=None, print_blob=True, max_examples=EXAMPLES, derandomize="VMTRACE_EXAMPLES" not in os.environ
)
hypothesis.settings.load_profile("vmtrace")


def _hear_signals() -> None:
    """What a shell starts in the background ignores Ctrl-C, and so would the programs whose Ctrl-C is tested.

    Workers that run side by side ignore it, too, and libraries put back what they found. Under nohup the same holds for
    SIGHUP: the tests go on after one, and the programs that they start have its default.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: None)


_hear_signals()


def traces_folder() -> Path | None:
    """The folder of collected captures: VMTRACE_TRACES, or shared/traces beside the repository; none if absent."""
    named = os.environ.get("VMTRACE_TRACES")
    folder = Path(named) if named else ROOT.parent / "shared" / "traces"
    return folder if folder.is_dir() else None


@pytest.fixture(scope="session")
def traces() -> Path:
    """The folder of collected captures, which is no part of the repository; a test that asks for it may skip."""
    folder = traces_folder()
    if folder is None:
        pytest.skip("no collected captures: set VMTRACE_TRACES to a folder of them")
    return folder


@pytest.fixture(scope="session")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """The certificates of all real servers on loopback, with an intermediate, as the clouds' are."""
    from vmtrace.lab.services import certificates

    return certificates.make(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="session")
def swift_service(chain: Certificates) -> Iterator[Service]:
    """A real OpenStack Swift over TLS, with its S3 API; shared by all tests, so use names of your own."""
    from vmtrace.lab.services import swift

    with swift.started(chain) as service:
        yield service


@pytest.fixture(scope="session")
def moto_service(chain: Certificates) -> Iterator[Service]:
    """moto over TLS (S3, Glacier vaults, SQS, CloudWatch); shared by all tests, so use names of your own."""
    from vmtrace.lab.services import moto

    with moto.started(chain) as service:
        yield service


@pytest.fixture(scope="session")
def azurite_service(chain: Certificates) -> Iterator[Service]:
    """Azurite over TLS; shared by all tests, so use names of your own. Skips where Node.js is absent."""
    from vmtrace.lab.services import azurite

    reason = azurite.missing_requirement()
    if reason:
        pytest.skip(reason)
    with azurite.started(chain) as service:
        yield service


@pytest.fixture(scope="session")
def azurite_queue_service(chain: Certificates) -> Iterator[Service]:
    """Azurite's queues over TLS; shared by all tests, so use names of your own. Skips where Node.js is absent."""
    from vmtrace.lab.services import azurite

    reason = azurite.missing_requirement()
    if reason:
        pytest.skip(reason)
    with azurite.started_queue(chain) as service:
        yield service


@pytest.fixture
def client_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[Service], None]:
    """Has the official SDKs in this process talk to a real server, and to nothing that the tester's own account has."""

    def use(service: Service) -> None:
        for name in list(os.environ):
            if name.startswith(("AWS_", "AZURE_", "ST_", "OS_")) or name == "REQUESTS_CA_BUNDLE":
                monkeypatch.delenv(name)
        for name, value in service.environment.items():
            monkeypatch.setenv(name, value)

    return use


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that asks for `any_capture` runs on each sample, and on each collected capture where there are any."""
    if "any_capture" in metafunc.fixturenames:
        folders = [ROOT / "samples", *filter(None, [traces_folder()])]
        files = [path for folder in folders for path in sorted(folder.glob("*.*")) if _is_capture(path)]
        metafunc.parametrize("any_capture", files, ids=lambda path: path.name)


_SERVERS = frozenset(
    {f"{name}_service" for name in ("swift", "moto", "azurite", "azurite_queue")}
    | {"client_of", "server_of", "moto_server"}
)
"""Fixtures with a real server behind them."""
_SLOW = frozenset({"browser", "binaries", "traces"})
"""Fixtures that start Chromium, build programs with cargo, or hand out the collected captures."""
_WAITING = ("root", "server", "slow")
"""Marks of tests that take long, the longest first."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Of what is made while tests are collected nearly all stays: nobody looks for garbage in it, then or later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a server, a browser, cargo or the collected captures: `make quick` leaves it out.

    Workers side by side get files with hosts first, then those with servers: they wait the longest, and none of them is
    left for the end.
    """
    for item in items:
        names = set(getattr(item, "fixturenames", ()))
        if names & _SERVERS:
            item.add_marker(pytest.mark.server)
        if names & _SLOW or _is_collected_capture(item):
            item.add_marker(pytest.mark.slow)
    if "PYTEST_XDIST_WORKER" in os.environ:
        waits: dict[Path, int] = {}
        for item in items:
            kind = next((kind for kind, mark in enumerate(_WAITING) if item.get_closest_marker(mark)), len(_WAITING))
            waits[item.path] = min(kind, waits.get(item.path, kind))
        items.sort(key=lambda item: waits[item.path])


def _is_collected_capture(item: pytest.Item) -> bool:
    drawn = getattr(item, "callspec", None)
    capture = drawn and drawn.params.get("any_capture")
    return isinstance(capture, Path) and ROOT not in capture.parents


def _is_capture(path: Path) -> bool:
    return bool({".pcap", ".pcapng", ".dmp", ".dump", ".snoop"} & set(path.suffixes))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test marked `root` is skipped for others, before anything is made for it. Not one that asks for the right to
    capture, which others may have."""
    _hear_signals()
    names = getattr(item, "fixturenames", ())
    if item.get_closest_marker("root") is not None and "may_capture" not in names and os.geteuid() != 0:
        pytest.skip("needs root, for network namespaces or to record packets (try sudo)")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With VMTRACE_NO_SKIP=1, a skip is a failure but where the test may be skipped or others use the machine."""
    report = yield
    allowed = item.get_closest_marker("may_skip") is not None or "traces" in getattr(item, "fixturenames", ())
    busy = isinstance(report.longrepr, tuple) and "the machine was too busy for exact times" in report.longrepr[2]
    if report.skipped and not hasattr(report, "wasxfail") and not (allowed or busy):
        _fail_if_skips_are_forbidden(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same for a whole module that is skipped while it is collected."""
    report = yield
    if report.skipped:
        _fail_if_skips_are_forbidden(report)
    return report


def _fail_if_skips_are_forbidden(report: pytest.TestReport | pytest.CollectReport) -> None:
    if os.environ.get("VMTRACE_NO_SKIP") == "1":
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome = "failed"
        report.longrepr = f"skipped where VMTRACE_NO_SKIP=1 forbids it: {reason}"
