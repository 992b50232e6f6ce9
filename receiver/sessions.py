"""The sessions that live, each in its thread: found by name, one at a time for each run, ended together."""

from __future__ import annotations

import threading
import time

from vmtrace.receiver.refusal import BusyRefusal
from vmtrace.receiver.session import Session

_LEAVING_S = 10.0


class Sessions:
    """Safe to use from several threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._living: dict[bytes, tuple[Session, threading.Thread]] = {}
        self._runs: dict[str, Session] = {}

    def __len__(self) -> int:
        return len(self._living)

    @property
    def full(self) -> bool:
        """No further session may begin."""
        return len(self._living) >= self._most

    def start(self, session: Session) -> bool:
        """Let a session live; False where the system has no thread for it."""
        thread = threading.Thread(target=self._live, args=(session,), name="session", daemon=True)
        with self._lock:
            try:
                thread.start()
            except RuntimeError:
                return False
            self._living[session.name] = (session, thread)
        return True

    def find(self, name: bytes) -> Session | None:
        """The session of this name."""
        found = self._living.get(name)
        return None if found is None else found[0]

    def claim(self, run_id: str, session: Session) -> None:
        """Make `session` the only one of a run; two of them would write to the same files.

        One that has the run, because its sender lost the connection, is ended first. Raises `BusyRefusal` when that
        takes too long.
        """
        with self._lock:
            older = self._runs.get(run_id)
            found = None if older is None else self._living.get(older.name)
            self._runs[run_id] = session
        if found is None:
            return
        found[0].hang_up("its sender came back by a new connection")
        found[1].join(_LEAVING_S)
        if found[1].is_alive():
            with self._lock:
                self._runs[run_id] = found[0]
            raise BusyRefusal("an earlier session of this run has not ended yet: try again")

    def awaited_from(self, host: str) -> int:
        """How many data connections are awaited from an address just now."""
        with self._lock:
            return sum(session.awaited for session, _ in self._living.values() if session.host == host)

    def check_time(self, now_s: float) -> None:
        """End what takes longer than it may."""
        with self._lock:
            living = list(self._living.values())
        for session, _ in living:
            session.check_time(now_s)

    def end(self) -> None:
        """Hang up on all, and wait for them for a while."""
        with self._lock:
            living = list(self._living.values())
        for session, _ in living:
            session.hang_up("the receiver was ended")
        deadline_s = time.monotonic() + _LEAVING_S
        for _, thread in living:
            thread.join(max(0.0, deadline_s - time.monotonic()))

    def _live(self, session: Session) -> None:
        try:
            session.run()
        finally:
            with self._lock:
                self._living.pop(session.name, None)
                for run_id in [run_id for run_id, owner in self._runs.items() if owner is session]:
                    del self._runs[run_id]
