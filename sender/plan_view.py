"""A plan for a person to look at before it is run: `--show-plan`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from vmtrace.formats.quantities import plural, shown_bytes, shown_rate, shown_s
from vmtrace.sender.plan import Plan, TransferPlan
from vmtrace.sender.plan_record import plan_record
from vmtrace.sender.wire.socket_options import given

_RATES_BPS = (1e6, 10e6, 100e6, 1e9, 10e9)
_HEAD = ("index", "pairs", "probe", "data", "idle after each", "bytes of all pairs")


def plan_table(plan: Plan) -> str:
    """The plan as text, with the total and the shortest time at some rates."""
    rows = [
        (
            entry.index,
            str(entry.pairs),
            _transfer(entry.probe),
            _transfer(entry.data),
            shown_s(entry.gap_s) if entry.gap_s else "-",
            shown_bytes(entry.pairs * entry.moved_bytes),
        )
        for entry in plan.entries
    ]
    return "\n".join([*_columns([_HEAD, *rows]), "", *_summary(plan)])


def plan_document(plan: Plan) -> dict[str, Any]:
    """The plan and its sums, for `--json`."""
    rounds = plan.repeat
    return {
        "plan": plan_record(plan),
        "pairs_planned": plan.pairs_planned,
        "round_bytes": plan.round_bytes,
        "total_bytes": None if rounds is None else rounds * plan.round_bytes,
        "idle_s": None if rounds is None else rounds * plan.round_gap_s,
        "shortest": [{"rate_bps": rate_bps, "duration_s": plan.shortest_s(rate_bps)} for rate_bps in _RATES_BPS],
    }


def _summary(plan: Plan) -> Iterator[str]:
    scale = "" if plan.scale == 1 else f", scale {plan.scale:g} applied"
    yield f"plan {plan.name}{scale}"
    if plan.repeat is None:
        round_size = shown_bytes(plan.round_bytes)
        yield f"{plural(plan.pairs_per_round, 'pair')} a round, {round_size} each, for {shown_s(plan.duration_s or 0)}"
        return
    total_bytes = plan.repeat * plan.round_bytes
    rounds = "" if plan.repeat == 1 else f" in {plan.repeat:,} rounds"
    pairs = f"{plural(plan.pairs_planned or 0, 'pair')}{rounds}"
    yield f"{pairs}, {shown_bytes(total_bytes)} ({total_bytes:,} bytes) of payload"
    times = [f"{shown_s(plan.shortest_s(rate_bps) or 0)} at {shown_rate(rate_bps)}" for rate_bps in _RATES_BPS]
    yield f"takes at least {', '.join(times)}"


def _transfer(transfer: TransferPlan) -> str:
    words: list[str] = [shown_bytes(transfer.bytes)]
    if transfer.direction != "upload":
        words.append(transfer.direction)
    if transfer.streams > 1:
        words.append(f"x{transfer.streams}")
    if transfer.tls:
        words.append("TLS")
    words += [one.preview.format(value) for one, value in given(transfer.options) if one.preview]
    return " ".join(words)


def _columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
