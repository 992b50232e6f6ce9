"""What each part of `make accuracy` is, and where its table goes: between its markers in docs/accuracy.md.

A study draws transfers by a seed, makes those that are missing, scores what vmtrace says of each, and gives a table.
`vmtrace.lab.accuracy.__main__` lists the studies and reads the options that they share.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs/accuracy.md"


class Named(Protocol):
    """What is drawn."""

    @property
    def name(self) -> str:
        """As its folder is called."""


_Named = TypeVar("_Named", bound=Named)


@dataclass(frozen=True, slots=True)
class Options:
    """What a study is asked for."""

    out: Path
    """Where transfers are, each in a folder with its name and the seed."""
    seed: int
    each: int = 4
    """Transfers of each kind."""
    times: int = 3
    """How often each change of a what-if is made."""
    only: str = ""
    """Part of the names of the transfers that are wanted."""
    no_runs: bool = False
    """Judge what is there."""

    def chosen(self, drawn: Iterable[_Named]) -> list[_Named]:
        """Those that are wanted."""
        return [one for one in drawn if self.only in one.name]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a study found: how many of what, the table in Markdown, and whether something is wrong that must not be."""

    count: str
    lines: list[str]
    failed: bool


@dataclass(frozen=True, slots=True)
class Study:
    """A part of `make accuracy`: its name and its markers', what it judges, and how."""

    name: str
    judges: str
    measure: Callable[[Options], Outcome]
    needs_hosts: bool = True
    """It makes transfers, between hosts in namespaces."""


def write_document(part: str, lines: Iterable[str], document: Path = DOCUMENT) -> bool:
    """Puts a part's table between its markers; false if the document has none for it."""
    begin, end = f"<!-- {part}: begin -->", f"<!-- {part}: end -->"
    pattern, text = re.compile(f"({re.escape(begin)}\n).*({re.escape(end)})", re.DOTALL), "\n".join(lines)
    written, found = pattern.subn(lambda kept: f"{kept[1]}{text}\n{kept[2]}", document.read_text())
    aside = document.with_suffix(".part")
    aside.write_text(written)
    aside.replace(document)
    return found > 0
