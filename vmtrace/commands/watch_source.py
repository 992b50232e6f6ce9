"""Where `vmtrace watch` gets packets: a file or pipe that is there, or a recorder of its own for an interface.

The recorder is `vmtrace capture` as a process of its own: what the analysis does never keeps it from emptying the
kernel's buffer, and its pipe ends when the interface vanishes.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from vmtrace.errors import CommandError, complain

_PIPE_BYTES = 1 << 20
_ENDING_S = 5.0


class Source:
    """What is read, and under which name it is shown."""

    def __init__(self, path: str, name: str) -> None:
        self.path, self.name = path, name
        self.filters = False
        """The packets come filtered."""

    def end(self) -> str | None:
        """Ask it to end; returns what was wrong with it."""
        return None


class _Recorder(Source):
    """`vmtrace capture` on an interface."""

    def __init__(self, interface: str, expression: str | None) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the recorder
        reader, writer = os.pipe2(os.O_CLOEXEC)
        with suppress(OSError):
            _enlarge(writer)
        command = [sys.executable, "-m", "vmtrace", "capture", "--interface", interface, "--write", "-", "--quiet"]
        # Ctrl-C is for the whole group; here it is passed on when its time has come.
        self._process = subprocess.Popen(
            [*command, *(["--filter", expression] if expression else [])],
            stdout=writer,
            stderr=self._errors,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(writer)
        self._reader = reader
        super().__init__(f"/proc/self/fd/{reader}", interface)
        self.filters = True

    def end(self) -> str | None:
        had_ended = self._process.poll() is not None
        if not had_ended:
            self._process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_ENDING_S)
        self._errors.seek(0)
        said = self._errors.read().decode(errors="replace").strip()
        lines = [line.removeprefix("vmtrace: ") for line in said.splitlines()]
        if self._process.returncode not in {0, 130}:
            return (lines or ["the recorder ended"])[-1]
        for line in lines:  # packets that the kernel dropped
            complain(line)
        return None

    def close(self) -> None:
        """Nothing of it stays."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        os.close(self._reader)
        self._errors.close()


def _enlarge(pipe: int) -> None:
    """A pipe that holds what a fast link brings while the reader is busy."""
    import fcntl

    fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


@contextmanager
def opened(arguments: argparse.Namespace) -> Iterator[Source]:
    """The source that was named. Raises `CommandError` for what is not there."""
    if arguments.interface is None:
        path = arguments.file
        if path != "-" and not Path(path).exists():
            raise CommandError(f"{path}: no such file")
        yield Source(path, "<stdin>" if path == "-" else os.fsencode(path).decode(errors="replace"))
        return
    recorder = _Recorder(arguments.interface, arguments.filter)
    try:
        yield recorder
    finally:
        recorder.close()
