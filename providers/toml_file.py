"""TOML files that a user names: plans and tables of prices. What cannot be read, and what is unknown, is refused."""

import difflib
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from vmtrace.providers.errors import UsageError

T = TypeVar("T")
_LARGEST_BYTES = 1 << 20


def load(path: Path, about: str, known: str, made_of: Callable[[bytes], T]) -> T:
    """What `made_of` makes of a file. Raises `UsageError`: `about` stands first, `known` tells what there is."""
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{about}: {reason} ({known})") from None
    try:
        return made_of(data)
    except ValueError as error:
        raise UsageError(f"{about}: {' '.join(str(error).split())}") from error


def parsed(data: bytes, kind: str) -> dict[str, Any]:
    """The table that a file's content is; raises `ValueError`, which calls what is too large no such kind of file."""
    if len(data) > _LARGEST_BYTES:
        raise ValueError(f"larger than {_LARGEST_BYTES >> 20} MiB: this is no {kind}")
    try:
        return tomllib.loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start}: not UTF-8 text") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None


def head_and_rows(record: Mapping[str, Any], texts: tuple[str, ...], row: str) -> list[Any]:
    """The rows `[[row]]` of a table whose texts are there; raises `ValueError`."""
    for name in texts:
        if not isinstance(record.get(name), str) or not record[name].strip():
            raise ValueError(f"{name}: expected text")
    rows = record.get(row)
    if not isinstance(rows, list) or not rows:
        raise ValueError(f"no [[{row}]]: expected at least one")
    return rows


def refuse_unknown(record: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    """Raises `ValueError` for a key that is not among those known: most likely it is misspelt."""
    for key in record:
        if key not in known:
            close = difflib.get_close_matches(key, known, 1)
            hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}"
            raise ValueError(f"{where}: {key[:64]!r} is unknown: {hint}")
