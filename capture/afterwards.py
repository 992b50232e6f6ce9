"""After a command: the files that it wrote, and the next command to type, in one form for all rooms.

wrote: run1/report.html
       figures/
next:  xdg-open run1/report.html
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TextIO

from vmtrace.formats import STANDARD_OUTPUT

_WROTE, _NEXT = "wrote: ", "next:  "


def show_afterwards(files: Iterable[str | os.PathLike[str]], *following: str, to: TextIO | None = None) -> None:
    """Print them, by default on standard output; a program that reads standard output is given `to=sys.stderr`."""
    for line in afterwards(files, *following):
        print(line, file=to if to is not None else sys.stdout, flush=to is not None)


def afterwards(files: Iterable[str | os.PathLike[str]], *following: str) -> list[str]:
    """The lines: of files, those that are not standard output, each once; then commands, the next one first."""
    places = list(dict.fromkeys(_shown(file) for file in files if str(file) != STANDARD_OUTPUT))
    return [*_under(_WROTE, places), *_under(_NEXT, [one for one in following if one])]


def command(*words: str | os.PathLike[str]) -> str:
    """Words as a line to paste into a shell."""
    return shlex.join(str(word) for word in words)


def browse(page: str | os.PathLike[str]) -> str:
    """The command that opens a page in the browser."""
    return command("open" if sys.platform == "darwin" else "xdg-open", page)


def _under(head: str, texts: Sequence[str]) -> list[str]:
    margin = " " * len(head)
    return [f"{margin if number else head}{text}" for number, text in enumerate(texts)]


def _shown(place: str | os.PathLike[str]) -> str:
    """As text that cannot act on a terminal; a folder ends in a slash."""
    text = str(place)
    text = "".join(letter if letter.isprintable() else "?" for letter in text)
    return f"{text}/" if "://" not in text and not text.endswith("/") and Path(place).is_dir() else text
