"""Reports of captures made in tests, also of captures whose every text is an attack."""

from pathlib import Path
from typing import Any

import pytest

from vmtrace.analyze.charts.packet_series import of_connections
from vmtrace.analyze.reports.capture.write import write_report
from vmtrace.analyze.tables import provenance
from vmtrace.analyze.trace import Trace, read

HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror='window.hacked=1'>"


def report_of(trace: Trace, path: Path, connections: list[int]) -> str:
    """Write the report with the lanes of these connections; returns the page's source."""
    write_report(trace, of_connections(trace, connections), provenance.of(trace, anonymous=False), path)
    return path.read_text(encoding="utf-8")


def hostile_trace(capture: Any, path: Path, monkeypatch: pytest.MonkeyPatch) -> Trace:
    """A trace whose every text is an attack (a file name cannot hold all of it, a server name can)."""
    trace = read(capture.write(path))
    row, records, header = trace.row, trace.records, trace.header

    def evil_row(index: int) -> dict[str, Any]:
        return row(index) | {"server_name": HOSTILE, "client": HOSTILE, "tls_version": HOSTILE}

    def evil_record(record: dict[str, Any]) -> dict[str, Any]:
        tls = {"version": HOSTILE, "cipher": HOSTILE, "sni": HOSTILE}
        evidence = [{"text": HOSTILE, "frames": [1], "times_ns": [5], "display_filter": HOSTILE}]
        what_if = [{"change": HOSTILE, "goodput_bps": 1.0}]
        said = {"sentence": HOSTILE, "evidence": evidence, "what_if": what_if}
        return record | {"client": HOSTILE, "tls": tls, "verdict": record["verdict"] | said}

    def evil_header() -> dict[str, Any]:
        damage = [{"offset": 1, "skipped_bytes": 1, "what": HOSTILE}]
        (first,) = header()["inputs"]
        return header() | {"inputs": [first | {"path": HOSTILE, "link_types": [HOSTILE], "damage": damage}]}

    monkeypatch.setattr(trace, "row", evil_row)
    monkeypatch.setattr(trace, "records", lambda wanted: [evil_record(record) for record in records(wanted)])
    monkeypatch.setattr(trace, "header", evil_header)
    monkeypatch.setattr(type(trace), "paths", [HOSTILE])
    return trace
