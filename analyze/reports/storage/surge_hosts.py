"""A surge over all hosts that were in step (Garfinkel, Fig. 8): what they moved together, by threads of a host.

Hosts are in step where their runs have the same plan and began at the same time: then step N of each is the same time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from vmtrace.analyze.reports.storage.surge import SurgeRow, combined_bps

if TYPE_CHECKING:
    from vmtrace.analyze.reports.storage.campaign import Campaign


def all_hosts(campaigns: Sequence[Campaign]) -> list[SurgeRow]:
    """A row for each direction and number of threads of a host, over the steps that all hosts have.

    `threads` are those of one host, `n` and `combined_bps` of all. Processors and limits are each host's own.
    """
    rows = []
    for together in _in_step(campaigns):
        groups: dict[tuple[str, int], list[float]] = defaultdict(list)
        for number in sorted(set.intersection(*({step.number for step in one.surge_steps} for one in together))):
            steps = [next(step for step in one.surge_steps if step.number == number) for one in together]
            total_bps = sum(combined_bps(one.requests, step) for one, step in zip(together, steps, strict=True))
            groups[steps[0].direction, steps[0].threads].append(total_bps)
        rows += [_row(together, key, totals_bps) for key, totals_bps in sorted(groups.items())]
    return rows


def _in_step(campaigns: Sequence[Campaign]) -> list[list[Campaign]]:
    """Surges of two and more hosts with one plan and one beginning."""
    groups: dict[tuple[int, str], list[Campaign]] = defaultdict(list)
    for one in campaigns:
        if one.surge_steps and one.run.surge_start_ns is not None:
            groups[one.run.surge_start_ns, str(one.run.plan_record)].append(one)
    return [together for together in groups.values() if len(together) > 1]


def _row(together: Sequence[Campaign], key: tuple[str, int], totals_bps: Sequence[float]) -> SurgeRow:
    direction, threads = key
    own = [row for one in together for row in one.surge if (row.direction, row.threads) == key]
    n = sum(row.n for row in own)
    moved = [(row.per_thread_bps, row.n) for row in own if row.per_thread_bps is not None]
    return SurgeRow(
        threads=threads,
        host=f"all {len(together)} hosts",
        direction=direction,
        per_thread_bps=sum(rate * count for rate, count in moved) / n if n else None,
        combined_bps=float(np.mean(totals_bps)),
        n=n,
        steps=len(totals_bps),
        cpu_share=None,
        limited_by=None,
    )
