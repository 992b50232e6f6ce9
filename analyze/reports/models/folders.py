"""The captures below the folders that somebody named: what a language model may open."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

MOST_LISTED = 1000
_ENDINGS = (".pcap", ".pcapng", ".cap", ".erf")
_COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".lz4")


class NotAllowedError(ValueError):
    """A name that leads out of the folders, or to no file; the message is one line."""


class Folders:
    """Folders by their true places: a link that leads out of them is not followed."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self._roots = [folder.resolve(strict=True) for folder in folders]

    def file(self, name: str) -> Path:
        """The file of a name, relative to one of the folders or absolute."""
        for root in self._roots:
            try:
                found = (root / name).resolve(strict=True)
            except (OSError, ValueError, RuntimeError):
                continue
            if found.is_file() and any(found.is_relative_to(one) for one in self._roots):
                return found
        raise NotAllowedError("no such file below the folders that were named: ask for the list of captures")

    def shown(self, file: Path) -> str:
        """Its name as an answer has it: relative to its folder."""
        root = next(one for one in self._roots if file.is_relative_to(one))
        return str(file.relative_to(root))

    def captures(self) -> Iterator[Path]:
        """Files that are named like captures, in the order of their names."""
        for root in self._roots:
            for place, folders, names in os.walk(root):
                folders.sort()
                for name in sorted(names):
                    plain = Path(name.lower())
                    if plain.suffix in _COMPRESSED:
                        plain = plain.with_suffix("")
                    file = Path(place, name)
                    if plain.suffix in _ENDINGS and file.resolve().is_relative_to(root):
                        yield file
