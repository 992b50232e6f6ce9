"""What a source of host counters is, and how all of them are found and read together.

To add one, add a file here with a subclass named by `SOURCE`, and its columns to docs/capture.md. Nothing else
knows the sources by name.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Union

Value = Union[int, float]
Reading = dict[str, Value]  # column to value; a column that is left out is an empty cell

_BLOCK_BYTES = 65_536


@dataclass(frozen=True)
class Where:
    """What a source is to look at."""

    interface: str | None = None
    root: Path = Path("/")
    """The folder in which `proc` is: another one in tests."""


class Source:
    """A source opens what it needs in the network namespace of the thread that makes it, and stays there."""

    def __init__(self, where: Where) -> None:
        self.where = where

    def read(self) -> Reading:
        """The counters as they stand. What is not there is left out; nothing is raised for it."""
        return {}

    def close(self) -> None:
        """Let go of what was opened."""


class TextFile:
    """A file of /proc that is read again and again; one that is not there, or vanished, is empty."""

    def __init__(self, path: Path) -> None:
        self._descriptor = -1
        with suppress(OSError):  # not in this kernel, or not in this container
            self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def text(self) -> str:
        """What is in it now."""
        blocks: list[bytes] = []
        try:
            while self._descriptor >= 0:
                block = os.pread(self._descriptor, _BLOCK_BYTES, sum(map(len, blocks)))
                if not block:
                    break
                blocks.append(block)
        except OSError:
            return ""  # EOPNOTSUPP of a pressure file that is switched off, EIO of one whose namespace is gone
        return b"".join(blocks).decode("utf-8", "replace")

    def close(self) -> None:
        """Let go of the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def all_sources(where: Where) -> list[Source]:
    """One of each source, in the order of their names; found by the import system, so inside a zip file too."""
    package = importlib.import_module("vmtrace.capture.counters")
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    modules = [importlib.import_module(f"vmtrace.capture.counters.{name}") for name in names]
    return [module.SOURCE(where) for module in modules if hasattr(module, "SOURCE")]


def read_all(sources: list[Source]) -> Reading:
    """All counters of all sources."""
    found: Reading = {}
    for source in sources:
        found.update(source.read())
    return found


def numbers(words: list[str]) -> list[int] | None:
    """The words as numbers, or None if one of them is none."""
    try:
        return [int(word) for word in words]
    except ValueError:
        return None


def pick(values: Mapping[str, int], columns: Mapping[str, str]) -> Reading:
    """Values by kernel's name, as a reading by column: `columns` maps the one to the other."""
    return {column: values[name] for name, column in columns.items() if name in values}
