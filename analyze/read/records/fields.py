"""Values out of a JSON object that somebody else wrote: each is checked when it is taken, and named when it is wrong.

What is absent or null is None. What has the wrong type raises `FieldError`, one line, because a number that is really
text must not slip into a table. Unknown keys are never looked at.
"""

import ipaddress
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from functools import cache, lru_cache
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

_LARGEST = 2**63 - 1
Endpoint = tuple[str, int]
Record = TypeVar("Record")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a number, or the length of a list, may be; in the words of JSON Schema."""

    words: tuple[tuple[str, float], ...]


def bounds(**words: float) -> Bounds:
    """`bounds(minimum=0)`."""
    return Bounds(tuple(words.items()))


Count = Annotated[int, bounds(minimum=0)]
Whole = Annotated[int, bounds(minimum=0, maximum=_LARGEST)]
"""A number that must be there: of what, or when."""
Positive = Annotated[float, bounds(minimum=0)]
"""A float from 0 on."""
Share = Annotated[float, bounds(minimum=0, maximum=1)]


class FieldError(ValueError):
    """A record is not what it should be; the message is one line that says where and why."""


def parse(text: bytes, where: str) -> "Fields":
    """One JSON object; `FieldError` for anything else, however deep or long."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FieldError(f"{where}: not JSON ({type(error).__name__})") from None
    if not isinstance(content, dict):
        raise FieldError(f"{where}: not a JSON object")
    return Fields(content, where)


class Fields:
    """One JSON object, and where it stands."""

    def __init__(self, content: dict[str, Any], where: str) -> None:
        self._content = content
        self._where = where

    def __contains__(self, name: str) -> bool:
        return self._content.get(name) is not None

    def names(self) -> list[str]:
        """What is in it, null or not."""
        return list(map(_plain, self._content))

    def as_json(self) -> str:
        """The whole, keys in order: equal texts are equal objects."""
        return json.dumps(self._content, sort_keys=True)

    def _of(self, kind: type[T], name: str, wanted: str) -> T | None:
        """What stands there, if it is of this kind."""
        value = self._content.get(name)
        if value is not None and not isinstance(value, kind):
            raise self.wrong(name, wanted)
        return value

    def text(self, name: str) -> str | None:
        """Text, without surrogates that no file or terminal takes."""
        value = self._of(str, name, "text")
        return None if value is None else _plain(value)

    def integer(self, name: str) -> int | None:
        """A whole number that 64 bits hold."""
        value = self._content.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or abs(value) > _LARGEST:
            raise self.wrong(name, "a whole number")
        return value

    def needed(self, name: str) -> int:
        """A whole number that must be there."""
        value = self.integer(name)
        if value is None:
            raise self.wrong(name, "a whole number")
        return value

    def count(self, name: str, most: int = 2**53) -> int | None:
        """A whole number from 0."""
        value = self.integer(name)
        if value is not None and not 0 <= value <= most:
            raise self.wrong(name, f"a count of at most {most:,}")
        return value

    def program(self, name: str) -> str | None:
        """Name and version of a program."""
        part = self.part(name)
        return " ".join(filter(None, (part.text("name"), part.text("version")))) if part else None

    def amount(self, name: str) -> float | None:
        """A finite number from 0."""
        value = self.number(name)
        if value is not None and value < 0:
            raise self.wrong(name, "0 or more")
        return value

    def number(self, name: str) -> float | None:
        """A finite number."""
        value = self._content.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.wrong(name, "a number")
        if not abs(value) <= _LARGEST or not math.isfinite(value):
            raise self.wrong(name, "a finite number")
        return float(value)

    def flag(self, name: str) -> bool | None:
        """True or false."""
        return self._of(bool, name, "true or false")

    def part(self, name: str) -> "Fields | None":
        """An object inside."""
        value = self._of(dict, name, "an object")
        return None if value is None else Fields(value, f"{self._where}: {name}")

    def parts(self, name: str) -> "list[Fields]":
        """The objects of a list inside; an absent list is empty."""
        value = self._list(dict, name, "a list of objects")
        return [Fields(one, f"{self._where}: {name}[{number}]") for number, one in enumerate(value)]

    def texts(self, name: str) -> list[str]:
        """The texts of a list inside; an absent list is empty."""
        return [_plain(one) for one in self._list(str, name, "a list of texts")]

    def values(self, name: str) -> list[Any]:
        """A list inside, of whatever; an absent one is empty."""
        return self._of(list, name, "a list") or []

    def lists(self, name: str) -> list[list[Any]]:
        """The lists of a list inside; an absent one is empty."""
        return self._list(list, name, "a list of lists")

    def endpoint(self, name: str) -> "tuple[str, int] | None":
        """Address and port: `10.0.0.1:5810`, `[fd00::1]:5810`, or `["10.0.0.1", 5810]`."""
        value = self._content.get(name)
        if value is None:
            return None
        if isinstance(value, str):
            address, _, port = value.rpartition(":")
        elif isinstance(value, list) and len(value) >= 2:
            address, port = str(value[0]), str(value[1])
        else:
            raise self.wrong(name, "an address and a port")
        found = endpoint(address, port)
        if found is None:
            raise self.wrong(name, "an address and a port")
        return found

    def capture(self, *names: str) -> dict[str, Any]:
        """Of the part `capture`: its file, and these counts and instants, as fields of a dataclass."""
        part = self.part("capture")
        if part is None:
            return dict.fromkeys(("capture_file", *(f"capture_{name}" for name in names)))
        numbers = {name: part.integer(name) if name.endswith("_ns") else part.count(name) for name in names}
        return {"capture_file": part.text("file"), **{f"capture_{name}": one for name, one in numbers.items()}}

    def read(self, record: type[Record], **given: object) -> Record:
        """A dataclass: its fields as given, else as they stand here under their names, read as their types say.

        What is absent is None where that may be. A count is then 0, a flag false, a list empty, and a text "unknown";
        what is no more than a whole number must be there.
        """
        found = {name: read(self, name) for name, read in _readers(cast(Any, record)) if name not in given}
        return record(**found, **given)

    def _list(self, kind: type[T], name: str, wanted: str) -> list[T]:
        """The values of a list, all of this kind; an absent list is empty."""
        value = self._of(list, name, wanted) or []
        if not all(isinstance(one, kind) for one in value):
            raise self.wrong(name, wanted)
        return value

    def wrong(self, name: str, wanted: str) -> FieldError:
        """The error that says that a field is not what it should be."""
        return FieldError(f"{self._where}: {name} is not {wanted}")


def _plain(text: str) -> str:
    """Without surrogates."""
    return text.encode("utf-8", "replace").decode("utf-8")


@lru_cache(maxsize=1 << 16)  # a run names the same ends with every object, and addresses take long to read
def endpoint(address: str, port: str) -> tuple[str, int] | None:
    """Address (in its one canonical spelling) and port; None for what is none."""
    try:
        # A zone (`fe80::1%eth0`) is the host's own name of a link, and is in no packet.
        found = ipaddress.ip_address(address.strip("[]").partition("%")[0])
        number = int(port) if port.isascii() and port.isdigit() and len(port) <= 5 else -1
    except ValueError:
        return None
    if not 0 <= number <= 65_535:
        return None
    # An IPv4 peer of an IPv6 socket: on the wire it is IPv4.
    mapped = getattr(found, "ipv4_mapped", None)
    return str(mapped or found), number


_Read = Callable[[Fields, str], Any]


@cache
def _readers(record: type) -> tuple[tuple[str, _Read], ...]:
    hints = get_type_hints(record, include_extras=True)
    return tuple((name, reader) for name, hint in hints.items() if (reader := _reader(hint)) is not None)


def _reader(hint: Any) -> _Read | None:
    """How a field of this type is read; None of one that is always given, or has its default."""
    if get_origin(hint) in (Union, UnionType):
        kinds = [one for one in get_args(hint) if one is not NoneType]
        return _optional(kinds[0]) if len(kinds) == 1 else None
    if get_origin(hint) is tuple and get_args(hint)[1:] == (...,):
        (item, _) = get_args(hint)
        if is_dataclass(item):
            return lambda fields, name: tuple(one.read(cast(type, item)) for one in fields.parts(name))
        return (lambda fields, name: tuple(fields.texts(name))) if item is str else None
    read = None if is_dataclass(hint) else _optional(hint)
    return None if read is None else lambda fields, name: _there(read(fields, name), hint, fields, name)


def _optional(kind: Any) -> _Read | None:
    if is_dataclass(kind):
        return lambda fields, name: None if (part := fields.part(name)) is None else part.read(cast(type, kind))
    return _READ.get(kind) or (_READ.get(kind.__origin__) if get_origin(kind) is Annotated else None)


_READ: dict[Any, _Read] = {
    Count: Fields.count, int: Fields.integer, Positive: Fields.amount, Share: Fields.amount, float: Fields.number,
    str: Fields.text, bool: Fields.flag, Endpoint: Fields.endpoint, Whole: lambda at, name: at.count(name, _LARGEST),
}  # fmt: skip
_ABSENT = {Count: 0, Positive: 0.0, bool: False, str: "unknown"}


def _there(value: Any, hint: Any, fields: Fields, name: str) -> Any:
    if value is None and hint not in _ABSENT:
        raise fields.wrong(name, "a whole number" if hint in {int, Whole} else "there")
    return _ABSENT[hint] if value is None else value
