"""The JSON Schema of `vmtrace.analysis/1`, made of the list of its fields."""

from copy import deepcopy
from typing import Any

from vmtrace.analyze.tables.fields import Field, Section, sections

Schema = dict[str, Any]

_ABOUT = (
    "What `vmtrace analyze --json` writes. Names end in their unit: _s seconds, _ns nanoseconds, _bytes, _bps bits per"
    " second; instants are Unix nanoseconds, shares are 0 to 1. A number that could not be measured is null, never 0."
    " Keys that are not required are left out where they would say nothing. Within version 1 keys are only added."
)
_KINDS: dict[str, Schema] = {
    "integer": {"type": "integer"},
    "instant": {"type": "integer"},
    "number": {"type": "number"},
    "text": {"type": "string"},
    "flag": {"type": "boolean"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "integers": {"type": "array", "items": {"type": "integer", "minimum": 0}},
    "instants": {"type": "array", "items": {"type": "integer"}},
    "counts": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}},
    "reasons": {"type": "object", "additionalProperties": {"type": "string"}},
    "object": {"type": "object"},
    "records": {"type": "array", "items": {"type": "object"}},
}


def analysis_schema(of: tuple[Section, ...] | None = None) -> Schema:
    """The schema; a section of the document is a definition."""
    objects = [section for section in of or sections() if section.places]
    references = {place: section.name for section in objects for place in section.places if place}
    made = {section.name: _object(section, references) for section in objects}
    document = made.pop("document")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:vmtrace:schema:vmtrace.analysis:1",
        "title": "vmtrace.analysis/1",
        "description": _ABOUT,
        **document,
        "$defs": made,
    }


def _object(section: Section, references: dict[str, str]) -> Schema:
    root: Schema = {"type": "object"}
    for field in section.fields:
        for value in field.values if "*" in field.path else ("",):
            _add(root, section.places[0], field, field.path.replace("*", value), references)
    return root


def _add(root: Schema, place: str, field: Field, path: str, references: dict[str, str]) -> None:
    *parents, name = path.split(".")
    node = root
    for parent in parents:
        node = node["properties"][parent.removesuffix("[]")]
        node = node["items"] if parent.endswith("[]") else node
    node.setdefault("properties", {})[name] = _value(field, f"{place}.{path}".lstrip("."), references)
    if field.there == "always":
        node.setdefault("required", []).append(name)


def _value(field: Field, place: str, references: dict[str, str]) -> Schema:
    """What the field at that place may be."""
    value = deepcopy(_KINDS[field.kind])
    if field.kind in ("integer", "number") and not field.signed:
        value["minimum"] = int(field.kind == "integer" and field.there == "if_set")
    if field.unit == "0..1":
        value["maximum"] = 1
    if field.values and "*" not in field.path:
        words = {"enum": list(field.values)}
        value = {**value, "items": words} if field.kind == "texts" else words
    if field.kind == "flag" and field.there == "if_set":
        value = {"const": True}
    if place in references:
        value = {"$ref": f"#/$defs/{references[place]}"}
    elif f"{place}[]" in references:
        value["items"] = {"$ref": f"#/$defs/{references[f'{place}[]']}"}
    if field.null:
        value = _or_null(value)
    return {**value, "description": field.plain}


def _or_null(value: Schema) -> Schema:
    if "enum" in value:
        return {"enum": [*value["enum"], None]}
    if "type" in value:
        return {**value, "type": [value["type"], "null"]}
    return {"anyOf": [value, {"type": "null"}]}
