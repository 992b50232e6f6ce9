"""Options of plans, each declared once, where its field is; and how their values are read.

    step_s: float = option("step", longer, 600.0)

is the key `step` of a plan's file, read by `longer`; without the key the field keeps what it has. Readers of files,
what the command line changes and what `run.json` says of a plan all go by these declarations.
"""

import dataclasses
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from vmtrace.formats.quantities import duration_s, size_bytes

T = TypeVar("T")
LONGEST_S = 400 * 86_400.0
MOST_REPEATS = 100_000
_LARGEST_OBJECT_BYTES = 5 * 10**9  # what Swift takes as one object, and S3 by one PUT
_LONGEST_PAUSE_S = 7 * 86_400.0
_MOST_VALUES = 1000


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a plan. `read` raises `ValueError`; with `what` the command line has it, too."""

    key: str
    read: Callable[[Any], Any]
    what: str = ""
    metavar: str = "N"
    kinds: tuple[str, ...] = ()
    """Of plans that have it; empty: all whose fields these are."""

    @property
    def destination(self) -> str:
        """What the parser of a command line calls it."""
        return "duration" if self.key == "for" else self.key

    @property
    def spelling(self) -> str:
        """On a command line."""
        return f"--{self.key.replace('_', '-')}"


def option(key: str, read: Callable[[Any], Any], default: Any = dataclasses.MISSING, **more: Any) -> Any:
    """The field of a plan that is this option; `more` are further fields of `Option`."""
    return dataclasses.field(default=default, metadata={"option": Option(key, read, **more)})


def options_of(plan: Any, kind: str = "") -> dict[str, Option]:
    """By the names of the fields; of those that a plan of this kind has, if one is given."""
    fields = {one.name: one.metadata.get("option") for one in dataclasses.fields(plan)}
    declared = {name: one for name, one in fields.items() if isinstance(one, Option)}
    return {name: one for name, one in declared.items() if not (kind and one.kinds) or kind in one.kinds}


def keys_of(plan: Any, kind: str = "") -> tuple[str, ...]:
    """Of a plan's file."""
    return tuple(declared.key for declared in options_of(plan, kind).values())


def given(plan: Any, record: Mapping[str, Any], where: str = "") -> dict[str, Any]:
    """Those fields of a plan that a file's table names; raises `ValueError` for a value that cannot be."""
    return {
        name: checked(declared.read, record[declared.key], f"{where}{declared.key}")
        for name, declared in options_of(plan).items()
        if declared.key in record
    }


def checked(read: Callable[[Any], T], value: Any, where: str) -> T:
    """A value that is read; its error says where it stands."""
    try:
        return read(value)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def with_words(plan: T, words: Mapping[str, str]) -> T:
    """The plan with what options of the command line say, by their destinations; raises `ValueError`."""
    values = {
        name: checked(declared.read, from_word(words[declared.destination]), declared.spelling)
        for name, declared in options_of(plan).items()
        if declared.what and declared.destination in words
    }
    changed: T = dataclasses.replace(plan, **values)  # type: ignore[type-var] # a dataclass: it has fields
    return changed


def from_word(word: str) -> int | str:
    """A word of a command line, where digits alone are a number."""
    return int(word) if word.isascii() and word.isdigit() and len(word) < 20 else word


def as_record(plan: Any) -> dict[str, Any]:
    """A plan as `run.json` holds it: its kind, name and scale, and the rest in the order of its fields."""
    first = {name: getattr(plan, name) for name in ("kind", "name", "scale")}
    record: dict[str, Any] = json.loads(json.dumps(first | dataclasses.asdict(plan)))
    return record


# What options read.


def whole(most: int, least: int = 1) -> Callable[[Any], int]:
    """A whole number up to `most`."""

    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ValueError(f"expected a whole number from {least} to {most:,}")
        return value

    return read


def measured(read: Callable[[str], float]) -> Callable[[Any], float]:
    """A number, or a text with a unit that `read` reads."""

    def number(value: Any) -> float:
        if isinstance(value, str):
            return read(value)
        if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
            raise ValueError("expected a number or a text such as '4 kB' or '2 min'")
        return value

    return number


def seconds(least_s: float, most_s: float, possible: str) -> Callable[[Any], float]:
    """A time within bounds, which `possible` says in words."""
    number = measured(duration_s)

    def read(value: Any) -> float:
        found = number(value)
        if not least_s <= found <= most_s:
            raise ValueError(f"{possible} are possible")
        return float(found)

    return read


def size(value: Any) -> int:
    """Of an object."""
    found = measured(size_bytes)(value)
    if not 1 <= found <= _LARGEST_OBJECT_BYTES or found != int(found):
        raise ValueError(f"from 1 byte to {_LARGEST_OBJECT_BYTES // 10**9} GB are possible")
    return int(found)


longer = seconds(math.ulp(0.0), LONGEST_S, f"more than 0 and at most {LONGEST_S / 86_400:.0f} days")
"""Of a campaign and its parts."""
pause = seconds(0.0, _LONGEST_PAUSE_S, f"from 0 to {_LONGEST_PAUSE_S / 86_400:.0f} days")
"""Between the parts of a campaign."""


def several(read: Callable[[Any], T], what: str) -> Callable[[Any], tuple[T, ...]]:
    """A list of such values, each once; or a text with commas."""

    def values(value: Any) -> tuple[T, ...]:
        if isinstance(value, str):
            value = [from_word(word) for word in value.split(",")]
        if not isinstance(value, list) or not 0 < len(value) <= _MOST_VALUES:
            raise ValueError(f"expected a list of {what}")
        return tuple(dict.fromkeys(map(read, value)))

    return values


sizes = several(size, "sizes")
"""Of objects."""


def numbers(most: int) -> Callable[[Any], tuple[int, ...]]:
    """Whole numbers."""
    return several(whole(most), "whole numbers")


def some_of(known: Iterable[str]) -> Callable[[Any], tuple[str, ...]]:
    """A list of these words."""
    words = tuple(known)

    def read(value: Any) -> tuple[str, ...]:
        if not isinstance(value, list) or not value or not set(map(str, value)) <= set(words):
            raise ValueError(f"expected a list of {' and '.join(words)}")
        return tuple(dict.fromkeys(value))

    return read


def one_of(known: Iterable[str]) -> Callable[[Any], str]:
    """One of these words."""
    words = tuple(known)

    def read(value: Any) -> str:
        if value not in words:
            raise ValueError(f"expected one of {', '.join(words)}")
        return str(value)

    return read


def truth(value: Any) -> bool:
    """Yes or no."""
    if not isinstance(value, bool):
        raise ValueError("expected true or false")
    return value


def named(pattern: re.Pattern[str], characters: str) -> Callable[[Any], str]:
    """A name of these characters."""

    def read(value: Any) -> str:
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise ValueError(f"expected up to 64 {characters}")
        return value

    return read
