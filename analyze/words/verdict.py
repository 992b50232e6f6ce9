"""When the engine's verdict on a transfer is left open, and what would help against it (docs/verdict.md)."""

from vmtrace.analyze.words.document import Record
from vmtrace.analyze.words.units import printable, si

LEAST_CONFIDENCE = 0.6
"""The engine's `verdict::LEAST_CONFIDENCE`; a test compares them."""


def is_open(confidence: float | None) -> bool:
    """True if a verdict of this confidence names candidates and decides nothing."""
    return (confidence or 0.0) < LEAST_CONFIDENCE


def is_on_the_clients_data(client_unique_bytes: int, server_unique_bytes: int) -> bool:
    """True if the engine judges the data of the client: most payload without repeats, or as much as the server sent."""
    return client_unique_bytes >= server_unique_bytes


def remedies(record: Record) -> list[str]:
    """What would help the connection of this record, with the throughput then and now.

    Both are over the time from the first packet to the last data. `goodput_bps` leaves out the opening, so that a
    remedy may look as if it made the transfer slower beside it.
    """
    return [f"with {printable(one['change'])}: {_predicted(one)}" for one in record["verdict"]["what_if"]]


def _predicted(one: Record) -> str:
    if one["goodput_bps"] is None:
        return f"no prediction: {printable(one.get('reason') or 'the reason is not known')}"
    now = f" instead of {si(one['now_bps'], 'bit/s')}" if one.get("now_bps") else ""
    return f"{si(one['goodput_bps'], 'bit/s')}{interval_words(one.get('low_bps'), one.get('high_bps'))}{now}"


def interval_words(low_bps: float | None, high_bps: float | None) -> str:
    """An interval of a prediction in brackets, with a space before it; nothing where none is known."""
    if low_bps is None:
        return ""
    low = si(low_bps, "bit/s")
    return f" (at least {low})" if high_bps is None else f" (between {low} and {si(high_bps, 'bit/s')})"
