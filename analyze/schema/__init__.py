"""The JSON Schemas of what vmtrace writes (draft 2020-12), one file for each version of each document."""

import json
from importlib.resources import files
from typing import Any


def load(name: str = "vmtrace.analysis.1") -> dict[str, Any]:
    """The schema of a document; `FileNotFoundError` if there is no such schema."""
    text = (files(__package__) / f"{name}.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema
