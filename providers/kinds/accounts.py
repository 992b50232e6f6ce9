"""The books of a campaign of requests: lines of the log as they come, `run.json` and the disk every few seconds."""

from __future__ import annotations

import threading
import time
from typing import Any

from vmtrace.providers.kinds.requester import Said
from vmtrace.providers.kinds.site import Site

_NOTES_EVERY_S = 10.0
_NOTES_AT_LEAST_EVERY_S = 60.0


class Accounts:
    """Used by all threads of a campaign; `look` by the main one."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._lock = threading.Lock()
        self._noted_s = time.monotonic()  # of this machine, also where a campaign is simulated

    def log(self, said: Said, about: dict[str, Any]) -> None:
        """One request."""
        site = self._site
        site.folder.append("requests", {**about, **said.record})
        with self._lock:
            site.finished += 1
            if said.error is not None:
                site.failed += 1
                site.last_failure = said.error

    def look(self, progress: str, *, has_time: bool = True) -> None:
        """Show how far it is; note it, now and then. `has_time`: nothing is due while the disk takes the note."""
        self._site.display.progressed(progress)
        now_s = time.monotonic()
        if now_s - self._noted_s >= (_NOTES_EVERY_S if has_time else _NOTES_AT_LEAST_EVERY_S):
            self._noted_s = now_s
            self._note()

    def close(self) -> None:
        """All that is logged is on the disk."""
        self._note()

    def _note(self) -> None:
        site = self._site
        site.folder.sync()
        site.folder.note(
            requests_finished=site.finished, requests_failed=site.failed, front_ends=list(site.observer.front_ends)
        )
        site.note_usage()
