import threading
from typing import cast

import pytest

from tests.eventually import eventually
from vmtrace.receiver.refusal import BusyRefusal
from vmtrace.receiver.session import Session
from vmtrace.receiver.sessions import Sessions


class Living:
    """Lives until it is hung up on, if it listens."""

    def __init__(self, name: bytes, *, deaf: bool = False) -> None:
        self.name, self.host, self.awaited = name, "198.18.0.1", 3
        self._deaf = deaf
        self.over = threading.Event()
        self.told: list[str] = []

    def run(self) -> None:
        self.over.wait(10)

    def hang_up(self, reason: str) -> None:
        self.told.append(reason)
        if not self._deaf:
            self.over.set()

    def check_time(self, now_s: float) -> None:
        if now_s > 100:
            self.hang_up("late")


def started(sessions: Sessions, living: Living) -> Session:
    session = cast(Session, living)
    assert sessions.start(session)
    return session


def test_sessions_are_found_until_they_end() -> None:
    sessions = Sessions(2)
    one, two = Living(b"1"), Living(b"2")
    started(sessions, one)
    fill = [sessions.full]
    started(sessions, two)
    assert [*fill, sessions.full] == [False, True]
    assert sessions.find(b"1") is cast(Session, one)
    assert sessions.awaited_from("198.18.0.1") == 6
    assert sessions.awaited_from("198.18.0.2") == 0
    sessions.check_time(50)
    assert one.told == []
    sessions.end()
    assert len(sessions) == 0
    assert sessions.find(b"1") is None
    assert one.told == two.told == ["the receiver was ended"]


def test_a_run_has_one_session_and_the_later_one_wins() -> None:
    sessions = Sessions(4)
    one, two = Living(b"1"), Living(b"2")
    sessions.claim("run", started(sessions, one))
    sessions.claim("run", started(sessions, two))
    assert one.over.is_set()
    assert not two.over.is_set()
    assert eventually(lambda: sessions.find(b"1") is None)
    assert sessions._runs == {"run": cast(Session, two)}
    sessions.end()
    assert sessions._runs == {}


def test_a_session_that_does_not_end_keeps_its_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vmtrace.receiver.sessions._LEAVING_S", 0.1)
    sessions = Sessions(4)
    deaf, two = Living(b"1", deaf=True), Living(b"2")
    sessions.claim("run", started(sessions, deaf))
    session = started(sessions, two)
    with pytest.raises(BusyRefusal, match="has not ended yet: try again"):
        sessions.claim("run", session)
    assert sessions._runs == {"run": cast(Session, deaf)}
    deaf.over.set()
    sessions.claim("run", session)
    sessions.end()


def test_a_system_without_threads_starts_no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_self: object) -> None:
        raise RuntimeError("can't start new thread")

    sessions = Sessions(1)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        assert not sessions.start(cast(Session, Living(b"1")))
    assert len(sessions) == 0
