"""Queue runs written in the open: a plan, and the logs of its processes line by line. Times are milliseconds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from vmtrace.analyze.reports.queues.records import QueueRun
from vmtrace.analyze.reports.queues.run_folder import read_queue_run

BEGIN_NS = 1_700_000_000_000_000_000


def at(ms: float) -> int:
    return BEGIN_NS + round(ms * 1e6)


def stage(kind: str = "flow", messages: int = 10, **more: Any) -> dict[str, Any]:
    plain = {
        "name": kind, "kind": kind, "messages": messages, "rate_per_s": None, "size_bytes": 200, "send_batch": 1,
        "receive_batch": 10, "delete_batch": 10, "senders": 1, "receivers": 1, "deleters": 1, "visibility_s": 30.0,
        "wait_s": 0.0, "pause_s": 0.01, "backlog": 100,
    }  # fmt: skip
    return {**plain, **more}


class Made:
    """A run folder in the making."""

    def __init__(self, folder: Path, *stages: dict[str, Any], **state: Any) -> None:
        self.folder = folder
        (folder / "logs").mkdir(parents=True)
        self._state = {
            "schema": "vmtrace.queue_run/1", "id": "f" * 16, "name": "made", "status": "complete", "provider": "sqs",
            "region": "eu-west-1", "queue": "q", "fifo": False, "sessions": 1, "collected": True, "left_behind": [],
            "sdk": {"name": "boto3", "version": "1"}, "plan": {"name": "p", "repeat": 1, "stages": list(stages)},
            **state,
        }  # fmt: skip

    def line(self, role: str, record: dict[str, Any], stage: int = 1, session: int = 1, place: int = 0) -> Made:
        path = self.folder / "logs" / f"{stage:03d}-{session}-{role}-{place}.jsonl"
        with path.open("a") as file:
            file.write(json.dumps(record) + "\n")
        return self

    def send(self, numbers: list[int], start: float, end: float, due: float | None = None, **more: Any) -> Made:
        stage, session, place = (more.pop(name, value) for name, value in (("stage", 1), ("session", 1), ("place", 0)))
        dues = [0 if due is None else at(due)] * len(numbers)
        self.line("sender", {"operation": "sending", "time_ns": at(start), "numbers": numbers}, stage, session, place)
        record = {"operation": "send", "start_ns": at(start), "end_ns": at(end), "sent_ns": at(start),
                  "numbers": numbers, "due_ns": dues, "requests": 1, **more}  # fmt: skip
        return self.line("sender", record, stage, session, place)

    def attempt(self, numbers: list[int]) -> Made:
        return self.line("sender", {"operation": "sending", "numbers": numbers})

    def receive(
        self,
        rows: list[tuple[int, float, float | None]],
        start: float,
        end: float,
        role: str = "receiver",
        **more: Any,
    ) -> Made:
        """`rows`: number, when it was sent, when it was due."""
        stage, session, place = (more.pop(name, value) for name, value in (("stage", 1), ("session", 1), ("place", 0)))
        messages = [[number, 0 if due is None else at(due), at(sent), 1] for number, sent, due in rows]
        record = {"operation": "receive", "start_ns": at(start), "end_ns": at(end), "messages": messages,
                  "requests": 1, **more}  # fmt: skip
        return self.line(role, record, stage, session, place)

    def delete(self, numbers: list[int], start: float, end: float, **more: Any) -> Made:
        record = {"operation": "delete", "start_ns": at(start), "end_ns": at(end), "numbers": numbers, "requests": 1}
        return self.line("deleter", {**record, **more})

    def stage_ended(self, **values: Any) -> Made:
        line = {"stage": 1, "session": 1, "status": "complete", "begin_ns": at(0), "end_ns": at(1000), **values}
        with (self.folder / "stages.jsonl").open("a") as file:
            file.write(json.dumps(line) + "\n")
        return self

    def read(self) -> QueueRun:
        (self.folder / "run.json").write_text(json.dumps(self._state))
        return read_queue_run(self.folder)
