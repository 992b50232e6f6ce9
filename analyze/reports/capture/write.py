"""The report of captures: verdict and lanes of some connections, a table of all, in one file."""

import json
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vmtrace.analyze.findings.lines import answer_lines
from vmtrace.analyze.pages.write import Template, in_script, scripts, write_page
from vmtrace.analyze.reports.capture import connection, judgement, overview
from vmtrace.analyze.tables.human_table import COLUMNS, input_lines, unmeasured
from vmtrace.analyze.tables.provenance import Provenance
from vmtrace.analyze.tables.table import Cell, Column, shown
from vmtrace.analyze.words import beyond_tcp
from vmtrace.analyze.words.units import ABSENT, printable, si
from vmtrace.formats.quantities import plural

if TYPE_CHECKING:
    from vmtrace.analyze.charts.packet_series import ConnectionSeries, SeriesOf
    from vmtrace.analyze.trace import Trace

_ROW_LIMIT = 2000
_INPUTS_SHOWN = 3
_DAMAGE_SHOWN = 100


def write_report(
    trace: "Trace", series: "SeriesOf | Sequence[ConnectionSeries]", provenance: Provenance, path: Path
) -> None:
    """Write the report of `trace` with the lanes of the connections in `series`."""
    inputs = _file_names(trace.paths)

    def plot(one: "ConnectionSeries") -> dict[str, Any]:
        capture = trace.file_of(one.record["input"])
        return connection.of_connection(one, connections=len(series), capture=capture, inputs=inputs)

    plots = list(map(plot, series))
    found = [trace.named_row(index) for index in trace.largest(_ROW_LIMIT)]
    columns, rows = _table(found, inputs if len(trace.paths) > 1 else ())
    timeline = overview.timeline(found, trace.header())
    data = {
        "fields": columns,
        "rows": rows,
        "timeline": timeline,
        "command": _command(trace),
        "factors": judgement.looks(),
        "plots": plots,
    }
    values = {
        "title": _title(trace),
        "causes": overview.causes(trace),
        "has_timeline": timeline is not None,
        "connections": len(found),
        "answer": overview.answer(trace),
        "beyond": list(beyond_tcp.lines(trace.header())),
        "inputs": [_input(header) for header in trace.header().get("inputs", ())],
        "inputs_shown": _INPUTS_SHOWN,
        "verdicts": [f"{one['title']}: {_said(one['verdict'])}" for one in plots],
        "findings": answer_lines(trace.findings, trace.header(), len(trace)),
        "notes": _notes(trace),
        "provenance": json.dumps(provenance, indent=2),
        "data": in_script(data),
        "scripts": scripts("vmtrace.analyze.pages", "common.js", "marks.js", "canvas.js", "tables.js", "save.js")
        + scripts("vmtrace.analyze.reports.capture", "lanes.js", "packets.js", "verdict.js", "overview.js", "page.js"),
    }
    write_page(Template("vmtrace.analyze.reports.capture", "page.html"), values, path)


def _said(verdict: dict[str, Any]) -> str:
    outcome = verdict["outcome"]
    return f"{outcome['sentence']} {verdict['sentence']}" if outcome else str(verdict["sentence"])


def _file_names(paths: Sequence[str]) -> tuple[str, ...]:
    """By which files are told apart: their names, with their folders where several have the same.

    Where that does not help, as in an anonymous report, which has no folders, with numbers.
    """
    names = [Path(path).name for path in paths]
    longer = [path if names.count(name) > 1 else name for path, name in zip(paths, names, strict=True)]
    return tuple(
        printable(f"{name} ({number})" if longer.count(name) > 1 else name) for number, name in enumerate(longer, 1)
    )


def _title(trace: "Trace") -> str:
    names = [printable(Path(path).name) for path in trace.paths]
    return names[0] if len(names) == 1 else f"{names[0]} and {plural(len(names) - 1, 'more file')}"


def _table(found: Sequence[dict[str, Any]], files: Sequence[str]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The columns that say anything of any connection, and the rows."""
    columns: tuple[Column[dict[str, Any]], ...] = (
        *COLUMNS,
        Column("server address", lambda row: printable(row["server"]) if row.get("server_name") else "", left=True),
        Column("file", lambda row: files[row["input"]] if files else "", left=True),
    )
    rows = shown(columns, found).rows
    reported = [place for place in range(len(columns)) if any(row.texts[place] not in ("", ABSENT) for row in rows)]
    return [{"title": columns[place].title or "data", "left": columns[place].left} for place in reported], [
        {
            "id": record["id"],
            "cells": [row.texts[place] for place in reported],
            "keys": [cell.key if isinstance(cell := row.cells[place], Cell) else None for place in reported],
            "ends": f"{printable(record['client'])} - {printable(record['server'])}",
        }
        for record, row in zip(found, rows, strict=True)
    ]


def _command(trace: "Trace") -> str:
    """What draws a connection that is not in the page; its number comes behind it."""
    names = [shlex.quote(printable(path)) for path in trace.paths]
    files = " ".join(names) if len(names) <= _INPUTS_SHOWN else f"{names[0]} ... {names[-1]}"
    return f"vmtrace analyze {files} --report report.html --connection"


def _input(header: dict[str, Any]) -> dict[str, Any]:
    first, *more = [line.strip() for line, _ in input_lines(header)]
    damage = header["damage"]
    rest = len(damage) - _DAMAGE_SHOWN
    return {
        "line": first,
        "more": more,
        "damage": list(map(_place, damage[:_DAMAGE_SHOWN])),
        "more_damage": plural(rest, "more place") if rest > 0 else "",
    }


def _place(damage: dict[str, Any]) -> tuple[str, str, str]:
    return f"{damage['offset']:,}", si(damage["skipped_bytes"], "B"), printable(damage["what"])


def _notes(trace: "Trace") -> list[str]:
    lines: Iterable[str] = unmeasured(trace)
    notes = [*lines]
    if trace.interrupted:
        notes.insert(0, "The reading was interrupted: the numbers cover the part that was read.")
    if len(trace) > _ROW_LIMIT:
        notes.append(f"The table shows the {_ROW_LIMIT:,} largest of {len(trace):,} connections.")
    return notes
