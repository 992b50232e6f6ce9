"""The folder of a queue run (docs/queue.md): `run.json`, a line for each stage, round trips, and logs of processes."""

import os
import secrets
from pathlib import Path
from typing import Self

from vmtrace.formats.schemas import QUEUE_RUN
from vmtrace.providers.queues.task import KEY_FILE
from vmtrace.providers.run_folder import Record, RunFolder, read_run


class QueueFolder(RunFolder):
    """Open for writing."""

    schema = QUEUE_RUN
    lines = ("stages", "rtt")

    @classmethod
    def resume(cls, path: Path) -> Self:
        """A run that is there; raises `ProvidersError` for a folder that is none, or that is being written."""
        return cls(path, read_queue_run(path))

    def make_key(self, key: str | None) -> None:
        """What signs this run's messages: readable by the owner alone, as whoever has it can forge them.

        `key` is that of the other host's run, if there is one.
        """
        descriptor = os.open(self.path / KEY_FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write((key or secrets.token_hex(32)) + "\n")


def read_queue_run(path: Path) -> Record:
    """`run.json` of a queue run; raises `ProvidersError` where there is none."""
    return read_run(path, QUEUE_RUN, "vmtrace queue")
