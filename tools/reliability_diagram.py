"""`python -m tools.reliability_diagram CONFIDENCE.json DIAGRAM.svg`: how often verdicts are right, by their confidence.

The JSON is what the part `confidence` of `make accuracy` leaves (`vmtrace.lab.accuracy.confidence`). The diagram is
drawn by the charts of reports; the lab itself knows nothing of them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from vmtrace.analyze.charts.chart import Axis, Chart, Panel, Series, reference
from vmtrace.analyze.charts.figures.axes import STYLE
from vmtrace.analyze.charts.on_paper import draw
from vmtrace.analyze.read.atomic import writing
from vmtrace.analyze.words.palette import ROLES

_CLOSE = 10.0
"""Percentage points: the share that is right must be as near as this to the confidence."""
_PERCENT = 100.0


def chart(bins: Sequence[Mapping[str, Any]]) -> Chart:
    """The diagram of these bins (`confidence`, `share`, `interval`, `count`), in percent."""
    confidence = np.array([one["confidence"] for one in bins], np.float64) * _PERCENT
    share = np.array([one["share"] for one in bins], np.float64) * _PERCENT
    ends = np.array([one["interval"] for one in bins], np.float64).reshape(-1, 2) * _PERCENT
    labels = tuple(f"{one['count']} verdicts" for one in bins)
    series = (
        reference("right as often as they say", (0.0, _PERCENT), (0.0, _PERCENT)),
        reference("10 points from it", (_CLOSE, _PERCENT), (0.0, _PERCENT - _CLOSE)),
        reference("10 points from it", (0.0, _PERCENT - _CLOSE), (_CLOSE, _PERCENT)),
        Series("share right", confidence, share, ROLES["data"], symbol="ring", labels=labels),
        Series("95 % interval", np.repeat(confidence, 2), ends.reshape(-1), ROLES["retransmission"], symbol="cross"),
    )
    count = sum(int(one["count"]) for one in bins)
    panel = Panel("", Axis("share right", "%"), series, f"{count} verdicts")
    return Chart("confidence", "Verdicts that are right, by their confidence", "", Axis("confidence", "%"), (panel,))


def main(arguments: list[str] | None = None) -> int:
    """Reads the JSON and writes the SVG; 1 if there is no verdict to draw."""
    parser = argparse.ArgumentParser(prog="python -m tools.reliability_diagram", description=__doc__)
    parser.add_argument("measured", type=Path, metavar="CONFIDENCE.json")
    parser.add_argument("diagram", type=Path, metavar="DIAGRAM.svg")
    options = parser.parse_args(arguments)
    try:
        bins = json.loads(options.measured.read_text())["bins"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"reliability_diagram: {options.measured}: {error}", file=sys.stderr)
        return 1
    if not bins:
        print(f"reliability_diagram: {options.measured} has no verdict", file=sys.stderr)
        return 1
    with mpl.rc_context(STYLE | {"svg.hashsalt": "vmtrace"}), writing(options.diagram) as out:
        draw(chart(bins)).savefig(out, format="svg", metadata={"Date": None})
    return 0


if __name__ == "__main__":
    sys.exit(main())
