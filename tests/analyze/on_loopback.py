"""Programs on loopback in a network namespace of their own, recorded by tcpdump: real kernels, no path between."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from vmtrace.lab import namespaces

_RECORDED_S = 2.0
"""After so long the recorder has read what passed: its buffer is emptied every second."""
_SERIAL = count(7000)


@contextmanager
def namespace() -> Iterator[list[str]]:
    """A network namespace with loopback alone; the words that run a program in it."""
    name = namespaces.namespace_name("loop", next(_SERIAL))
    namespaces.create(name)
    try:
        yield namespaces.exec_prefix(name)
    finally:
        namespaces.delete(name)


@contextmanager
def started(words: Sequence[str], ready: str) -> Iterator[subprocess.Popen[str]]:
    """A program, from the line on that contains `ready`."""
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as program:
        try:
            assert program.stdout is not None
            for line in program.stdout:
                if ready in line:
                    break
            yield program
        finally:
            program.send_signal(signal.SIGINT)
            try:
                program.wait(10)
            except subprocess.TimeoutExpired:
                program.kill()


@contextmanager
def recorded(inside: Sequence[str], capture: Path, what: str = "tcp", device: str = "lo") -> Iterator[None]:
    """Everything on loopback, or another device, of that kind goes into the capture while the block lasts."""
    options = ["-U", "--immediate-mode", "-B", "65536", "-Z", "root"]
    with started([*inside, "tcpdump", "-i", device, *options, "-w", str(capture), what], "listening"):
        yield
        time.sleep(_RECORDED_S)
