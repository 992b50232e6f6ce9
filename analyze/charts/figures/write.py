"""Puts the figures of connections into files."""

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

import matplotlib as mpl

from vmtrace.analyze.charts.figures.axes import STYLE
from vmtrace.analyze.charts.figures.kinds import KINDS, draw
from vmtrace.analyze.charts.packet_series import ConnectionSeries
from vmtrace.analyze.read.atomic import make_folder, writing

FORMATS = ("png", "svg")


def write_figures(
    connections: Iterable[ConnectionSeries], folder: Path, formats: Sequence[str] = FORMATS
) -> list[Path]:
    """Write `connection-ID-KIND.FORMAT` for each connection, kind and format; return the paths."""
    make_folder(folder)
    return list(chain.from_iterable(map(partial(_write_kinds, folder=folder, formats=formats), connections)))


def _write_kinds(series: ConnectionSeries, folder: Path, formats: Sequence[str]) -> list[Path]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    written = []
    for kind in KINDS:
        figure = draw(kind, series)
        FigureCanvasAgg(figure)
        for form in formats:
            path = folder / f"connection-{series.record['id']}-{kind}.{form}"
            # Without a date in it the same capture gives the same file.
            metadata = {"Date": None} if form == "svg" else None
            with mpl.rc_context(STYLE), writing(path) as out:
                figure.savefig(out, format=form, metadata=metadata)
            written.append(path)
    return written
