"""The HTML report of runs, put together: the answer, pairs, distributions, and tables behind folds."""

from collections.abc import Callable, Sequence

from vmtrace.analyze.charts.chart import Chart
from vmtrace.analyze.pages.blocks import Block, Figures, Fold, Group, Page, Section, Text
from vmtrace.analyze.reports.run.figures import MOST_RUNS
from vmtrace.analyze.reports.run.human import heading
from vmtrace.analyze.reports.run.page.answer import answer
from vmtrace.analyze.reports.run.page.pairs import pairs_part
from vmtrace.analyze.reports.run.page.tables import loss_bursts, metrics, plan, relation, side_by_side, transfers
from vmtrace.analyze.reports.run.page.variation import intervals_part, two_sides_part, variation_part
from vmtrace.analyze.reports.run.page.verdict import changes_part, limits_part, run_verdict_part
from vmtrace.analyze.reports.run.provenance import Provenance
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.words.units import printable
from vmtrace.formats.quantities import plural

Blocks = tuple[Block, ...]

_LEAD = "throughput-by-cause"
_ALONG = ("along-the-run", "figure-9-cpu")
_DISTRIBUTIONS = ("distribution-", "figure-3-probe-and-data-throughput", "figure-6-mean-spacing-and-throughput")


def page_of(runs: Sequence[RunResults], charts: Sequence[Chart], provenance: Provenance) -> Page:
    """The report as data. Of many runs the first have their details, and all a row and a point."""
    lead = next((chart for chart in charts if chart.name == _LEAD), None)
    shown = runs[:MOST_RUNS]
    return Page(
        title=_title(runs),
        facts=_facts(runs),
        answer=answer(runs, lead),
        sections=(
            *_figures(charts),
            *([_side_by_side(runs, shown)] if len(runs) > 1 else []),
            *_further_sections(shown),
        ),
        provenance=provenance,
    )


def _title(runs: Sequence[RunResults]) -> str:
    names = [printable(run.name) for run in runs]
    return ", ".join(names) if len(names) <= MOST_RUNS else f"{names[0]} and {plural(len(names) - 1, 'more run')}"


def _facts(runs: Sequence[RunResults]) -> tuple[str, ...]:
    if len(runs) > 1:
        return (plural(len(runs), "run"),)
    hosts = [f"{side}: {printable(host)}" for side, host in runs[0].run.record.hosts.items() if host]
    return (heading(runs[0]).removeprefix(f"{printable(runs[0].name)}: "), *hosts)


def _side_by_side(runs: Sequence[RunResults], shown: Sequence[RunResults]) -> Section:
    blocks: Blocks = (side_by_side(runs),)
    if len(runs) > len(shown):
        blocks += (Text(f"Figures and details below are of the first {len(shown)} runs: vmtrace report RUN makes those"
                        " of another one.", "hint"),)  # fmt: skip
    return Section("beside", "Side by side", (*blocks, *changes_part(shown)), wide=True)


def _each(runs: Sequence[RunResults], make: Callable[[RunResults], Blocks]) -> Blocks:
    """A part for each run, under the run's name if there are several."""
    if len(runs) == 1:
        return make(runs[0])
    return tuple(Group(printable(run.name), make(run)) for run in runs)


def _pairs(runs: Sequence[RunResults]) -> tuple[Section, ...]:
    numbered = {id(run): number for number, run in enumerate(runs)}
    count = plural(sum(len(run.run.pairs) for run in runs), "pair")
    table = Fold(f"{count}, a line each", _each(runs, lambda run: pairs_part(run, numbered[id(run)])))
    return (
        Section(
            "pairs", "Pairs", (table,), wide=True,
            hint="A click on a head sorts. The verdict is that on the data transfer; a question mark: undecided, see"
            " its sentence. Share: of the bytes that were lost to any factor or, where nothing was, of those delivered."
            " The lanes and packets of a pair: vmtrace analyze RUN/packets/sender/0017-data.pcap --report pair-17.html",
        ),
    )  # fmt: skip


def _figures(charts: Sequence[Chart]) -> tuple[Section, ...]:
    rest = [chart for chart in charts if chart.name != _LEAD]
    spread = [chart for chart in rest if chart.name.startswith(_DISTRIBUTIONS)]
    small = tuple(chart for chart in spread if chart.name.startswith("distribution-"))
    large = tuple(chart for chart in spread if chart not in small)
    along = tuple(chart for chart in rest if chart.name.startswith(_ALONG))
    inside = tuple(chart for chart in rest if chart not in spread and chart not in along)
    return (
        Section("distributions", "Distributions", (Figures(small, beside=True),)),
        Section(
            "figures", "Along the run, and inside of one pair",
            (
                Figures(along),
                *_folded(inside, "inside of one pair"),
                *_folded(large, "of probes and data transfers together"),
            ),
            hint="Drag to zoom, double-click to see all; a click on a name hides or shows its series. Points of long"
            " series are thinned out for drawing; the lowest and highest stay.",
        ),
    )  # fmt: skip


def _folded(charts: tuple[Chart, ...], of: str) -> Blocks:
    return (Fold(f"{plural(len(charts), 'chart')} {of}", (Figures(charts),)),) if charts else ()


def _further_sections(runs: Sequence[RunResults]) -> tuple[Section, ...]:
    def folded(title: str, make: Callable[[RunResults], Blocks]) -> Blocks:
        return (Fold(title, _each(runs, make)),)

    return (
        Section(
            "variation", "Is throughput unstable, and what does it vary with?", _each(runs, variation_part),
            hint="Each throughput is over the median of its index. A metric is named if its rank correlation is beyond"
            " chance, corrected for lags, for likeness of neighbours in time and for all metrics asked, and goes the"
            " way that could harm; that is a relation, and no proof of a cause. Coverage: the share of a transfer that"
            " has values. Weight: the share of those values' time that lies in the transfer; below 50 % of either"
            " nothing is more than consistent."
        ),
        Section(
            "why", "Why, and what would help", _each(runs, run_verdict_part),
            hint="Each transfer counts by how long it took, for the factor that its own verdict names; those undecided"
            " count for none. What a change would bring is worked out for each transfer that its verdict says so of;"
            " all others stay as they were."
        ),
        *_pairs(runs),
        Section(
            "limits", "What limited the transfers, in time and in bytes", folded("All factors", limits_part),
            hint="Lost is what the rate that a transfer reached at its best would have delivered more in the time of a"
            " factor."
        ),
        Section(
            "limit-influences", "What hosts did while a factor limited",
            folded("Metrics inside and outside of each factor's intervals", intervals_part), wide=True,
            hint="A metric's mean inside the intervals of a factor against that in the rest of the transfers' time,"
            " weighted by overlap. Intervals shorter than a metric's period share it with other time: the difference is"
            " then smaller than it was."
        ),
        Section("plan", "As run (Table 1)", folded("Pairs planned, finished and failed", lambda run: (plan(run),))),
        Section(
            "metrics", "Round-trip time and loss (Table 2)",
            (
                *folded("Means and medians by index, with intervals", lambda run: (metrics(run),)),
                *folded("Is loss continuous or bursty?", loss_bursts),
            ),
            wide=True,
            hint="Over transfers, one value of each: means and medians with their 95 % confidence intervals, where"
            " there are enough transfers for one. RTT and loss are those of the packets captured where the data was"
            " sent; ping is the baseline just before each pair."
        ),
        Section(
            "relation", "What a probe shows of the data transfer",
            folded("Correlation, and prediction by four rules", relation), wide=True,
            hint="A prediction uses only what was known when the data transfer began: its own probe, and earlier pairs"
            " of the same index. The error is the absolute one, as a share of the throughput that came."
        ),
        Section(
            "two-sides", "Both sides' captures together", folded("Loss, delay and pauses by index", two_sides_part),
            wide=True,
            hint="Packets matched one by one. The delay is true to within the error of the clocks' offset; above the"
            " least, it is free of it."
        ),
        Section("transfers", "Transfers", _each(runs, lambda run: (transfers(run),)), wide=True),
    )  # fmt: skip
