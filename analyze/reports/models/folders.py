"""The captures below the folders that somebody named: what a language model may open."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from vmtrace.analyze.read.capture_files import find

MOST_LISTED = 1000


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
        """What `vmtrace analyze` would read of them, in the order of the names."""
        for root in self._roots:
            for path in map(Path, find([str(root)]).paths):
                if path.resolve().is_relative_to(root):
                    yield path
