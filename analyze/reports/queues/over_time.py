"""Rates and latency along a run: bins of one width, some hundred of them, none shorter than a second."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from vmtrace.analyze.reports.queues.calls import TAKEN, Ints
from vmtrace.analyze.reports.queues.latency import Floats, times_of
from vmtrace.analyze.reports.queues.messages import Messages
from vmtrace.analyze.reports.queues.quantiles import Quantiles, quantiles
from vmtrace.analyze.reports.queues.records import FLOW

_BINS = 120
_WIDTHS_S = (1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600)


@dataclass(frozen=True, slots=True)
class PeriodRow:
    """A bin of a run. Messages count where they were sent and where they came first; latency, where they came."""

    start_ns: int
    width_s: int
    sent: int
    delivered: int
    deleted: int
    from_due: Quantiles
    from_sent: Quantiles


def period_rows(messages: Messages) -> list[PeriodRow]:
    """All bins of a run, also those in which nothing happened."""
    sent_ns = messages.sent_rows["start_ns"][messages.sent_rows["outcome"] == TAKEN]
    came_ns = messages.first["end_ns"]
    deleted_ns = np.sort(np.concatenate([*(log.deleted["end_ns"] for log in messages.run.logs), np.empty(0, np.int64)]))
    together = np.concatenate([sent_ns, came_ns])
    if not len(together):
        return []
    first_ns, last_ns = int(together.min()), int(together.max())
    width_s = _width_s((last_ns - first_ns) / 1e9)
    edges = np.arange(first_ns, last_ns + width_s * 10**9, width_s * 10**9, dtype=np.int64)
    found = [times_of(messages, stage) for stage in messages.run.stages if stage.kind == FLOW]
    end_ns = np.concatenate([*(one.end_ns for one in found), np.empty(0, np.int64)])
    due_s = _binned(edges, end_ns, np.concatenate([*(one.due_s for one in found), np.empty(0)]))
    sent_s = _binned(edges, end_ns, np.concatenate([*(one.sent_s for one in found), np.empty(0)]))
    sent, delivered, deleted = (_counts(edges, times) for times in (sent_ns, came_ns, deleted_ns))
    return [
        PeriodRow(
            start_ns=int(edge),
            width_s=width_s,
            sent=int(sent[place]),
            delivered=int(delivered[place]),
            deleted=int(deleted[place]),
            from_due=quantiles(due),
            from_sent=quantiles(from_sent),
        )
        for place, (edge, due, from_sent) in enumerate(zip(edges, due_s, sent_s, strict=True))
    ]


def _width_s(lasts_s: float) -> int:
    return next((width for width in _WIDTHS_S if lasts_s / width <= _BINS), _WIDTHS_S[-1])


def _counts(edges: Ints, times_ns: Ints) -> Ints:
    places = np.searchsorted(edges, times_ns, side="right") - 1
    return np.bincount(places[places >= 0], minlength=len(edges))[: len(edges)].astype(np.int64)


def _binned(edges: Ints, end_ns: Ints, values: Floats) -> Iterator[Floats]:
    """The values of each bin."""
    kept = np.isfinite(values) & (values >= 0)
    order = np.argsort(end_ns[kept], kind="stable")
    ends, inside = end_ns[kept][order], values[kept][order]
    cuts = np.searchsorted(ends, edges, side="left")
    yield from np.split(inside, cuts[1:])
