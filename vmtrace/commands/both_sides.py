"""Run folders given to `vmtrace analyze`: their captures of both sides, matched with each other."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from vmtrace.errors import complain, describe

if TYPE_CHECKING:
    from rich.console import Console

    from vmtrace.analyze.reports.run.results import RunResults


def runs_of(names: Iterable[str]) -> "list[RunResults]":
    """The runs among these names in which both sides captured a transfer. What is no run is left to be captures."""
    folders = [path for name in dict.fromkeys(names) if (path := Path(name)).joinpath("run.json").is_file()]
    if not folders:
        return []
    from vmtrace.analyze.read.records.run_folder import RunFolderError, read_run
    from vmtrace.analyze.reports.run.results import RunResults
    from vmtrace.analyze.reports.run.transfers.transfers import Measuring
    from vmtrace.analyze.reports.run.two_sides.table import two_sides_rows

    found = []
    for folder in folders:
        try:
            run = read_run(folder)
        except (RunFolderError, OSError, ValueError) as error:
            complain(f"{describe(error)}: its captures are read as ordinary files")
            continue
        measuring = Measuring(run)
        if not measuring.of_both_sides:
            continue
        results = RunResults(run, tuple(measuring.run()), run.problems)
        if two_sides_rows(results):
            found.append(results)
    return found


def show(runs: "list[RunResults]", console: "Console") -> None:
    """Print what the captures of both sides say together."""
    if not runs:
        return  # a small capture does not wait for libraries of data
    from rich.text import Text

    from vmtrace.analyze.reports.run.human import two_sides_lines, wrapped
    from vmtrace.analyze.words.units import printable

    for run in runs:
        console.print()
        console.print(Text(f"{printable(run.name)}, both sides' captures together", "bold"), soft_wrap=True)
        for line in two_sides_lines(run):
            console.print(Text("\n".join(wrapped(line, console.width))), soft_wrap=True)
