"""The JSON Schemas of what vmtrace writes (draft 2020-12), one for each version of each document.

That of an analysis is made of the list of fields (`analysis`), the others of typed records (`typed`): of those of
`documents`, or of those that a report itself is made of.
"""

import importlib
from typing import Any

ANALYSIS = "vmtrace.analysis.1"
NAMES = (
    ANALYSIS,
    *(
        f"vmtrace.{name}.1"
        for name in (
            "comparison", "cost", "discovery_report", "queue_report", "run_report", "runs_comparison", "storage_report",
            "swarm_report",
        )
    ),
)  # fmt: skip
"""The schemas that there are."""
_BESIDE_THE_WRITER = {
    "discovery_report": "vmtrace.analyze.reports.discovery.document",
    "comparison": "vmtrace.analyze.compare.document",
    "queue_report": "vmtrace.analyze.reports.queues.document",
    "run_report": "vmtrace.analyze.reports.run.document",
    "runs_comparison": "vmtrace.analyze.reports.run.changes.document",
    "storage_report": "vmtrace.analyze.reports.storage.document",
    "swarm_report": "vmtrace.analyze.reports.swarm.document",
}
"""Documents whose records are those that are measured: declared where they are written."""


def load(name: str = ANALYSIS) -> dict[str, Any]:
    """The schema of a document; `FileNotFoundError` if there is no such schema."""
    if name not in NAMES:
        raise FileNotFoundError(f"no schema {name}; there are {', '.join(NAMES)}")
    if name == ANALYSIS:
        from vmtrace.analyze.tables.schema.analysis import analysis_schema

        return analysis_schema()
    from vmtrace.analyze.tables.schema.typed import schema_of

    document = name.split(".")[1]
    place = _BESIDE_THE_WRITER.get(document, f"vmtrace.analyze.tables.schema.documents.{document}")
    module = importlib.import_module(place)
    return schema_of(module.Document, module.SCHEMA)
