"""The JSON Schemas of what vmtrace writes (draft 2020-12), one for each version of each document."""

import json
from importlib.resources import files
from typing import Any

ANALYSIS = "vmtrace.analysis.1"
"""The one that is made of the list of fields."""


def load(name: str = ANALYSIS) -> dict[str, Any]:
    """The schema of a document; `FileNotFoundError` if there is no such schema."""
    if name == ANALYSIS:
        from vmtrace.analyze.schema.analysis import analysis_schema

        return analysis_schema()
    text = (files(__package__) / f"{name}.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema
