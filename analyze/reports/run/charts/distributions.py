"""How throughput, round-trip time and loss are distributed over transfers: the share of them at or below each value."""

from collections.abc import Sequence

import numpy as np

from vmtrace.analyze.charts.chart import Axis, Chart, Panel, Series, empty_note
from vmtrace.analyze.read.records.run import ROLES, Role
from vmtrace.analyze.reports.run.results import RunResults, goodput_bps, measured
from vmtrace.analyze.stats.estimates import Floats
from vmtrace.analyze.words.palette import RUNS, TRANSFERS

_MEASURES = (
    ("throughput", "throughput", "bit/s", goodput_bps),
    ("mean RTT", "RTT", "s", lambda found: measured(found, lambda one: one.rtt_mean_s)),
    ("loss rate", "loss rate", "%", lambda found: 100 * measured(found, lambda one: one.loss_rate)),
)


def chart(runs: Sequence[RunResults]) -> list[Chart]:
    """A chart for each quantity: its axis is its own."""
    return [_chart(runs, place) for place in range(len(_MEASURES))]


def _chart(runs: Sequence[RunResults], place: int) -> Chart:
    title, label, unit, values_of = _MEASURES[place]
    series = tuple(
        _cumulative(_name(runs, run, role), values_of(run.of(role)), _colour(runs, number, role))
        for number, run in enumerate(runs)
        for role in ROLES
    )
    panel = Panel("share of transfers", Axis("share of transfers", "%"), series, empty_note(series, "no captures"))
    return Chart(
        name=f"distribution-{title.replace(' ', '-').lower()}",
        title=f"Distribution of {title}",
        caption="The share of transfers at or below each value; steps at the values themselves.",
        x=Axis(label, unit),
        panels=(panel,),
    )


def _cumulative(name: str, values: Floats, colour: str) -> Series:
    ordered = np.sort(values[np.isfinite(values)])
    shares = 100 * np.arange(len(ordered) + 1) / max(len(ordered), 1)
    # It rises from nothing at the least value.
    return Series(name, np.concatenate([ordered[:1], ordered]), shares[: len(ordered) + 1], colour, "steps")


def _name(runs: Sequence[RunResults], run: RunResults, role: Role) -> str:
    return role if len(runs) == 1 else f"{run.name}: {role}"


def _colour(runs: Sequence[RunResults], number: int, role: Role) -> str:
    return TRANSFERS[role] if len(runs) == 1 else RUNS[(2 * number + ROLES.index(role)) % len(RUNS)]
