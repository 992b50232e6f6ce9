"""Names in reverse: what has one, what has none, and what does not answer."""

import socket
import time
from typing import Any

import pytest

from vmtrace.providers.reverse_names import reverse_name, reverse_names


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        ("s3-1.dub2.example.net.", "s3-1.dub2.example.net"),
        ("a_b.example", "a_b.example"),
        ("\x1b[31m.example", None),
        ("a b", None),
        ("x" * 300, None),
        ("", None),
        (socket.gaierror(-2, "Name or service not known"), None),
        (UnicodeError(), None),
    ],
)
def test_a_name_is_one_or_none(answer: str | Exception, name: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(address: Any, flags: int) -> tuple[str, str]:
        assert (address, flags) == (("192.0.2.1", 0), socket.NI_NAMEREQD)
        if isinstance(answer, Exception):
            raise answer
        return answer, "0"

    monkeypatch.setattr(socket, "getnameinfo", asked)
    assert reverse_name("192.0.2.1") == name


def test_what_does_not_answer_in_time_is_left_out_and_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(address: tuple[str, int], _flags: int) -> tuple[str, str]:
        if address[0] != "192.0.2.1":
            time.sleep(20)
        return "here.example", "0"

    monkeypatch.setattr(socket, "getnameinfo", asked)
    began_s = time.monotonic()
    assert reverse_names(["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.1"], 0.5) == {"192.0.2.1": "here.example"}
    assert time.monotonic() - began_s < 10
