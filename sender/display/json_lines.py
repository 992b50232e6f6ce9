"""`--json-lines`: one JSON object for each event on standard output, for scripts."""

from __future__ import annotations

import json
from typing import Any, TextIO

from vmtrace.sender.display.view import Display, RunEnd, RunView
from vmtrace.sender.plan import Step
from vmtrace.sender.plan_record import plan_record

Record = dict[str, Any]


class JsonLines(Display):
    """Each line has `event`; a finished pair is its whole record."""

    def __init__(self, output: TextIO) -> None:
        self._output = output

    def started(self, run: RunView) -> None:
        """`run_started`: also of each session that goes on with a run."""
        self._write(
            "run_started",
            folder=run.folder,
            id=run.run_id,
            plan=plan_record(run.plan),
            pairs_planned=run.plan.pairs_planned,
            pairs_finished=run.finished,
            receiver=run.receiver,
        )

    def pair_finished(self, record: Record) -> None:
        """`pair_finished`."""
        self._write("pair_finished", **record)

    def attempt_failed(self, step: Step, attempt: int, error: str, wait_s: float) -> None:
        """`attempt_failed`."""
        self._write("attempt_failed", sequence=step.sequence, attempt=attempt, error=error, wait_s=wait_s)

    def noticed(self, text: str) -> None:
        """`notice`."""
        self._write("notice", text=text)

    def fetched(self, status: str, files: int, fetched_bytes: int, error: str | None) -> None:
        """`fetched`."""
        self._write("fetched", status=status, files=files, bytes=fetched_bytes, error=error)

    def ended(self, end: RunEnd) -> None:
        """`run_ended`."""
        self._write("run_ended", status=end.status, error=end.error, **end.record)

    def _write(self, event: str, **content: Any) -> None:
        self._output.write(json.dumps({"event": event, **content}, separators=(",", ":")) + "\n")
        self._output.flush()
