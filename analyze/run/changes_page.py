"""The page of `vmtrace compare-runs`: the answer, both runs over time in one picture for each quantity, the table.

Pictures are SVG made here, without a script: the page is read in a browser, a mail or on paper.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from analyze.run.changes import RunComparison
from analyze.run.changes_human import COLUMNS, cells, heading, shown, trouble, verdict
from analyze.run.results import RunResults
from analyze.run.transfers import MeasuredTransfer
from analyze.run.verdict.of_run import run_verdict
from analyze.run.verdict.of_set import verdict_change
from analyze.units import plural, printable, seconds, share, si

_WIDTH, _HEIGHT = 900, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 12, 12, 34
_TICKS = 4
_MOST_POINTS = 4000
"""Of a run in a picture: more cannot be told apart; of a longer run every so many-th transfer is drawn."""
_STYLE = """
:root { color-scheme: light dark; --before: #2166ac; --after: #c2410c; --ink: #1b1b1b; --soft: #8a8a8a; --paper: #fff }
@media (prefers-color-scheme: dark) {
  :root { --before: #7db8f0; --after: #ff9a66; --ink: #e6e6e6; --soft: #8a8a8a; --paper: #16181c } }
@media print { :root { --before: #2166ac; --after: #c2410c; --ink: #000; --soft: #777; --paper: #fff } }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0 auto;
  max-width: 1080px; padding: 16px }
h1 { font-size: 1.35rem; overflow-wrap: anywhere } h2 { font-size: 1.05rem; margin: 1.2em 0 .2em }
p { margin: .3em 0; overflow-wrap: anywhere }
svg { width: 100%; height: auto; break-inside: avoid }
svg text { font-size: 12px; fill: var(--ink) } .axis { stroke: var(--soft); stroke-width: .5 }
.before { stroke: var(--before); fill: var(--before) } .after { stroke: var(--after); fill: var(--after) }
polyline { fill: none !important; stroke-width: 1.2; opacity: .75 } circle { stroke: none }
.key { font-weight: 600 } b.before { color: var(--before) } b.after { color: var(--after) }
.scroll { overflow-x: auto } table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { padding: 2px 10px 2px 0; text-align: right; white-space: nowrap }
th:nth-child(-n+3), td:nth-child(-n+3) { text-align: left } tr.changed { font-weight: 600 }
"""


@dataclass(frozen=True, slots=True)
class Quantity:
    """What a picture is of: its title, its value of a transfer, and how that is shown."""

    title: str
    of: Callable[[MeasuredTransfer], float | None]
    shown_as: Callable[[float | None], str]


QUANTITIES = (
    Quantity("Goodput of data transfers", lambda one: one.transfer.goodput_bps, lambda value: si(value, "bit/s")),
    Quantity("Median RTT of data transfers", lambda one: one.measures.rtt_median_s, seconds),
    Quantity("Loss of data transfers", lambda one: one.measures.loss_rate, share),
)


@dataclass(frozen=True, slots=True)
class Point:
    """A transfer in a picture."""

    time_s: float
    value: float
    tip: str


def page(comparison: RunComparison) -> str:
    """The whole page."""
    names = [printable(run.name) for run in (comparison.before, comparison.after)]
    title = f"{names[0]} and {names[1]} compared"
    body = "\n".join((f"<h1>{escape(title)}</h1>", *_words(comparison), *_pictures(comparison), _table(comparison)))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n<body>{body}</body></html>\n"
    )


def _words(comparison: RunComparison) -> Iterator[str]:
    answer = [line for line in verdict(comparison) if line]
    if any(run_verdict(run).judged for run in (comparison.before, comparison.after)):
        answer.append(verdict_change(comparison).sentence)
    yield from (f"<p>{escape(line)}</p>" for line in answer)
    for line, kind in zip(heading(comparison), ("before", "after"), strict=True):
        yield f'<p><b class="{kind}">\N{BLACK CIRCLE}</b> {escape(line)}</p>'
    yield from (f"<p>{escape(line)}</p>" for line in trouble(comparison))


def _pictures(comparison: RunComparison) -> Iterator[str]:
    for quantity in QUANTITIES:
        sides = [points(run, quantity) for run in (comparison.before, comparison.after)]
        if all(sides):
            yield f"<h2>{escape(quantity.title)} over time since the run began</h2>"
            yield picture(sides, quantity.shown_as, quantity.title)


def points(results: RunResults, quantity: Quantity) -> list[Point]:
    """The data transfers of a run that have a value, by the time since the first of them began."""
    found = [(one, value) for one in results.of("data") if (value := quantity.of(one)) is not None]
    if not found:
        return []
    first_ns = min(one.transfer.start_ns for one, _ in found)
    step = -(-len(found) // _MOST_POINTS)
    return [
        Point((one.transfer.start_ns - first_ns) / 1e9, value, _tip(results, one, quantity.shown_as(value)))
        for one, value in found[::step]
    ]


def _tip(results: RunResults, one: MeasuredTransfer, value: str) -> str:
    return printable(f"{results.name}, {one.pair.index}, pair {one.pair.sequence}: {value}")


def picture(sides: Sequence[Sequence[Point]], shown_as: Callable[[float | None], str], title: str) -> str:
    """Both runs in one picture, from zero up, each with a line through its points."""
    last_s = max(point.time_s for side in sides for point in side) or 1.0
    most = max(point.value for side in sides for point in side) or 1.0

    def x(time_s: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * time_s / last_s

    def y(value: float) -> float:
        return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - value / most)

    parts = [*_grid(x, y, last_s, most, shown_as)]
    for side, kind in zip(sides, ("before", "after"), strict=True):
        at = [(f"{x(point.time_s):.1f}", f"{y(point.value):.1f}", point.tip) for point in side]
        parts.append(f'<polyline class="{kind}" points="{" ".join(f"{left},{top}" for left, top, _ in at)}"/>')
        parts += [
            f'<circle class="{kind}" cx="{left}" cy="{top}" r="2.5"><title>{escape(tip)}</title></circle>'
            for left, top, tip in at
        ]
    box = f'viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    return f'<svg {box} role="img" aria-label="{escape(title, quote=True)}">{"".join(parts)}</svg>'


def _grid(
    x: Callable[[float], float],
    y: Callable[[float], float],
    last_s: float,
    most: float,
    shown_as: Callable[[float | None], str],
) -> Iterator[str]:
    for number in range(_TICKS + 1):
        value, time_s = most * number / _TICKS, last_s * number / _TICKS
        yield f'<line class="axis" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}"/>'
        yield f'<text x="{_LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{escape(shown_as(value))}</text>'
        anchor = "start" if number == 0 else "end" if number == _TICKS else "middle"
        yield f'<text x="{x(time_s):.1f}" y="{_HEIGHT - 12}" text-anchor="{anchor}">{escape(seconds(time_s))}</text>'


def _table(comparison: RunComparison) -> str:
    head = "".join(f"<th>{escape(column or 'change')}</th>" for column in COLUMNS)
    rows = []
    for change in shown(comparison):
        mark = ' class="changed"' if change.change else ""
        rows.append(f"<tr{mark}>{''.join(f'<td>{escape(cell)}</td>' for cell in cells(change))}</tr>")
    left = len(comparison.changes) - len(rows)
    more = f"<p>{plural(left, 'more line')} of single indices, without a change: --json has them.</p>" if left else ""
    return (
        f'<h2>What changed</h2><div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>{more}"
    )
