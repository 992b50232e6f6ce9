"""The JSON Schemas of what vmtrace writes (draft 2020-12), one for each version of each document.

That of an analysis is made of the list of fields (`analysis`), the others of typed records (`typed`): those of which a
report itself is made; `cost` is written by a room that knows no schemas.
"""

import importlib
from typing import Any

_DOCUMENTS = {
    "analysis": "tables.schema.analysis",
    "comparison": "compare.document",
    "cost": "tables.schema.cost",
    "discovery_report": "reports.discovery.document",
    "queue_report": "reports.queues.document",
    "run_report": "reports.run.document",
    "runs_comparison": "reports.run.changes.document",
    "storage_report": "reports.storage.document",
    "swarm_report": "reports.swarm.document",
}
"""Where the records of each are declared."""
ANALYSIS, *_ = NAMES = tuple(f"vmtrace.{name}.1" for name in _DOCUMENTS)
"""The schemas that there are."""


def load(name: str = ANALYSIS) -> dict[str, Any]:
    """The schema of a document; `FileNotFoundError` if there is no such schema."""
    if name not in NAMES:
        raise FileNotFoundError(f"no schema {name}; there are {', '.join(NAMES)}")
    module = importlib.import_module(f"vmtrace.analyze.{_DOCUMENTS[name.split('.')[1]]}")
    if name == ANALYSIS:
        schema: dict[str, Any] = module.analysis_schema()
        return schema
    from vmtrace.analyze.tables.schema.typed import schema_of

    return schema_of(module.Document, module.SCHEMA)
