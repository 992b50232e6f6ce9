"""The coast lines of the map: Natural Earth at 1:110 million (public domain), from the npm package world-atlas 2.0.2.

`land-110m.json` is that package's file unchanged: TopoJSON, whose arcs are differences of whole numbers.
"""

import json
from functools import cache
from importlib.resources import files

Line = list[tuple[float, float]]
"""Longitude and latitude of each point, in degrees."""


@cache
def coast_lines() -> list[Line]:
    """All of them."""
    topology = json.loads((files(__package__) / "land-110m.json").read_text(encoding="utf-8"))
    (x_step, y_step), (x_first, y_first) = topology["transform"]["scale"], topology["transform"]["translate"]
    lines = []
    for arc in topology["arcs"]:
        x = y = 0
        line = []
        for dx, dy in arc:
            x, y = x + dx, y + dy
            line.append((x * x_step + x_first, y * y_step + y_first))
        lines.append(line)
    return lines
