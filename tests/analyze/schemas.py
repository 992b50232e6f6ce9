"""What a JSON Schema lists."""

from collections.abc import Iterator
from typing import Any


def properties(node: Any) -> Iterator[tuple[str, set[str]]]:
    """Each field of the schema, and what the object that lists it requires."""
    if isinstance(node, dict):
        if "properties" in node:
            yield from ((name, set(node["required"])) for name in node["properties"])
        for value in node.values():
            yield from properties(value)
    elif isinstance(node, list):
        for value in node:
            yield from properties(value)
