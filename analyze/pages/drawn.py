"""Which charts of a page are drawn: one whose points are all at 0 is named instead.

Runs on the whole page, just before it is written, so that no report has to think of it.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from vmtrace.analyze.charts.chart import Chart, Panel
from vmtrace.analyze.pages.blocks import Block, Figures, Fold, Group, Page, Text


def drawn(page: Page) -> Page:
    """The page with the charts that show something."""
    sections = tuple(replace(one, blocks=kept) for one in page.sections if (kept := _drawn(one.blocks)))
    return replace(page, answer=_drawn(page.answer), sections=sections)


def is_flat(panel: Panel) -> bool:
    """True if there are points, and all of them are at 0. Names on an axis are no numbers; distributions lie on x."""
    if panel.y.names:
        return False
    series = [one for one in panel.series if not one.reference]
    spread = bool(series) and all(one.style == "steps" for one in series)
    values = [one.x if spread and _is_share(panel) else one.y for one in series]
    finite = np.concatenate([np.empty(0), *(one[np.isfinite(one)] for one in values)])
    return len(finite) > 0 and not finite.any()


def _is_share(panel: Panel) -> bool:
    return panel.y.unit == "%" and panel.y.label.startswith("share")


def _drawn(blocks: Sequence[Block]) -> tuple[Block, ...]:
    found = list[Block]()
    for block in blocks:
        if isinstance(block, Figures):
            found += _figures(block)
        elif isinstance(block, (Fold, Group)):
            kept = _drawn(block.blocks)
            found += [replace(block, blocks=kept)] if kept else []
        else:
            found.append(block)
    return tuple(found)


def _figures(block: Figures) -> list[Block]:
    charts, flat = list[Chart](), list[str]()
    for chart in block.charts:
        panels = tuple(panel for panel in chart.panels if not is_flat(panel))
        left_out = [panel for panel in chart.panels if is_flat(panel)]
        if panels:
            charts.append(replace(chart, panels=panels) if left_out else chart)
            flat += [f"{chart.title}: {panel.title}" for panel in left_out]
        else:
            flat.append(chart.title)
    if not flat:
        return [block]
    said = Text(f"Always 0, not drawn: {'; '.join(flat)}.", "hint")
    return [replace(block, charts=tuple(charts)), said] if charts else [said]
