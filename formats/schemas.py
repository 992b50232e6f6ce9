"""Names of the documents that one room writes and another reads. The number rises when old readers would go wrong.

Readers refuse another name, and another number, in one line. Documents that `analyze` writes declare their own.
"""

from __future__ import annotations

RUN = "vmtrace.run/1"
"""`run.json` of connection pairs; of the other campaigns:"""
STORAGE_RUN = "vmtrace.storage_run/1"
QUEUE_RUN = "vmtrace.queue_run/1"
SWARM_RUN = "vmtrace.swarm_run/1"
DISCOVERY_RUN = "vmtrace.discovery_run/1"
COST = "vmtrace.cost/1"


def trouble(found: object, wanted: str, command: str) -> str | None:
    """Why a document is not of this name, in words; None if it is."""
    if found == wanted:
        return None
    if isinstance(found, str) and found.rpartition("/")[0] == wanted.rpartition("/")[0]:
        return f"it is {found}, and this vmtrace reads {wanted}"
    return f"not a run of {command} ({'it has no schema' if found is None else found})"
