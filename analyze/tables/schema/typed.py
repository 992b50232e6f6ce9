"""JSON Schemas of typed records: a `TypedDict` or the dataclass that is written for each object of a document, a note
for each key that needs words.

`Annotated[Count | None, "Transfers with a value."]` is an integer from 0 or null, with that description; the docstring
below a key says it, too. A dataclass names in `DERIVED` the properties that are written with its fields.
"""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from enum import Enum
from functools import cache
from itertools import pairwise
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

from vmtrace.analyze.read.records import fields

Count = fields.Count
Positive = fields.Positive
Share = fields.Share
bounds = fields.bounds
Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class OneOf:
    """The texts that a value may be."""

    texts: tuple[str, ...]


def one_of(*texts: str) -> OneOf:
    """`one_of("due", "sent")`."""
    return OneOf(texts)


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of a `dict`, and whether each is always there."""

    names: tuple[str, ...]
    always: bool


def keys(*names: str, always: bool = True) -> Keys:
    """`Annotated[dict[str, Count], keys("sender", "receiver")]`."""
    return Keys(names, always)


FLAT = object()
"""A part whose keys stand in the record itself: `Annotated[Quantiles, FLAT]`."""

LEFT_OUT = object()
"""A field that is not written: `Annotated[Verdict, LEFT_OUT]`."""

_PLAIN: dict[object, Schema] = {
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    bool: {"type": "boolean"},
    NoneType: {"type": "null"},
    dict: {"type": "object"},
    Any: {},
}


def schema_of(document: type, name: str) -> Schema:
    """Of the record that is the whole document; `name` is that of its format: `vmtrace.cost/1`."""
    definitions: dict[str, Schema] = {}
    root = _object(document, definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:vmtrace:schema:" + name.replace("/", ":"),
        "title": name,
        **_description(document.__doc__),
        **root,
        "$defs": definitions,
    }


def _object(record: type, definitions: dict[str, Schema]) -> Schema:
    properties = dict(_keys(record, definitions))
    optional = getattr(record, "__optional_keys__", frozenset[str]())
    return {
        "type": "object",
        "required": [key for key in properties if key not in optional],
        "properties": properties,
    }


def _keys(record: type, definitions: dict[str, Schema]) -> Iterator[tuple[str, Schema]]:
    shown = _docstrings(record)
    for name, key, hint in _written(record):
        if key is None:
            yield from _keys(hint.__origin__, definitions)
        else:
            yield key, shown.get(name, {}) | _value(hint, definitions)


@cache
def _written(record: type) -> tuple[tuple[str, str | None, Any], ...]:
    """What is written of a record: its name, its key (None: its own keys), its type.

    What is a word of Python has an underscore behind it in a dataclass: `from_` is the key `from`.
    """
    found: list[tuple[str, str | None, Any]] = []
    for name, hint in get_type_hints(record, include_extras=True).items():
        notes = hint.__metadata__ if get_origin(hint) is Annotated else ()
        if LEFT_OUT not in notes:
            found.append((name, None if FLAT in notes else name.removesuffix("_"), hint))
    for name in getattr(record, "DERIVED", ()):
        derived = getattr(record, name).fget
        hint = get_type_hints(derived, include_extras=True)["return"]
        found.append((name, name, Annotated[hint, " ".join(derived.__doc__.split())]))
    return tuple(found)


def _docstrings(record: type) -> dict[str, Schema]:
    """What stands below the fields of a class."""
    try:
        (body,) = ast.parse(textwrap.dedent(inspect.getsource(record))).body
    except (OSError, TypeError):
        return {}  # made without a file
    pairs = pairwise(body.body) if isinstance(body, ast.ClassDef) else ()
    return {
        ast.unparse(field.target): _description(str(below.value.value))
        for field, below in pairs
        if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
    }


def _description(text: str | None) -> Schema:
    """JSON knows no None."""
    words = re.sub(r"\bNone\b", "null", re.sub(r"^None\b", "Null", " ".join((text or "").split())))
    return {"description": words} if words else {}


def as_record(row: Any) -> dict[str, Any]:
    """A row as its schema has it."""
    record: dict[str, Any] = {}
    for name, key, _ in _written(row.__class__):
        value = _plain(getattr(row, name))
        record |= value if key is None else {key: value}
    return record


def record_of(record: type, *sources: object, **given: object) -> dict[str, Any]:
    """A part of a document that is declared as a `TypedDict`: its keys as they are given, else as a source has them."""
    found: dict[str, Any] = {}
    for name, key, _ in _written(record):
        has = (getattr(one, name) for one in sources if hasattr(one, name))
        value = _plain(given[name] if name in given else next(has))
        found |= value if key is None else {key: value}
    return found


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return as_record(value)
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value.value if isinstance(value, Enum) else value


def _value(hint: Any, definitions: dict[str, Schema]) -> Schema:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _annotated(hint, definitions)
    if origin in (Union, UnionType):
        return _union([_value(one, definitions) for one in arguments])
    if origin is Literal:
        return {"enum": list(arguments)} if len(arguments) > 1 else {"const": arguments[0]}
    if origin in (list, tuple):
        return {"type": "array", "items": _value(arguments[0], definitions)}
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": _value(arguments[1], definitions)}
    if is_typeddict(hint) or is_dataclass(hint):
        name = re.sub(r"(?<!^)(?=[A-Z])", "_", re.sub(r"(Row|Record)$", "", hint.__name__)).lower()
        if name not in definitions:
            definitions[name] = {}  # it may be within itself
            definitions[name] = _object(hint, definitions)
            definitions[name] |= _description(hint.__doc__)
        return {"$ref": f"#/$defs/{name}"}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"enum": [one.value for one in hint], **_description(hint.__doc__)}
    if origin is NotRequired:
        return _value(arguments[0], definitions)
    return dict(_PLAIN[hint])


def _annotated(hint: Any, definitions: dict[str, Schema]) -> Schema:
    value = _value(hint.__origin__, definitions)
    for note in hint.__metadata__:
        if isinstance(note, OneOf):
            value = {"enum": list(note.texts)}
        elif isinstance(note, Keys):
            properties = dict.fromkeys(note.names, value["additionalProperties"])
            value = {"type": "object", "required": list(note.names) if note.always else [], "properties": properties}
        else:
            value |= _description(note) if isinstance(note, str) else dict(note.words)
    return value


def _union(parts: list[Schema]) -> Schema:
    """A value of one kind or null is said shortly, as people read it."""
    some = [part for part in parts if part != {"type": "null"}]
    if len(some) != 1 or len(some) == len(parts):
        return {"anyOf": parts}
    (one,) = some
    if "enum" in one or "const" in one:
        return {"enum": [*one.get("enum", [one.get("const")]), None]}
    return {**one, "type": [one["type"], "null"]} if isinstance(one.get("type"), str) else {"anyOf": parts}
