"""docs/json.md describes the JSON contract: every field of the schema, and none that is not in it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "analyze/schema/vmtrace.analysis.1.schema.json"


def properties(node: Any) -> Iterator[str]:
    """Names of all fields, however deep."""
    if isinstance(node, dict):
        yield from node.get("properties", {})
        for value in node.values():
            yield from properties(value)
    elif isinstance(node, list):
        for value in node:
            yield from properties(value)


def enumerated(node: Any) -> Iterator[str]:
    """All values of enumerations."""
    if isinstance(node, dict):
        yield from (value for value in node.get("enum", ()) if isinstance(value, str))
        for value in node.values():
            yield from enumerated(value)
    elif isinstance(node, list):
        for value in node:
            yield from enumerated(value)


def words() -> set[str]:
    """Every name that stands in the page as code, the parts of a path and of a record each by itself."""
    code = re.findall(r"`([^`\n]+)`", (ROOT / "docs/json.md").read_text())
    return {word for text in code for word in re.findall(r"[a-z0-9_]+", text)}


def test_every_field_and_value_of_the_schema_is_described() -> None:
    schema = json.loads(SCHEMA.read_text())
    assert (set(properties(schema)) | set(enumerated(schema))) - words() == set()


def test_every_field_described_is_in_the_schema() -> None:
    schema = json.loads(SCHEMA.read_text())
    rows = re.findall(r"^\| ((?:`[a-z0-9_.]+`(?:, )?)+) \|", (ROOT / "docs/json.md").read_text(), re.MULTILINE)
    described = {part for row in rows for name in re.findall(r"`([^`]+)`", row) for part in name.split(".")}
    assert len(described) > 100
    assert described - set(properties(schema)) == set()
