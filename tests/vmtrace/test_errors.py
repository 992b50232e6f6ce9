"""Trouble in one line."""

import pytest

from vmtrace.errors import Exit, complain, describe


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (FileNotFoundError(2, "No such file or directory", "x.pcap"), "x.pcap: No such file or directory"),
        (OSError(28, "No space left on device"), "No space left on device"),
        (MemoryError(), "not enough memory"),
        (ValueError("what"), "what"),
        (ValueError(), "ValueError"),
    ],
)
def test_an_exception_is_described_without_decoration(error: Exception, text: str) -> None:
    assert describe(error) == text


def test_a_complaint_is_one_clean_line(capsys: pytest.CaptureFixture[str]) -> None:
    complain("two\nlines \x1b[31m")
    assert capsys.readouterr().err == "vmtrace: two lines \N{REPLACEMENT CHARACTER}[31m\n"


def test_the_statuses_are_those_of_the_design() -> None:
    assert {status.name: status.value for status in Exit} == {
        "DONE": 0,
        "FAILED": 1,
        "USAGE": 2,
        "CROSSED": 3,
        "INTERRUPTED": 130,
    }
