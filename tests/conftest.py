"""What all tests share: where the collected traces are, and when a skipped test counts as a failure."""

import os
import signal
from collections.abc import Generator
from pathlib import Path

import hypothesis
import pytest

ROOT = Path(__file__).parent.parent

# Slow machines and first calls must not fail a property; a failure prints how to repeat it.
hypothesis.settings.register_profile("vmtrace", deadline=None, print_blob=True)
hypothesis.settings.load_profile("vmtrace")

# What a shell starts in the background ignores Ctrl-C, and so would the programs whose Ctrl-C is tested.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


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


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that asks for `any_capture` runs on each sample, and on each collected capture where there are any."""
    if "any_capture" in metafunc.fixturenames:
        folders = [ROOT / "samples", *filter(None, [traces_folder()])]
        files = [path for folder in folders for path in sorted(folder.glob("*.*")) if _is_capture(path)]
        metafunc.parametrize("any_capture", files, ids=lambda path: path.name)


def _is_capture(path: Path) -> bool:
    return bool({".pcap", ".pcapng", ".dmp", ".dump", ".snoop"} & set(path.suffixes))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With VMTRACE_NO_SKIP=1, a skip is a failure unless the test says that it may be skipped."""
    report = yield
    allowed = item.get_closest_marker("may_skip") is not None or "traces" in getattr(item, "fixturenames", ())
    if report.skipped and not hasattr(report, "wasxfail") and not allowed:
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
