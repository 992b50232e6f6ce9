"""The files that `vmtrace cost` writes: JSON, the page, figures for print."""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from vmtrace.commands.outputs import Task, wanted, write_record

if TYPE_CHECKING:
    from vmtrace.providers.costs.differences import Difference
    from vmtrace.providers.costs.estimate import Estimate
    from vmtrace.providers.costs.simulate import Replay


@dataclass(frozen=True, slots=True)
class Made:
    """What is written."""

    estimate: "Estimate"
    replay: "Replay | None"
    invoiced: "dict[str, list[Difference]] | None"
    """None: no invoice was given."""


def outputs(arguments: argparse.Namespace, made: Made) -> Iterator[Task]:
    """A task for each file that was asked for."""
    yield from wanted(arguments.json, partial(_write_json, made))
    yield from wanted(arguments.figures, partial(_write_figures, made))
    yield from wanted(arguments.html, partial(_write_html, made))


def _write_json(made: Made, place: str) -> None:
    from vmtrace.analyze.trace import version
    from vmtrace.providers.costs.document import document

    write_record(document(made.estimate, version(), made.replay, made.invoiced), place)


def _write_figures(made: Made, folder: Path) -> None:
    from vmtrace.analyze.charts.on_paper import write_charts
    from vmtrace.commands.cost_charts import charts

    write_charts(charts(made.estimate), folder)


def _write_html(made: Made, path: Path) -> None:
    from vmtrace.analyze.tables.provenance import command_line
    from vmtrace.analyze.trace import version
    from vmtrace.commands.cost_page import write_page
    from vmtrace.providers.costs.document import provenance

    write_page(made.estimate, made.invoiced or {}, provenance(made.estimate, version(), command_line()), path)
