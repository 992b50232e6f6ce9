import argparse
import re
import subprocess
import sys
from collections.abc import Callable

import pytest

from vmtrace.capture.errors import CaptureError
from vmtrace.sender.wire.errors import ReceiverGone
from vmtrace.sender.wire.program import describe, main


def run_that_raises(error: BaseException) -> Callable[[argparse.Namespace], int]:
    def run(_arguments: argparse.Namespace) -> int:
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ReceiverGone("it is gone"), "vmtrace: it is gone\n"),
        (OSError(28, "No space left on device", "/x"), "vmtrace: /x: No space left on device\n"),
        (OSError(98, "port taken"), "vmtrace: port taken\n"),
        (ValueError("two\nlines"), "vmtrace: two lines\n"),
        (CaptureError("no right"), "vmtrace: no right\n"),
    ],
)
def test_trouble_is_one_line_and_status_1(error: Exception, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argparse.ArgumentParser, run_that_raises(error), []) == 1
    assert capsys.readouterr().err == line


def test_a_defect_is_one_line_that_says_where(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argparse.ArgumentParser, run_that_raises(KeyError("id")), []) == 1
    shown = capsys.readouterr().err
    assert re.fullmatch(r"vmtrace: KeyError: 'id' at wire/test_program\.py:\d+ \(a defect: .*\)\n", shown)


def test_an_interruption_is_status_130(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argparse.ArgumentParser, run_that_raises(KeyboardInterrupt()), []) == 130
    assert capsys.readouterr().err == "vmtrace: interrupted\n"


def test_wrong_usage_is_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        main(argparse.ArgumentParser, lambda _: 0, ["--no-such-option"])
    assert raised.value.code == 2
    assert "--no-such-option" in capsys.readouterr().err


def test_a_reader_that_went_away_is_no_trouble() -> None:
    code = (
        "import argparse, sys; from vmtrace.sender.wire.program import main\n"
        "def run(_):\n    print('x' * 100)\n    raise BrokenPipeError\n"
        "sys.exit(main(argparse.ArgumentParser, run, []))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_done_is_what_run_says() -> None:
    assert main(argparse.ArgumentParser, lambda _: 0, []) == 0


def test_an_error_without_words_has_its_name() -> None:
    assert describe(ValueError()) == "ValueError"
