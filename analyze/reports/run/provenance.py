"""Where the results of a report come from: version, command line, and the state of each run's files."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from vmtrace.analyze.read.records.run_folder import inside
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.tables.provenance import command_line
from vmtrace.analyze.trace import version

SCHEMA = "vmtrace.run_report/1"
Fact = str | int | None
Provenance = dict[str, str | list[dict[str, Fact]]]

_FILES = ("run.json", "pairs.jsonl", "ping.jsonl")


def of_runs(runs: Sequence[RunResults]) -> Provenance:
    """Facts about what was read."""
    return {
        "schema": SCHEMA,
        "vmtrace": version(),
        "command": command_line(),
        "runs": [_run(run) for run in runs],
    }


def _run(results: RunResults) -> dict[str, Fact]:
    run = results.run
    facts: dict[str, Fact] = {
        "path": str(run.folder),
        "name": run.name,
        "id": run.record.id,
        "status": run.record.status,
        "pairs": len(run.pairs),
        "captures": sum(len(one.files) for one in results.transfers),
    }
    return facts | {f"{name} sha256": _sha256(inside(run.folder, name)) for name in _FILES}


def _sha256(path: Path | None) -> str | None:
    if path is None:
        return None
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        # A file that a run need not have; or it is gone since it was read, and the result stands.
        return None
