"""Typed records to JSON objects and back. What comes from the other side is checked here, and nowhere trusted before.

A record is a frozen dataclass of numbers, texts, truth values, optional ones, tuples of them and further records. Keys
that are not known are ignored, so that a newer peer can say more.
"""

from __future__ import annotations

import dataclasses
import math
import typing
from typing import Any, TypeVar, Union

_Record = TypeVar("_Record")
_LONGEST_TEXT = 1024
_LONGEST_LIST = 4096
_LARGEST_INTEGER = 2**63 - 1
_LARGEST_NUMBER = 1e300


class FieldError(ValueError):
    """A record from the other side is not what it must be; the message names the field."""


def to_json(record: Any) -> dict[str, Any]:
    """The record as a JSON object."""
    return dataclasses.asdict(record)


def from_json(kind: type[_Record], value: object, place: str = "") -> _Record:
    """A record of this kind out of a JSON object; raises `FieldError`."""
    if not isinstance(value, dict):
        raise FieldError(f"{place or kind.__name__}: expected an object")
    types = typing.get_type_hints(kind)
    content = {}
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]
        where = f"{place}.{field.name}" if place else field.name
        if field.name in value:
            content[field.name] = _checked(types[field.name], value[field.name], where)
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise FieldError(f"{where}: missing")
    return kind(**content)


def _checked(kind: Any, value: object, place: str) -> Any:
    arguments = typing.get_args(kind)
    if typing.get_origin(kind) is Union:  # Optional
        return None if value is None else _checked(arguments[0], value, place)
    if typing.get_origin(kind) is tuple:
        return _tuple(arguments[0], value, place)
    if dataclasses.is_dataclass(kind):
        return from_json(typing.cast("type[Any]", kind), value, place)
    return _CHECKS[kind](value, place)


def _tuple(kind: Any, value: object, place: str) -> tuple[Any, ...]:
    if not isinstance(value, list) or len(value) > _LONGEST_LIST:
        raise FieldError(f"{place}: expected a list of at most {_LONGEST_LIST}")
    return tuple(_checked(kind, item, f"{place}[{position}]") for position, item in enumerate(value))


def _text(value: object, place: str) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST_TEXT or not value.isprintable():
        raise FieldError(f"{place}: expected printable text of at most {_LONGEST_TEXT} characters")
    return value


def _integer(value: object, place: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > _LARGEST_INTEGER:
        raise FieldError(f"{place}: expected a whole number")
    return value


def _number(value: object, place: str) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or abs(value) > _LARGEST_NUMBER:
        raise FieldError(f"{place}: expected a number")
    if not math.isfinite(value):  # of NaN every comparison is false
        raise FieldError(f"{place}: expected a number")
    return float(value)


def _truth(value: object, place: str) -> bool:
    if not isinstance(value, bool):
        raise FieldError(f"{place}: expected true or false")
    return value


_CHECKS = {str: _text, int: _integer, float: _number, bool: _truth}
