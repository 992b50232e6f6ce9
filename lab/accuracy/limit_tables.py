"""Tables of transfers whose limit is known: token buckets and causes of retransmissions beside the truth.

Verdicts and limiting factors over time have theirs in `verdicts` and `limit_score`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from vmtrace.lab.accuracy import demands
from vmtrace.lab.impairments import TokenBucket

KINDS = ("fast", "timeout", "probe")
TRIGGERS_STORY = (
    "Retransmitted data segments at the sender: what the kernel's counters have (row) and what they were taken for "
    "(column), as far as the sums of each transfer tell, in the most favourable way for every tool. tshark counts "
    "frames, has a name for fast ones, and calls some of them out of order, which is no cause; tcptrace names none."
)


@dataclass(frozen=True, slots=True)
class Bucket:
    """A transfer's token bucket, its burst what passed (none if there was none), and what was told of one, by place."""

    name: str
    true: TokenBucket | None
    told: Mapping[str, Mapping[str, Any] | None]


def buckets(found: Iterable[Bucket]) -> list[str]:
    """A line for each bucket: how far the told rate and burst are from the true ones; and those told of none."""
    rows = list(found)
    places = list(rows[0].told) if rows else []
    lines = [f"| bucket | rate, Mbit/s | burst that passed, kB | {' | '.join(f'at the {place}' for place in places)} |"]
    lines.append(f"|---|---:|---:|{'---:|' * len(places)}")
    for row in rows:
        if row.true is not None:
            cells = [_told(row.true, row.told[place]) for place in places]
            rate, burst = row.true.rate_bps / 1e6, row.true.burst_bytes / 1e3
            lines.append(f"| {row.name} | {rate:.1f} | {burst:.0f} | {' | '.join(cells)} |")
    none = [row for row in rows if row.true is None]
    wrong = [f"{row.name} at the {place}" for row in none for place in places if row.told[place]]
    lines += ["", f"Told in {len(none)} transfers without one: {', '.join(wrong) or 'none'}."]
    return lines


def _told(true: TokenBucket, told: Mapping[str, Any] | None) -> str:
    if told is None:
        return "not found"
    kind = "shaper" if true.queue_bytes else "policer"
    rate = told["sustained_bps"] / true.rate_bps - 1
    burst = told["burst_bytes"] / true.burst_bytes - 1
    return f"{'' if told['kind'] == kind else '**' + told['kind'] + '**, '}rate {rate:+.1%}, burst {burst:+.0%}"


@dataclass(frozen=True, slots=True)
class Triggers:
    """Retransmitted segments of one transfer by cause: the sender's kernel, vmtrace and tshark at the sender."""

    kernel: Mapping[str, int]
    told: Mapping[str, Mapping[str, int]]


def triggers(found: Iterable[Triggers]) -> list[str]:
    """The confusion matrix of causes, as far as the sums of each transfer tell, and the share that is right."""
    totals: dict[str, Counter[tuple[str, str]]] = {}
    for one in found:
        for tool, shown in one.told.items():
            totals.setdefault(tool, Counter()).update(demands.confused(one.kernel, shown))
    told_as = (*KINDS, "none")
    lines = [f"| kernel | {' | '.join(told_as)} |", f"|---|{'---:|' * len(told_as)}"]
    for kind in told_as:
        for tool, counts in totals.items():
            lines.append(f"| {kind}, by {tool} | {' | '.join(str(counts[kind, label]) for label in told_as)} |")
    shares = [f"{tool} {share(counts):.1%}" for tool, counts in totals.items()]
    return [*lines, "", f"Right: {', '.join(shares)}."] if totals else []


def share(counts: Mapping[tuple[str, str], int]) -> float:
    """Share of the kernel's retransmissions whose cause was told right."""
    all_of_them = sum(count for (kind, _), count in counts.items() if kind in KINDS)
    return sum(counts.get((kind, kind), 0) for kind in KINDS) / max(all_of_them, 1)
