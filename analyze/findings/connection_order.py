"""In which order connections are listed: by a quantity, or first those that there is something to say about."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from vmtrace.analyze.words.outcomes import first_of_each_server
from vmtrace.analyze.words.verdict import is_on_the_clients_data

if TYPE_CHECKING:
    from vmtrace.analyze.trace import Trace

NOTABLE, BYTES = "notable", "bytes"
SORTS = (NOTABLE, BYTES, "goodput", "time", "rtt", "retrans", "start", "id")
"""What connections can be sorted by: the slowest, the longest, the most, the earliest come first."""
_DIRECTIONS = ("client_to_server", "server_to_client")
_MOST_OUTCOMES_FIRST = 10
"""So that the table has room for transfers, too."""
_WARNING_COUNTS = ("loss_retransmitted_segments", "window_zero_windows", "spacing_oversize")


def ordered(trace: "Trace", sort: str, limit: int) -> list[int]:
    """The rows of the connection table that come first, at most `limit`; of equal ones the one of most bytes."""
    if sort == BYTES or len(trace) == 1:
        return trace.largest(limit)
    rows = trace.largest()
    keys = _KEYS[sort](trace)
    return sorted(rows, key=keys.__getitem__)[:limit]


def _by_notability(trace: "Trace") -> Sequence[Any]:
    """First one connection of each outcome and server, then those with an outcome, a verdict or a warning."""
    counts = [f"{direction}_{name}" for direction in _DIRECTIONS for name in _WARNING_COUNTS]
    trace.load(["verdict_factor", "close", "outcome_kind", "server", *counts])
    first = first_of_each_server(trace, trace.largest(), _MOST_OUTCOMES_FIRST)
    warned = [
        factor is not None or outcome is not None or close == "reset"
        for factor, outcome, close in zip(*map(trace.values, ("verdict_factor", "outcome_kind", "close")), strict=True)
    ]
    for column in counts:
        warned = [before or bool(value) for before, value in zip(warned, trace.values(column), strict=True)]
    return [0 if row in first else 1 if notable else 2 for row, notable in enumerate(warned)]


def _by_goodput(trace: "Trace") -> Sequence[Any]:
    """The slowest first, by the direction that carries most payload."""
    return _least_first(_of_main_direction(trace, "goodput_bps"))


def _by_retransmissions(trace: "Trace") -> Sequence[Any]:
    return _most_first(_of_main_direction(trace, "loss_retransmitted_segments"))


def _by_round_trip(trace: "Trace") -> Sequence[Any]:
    names = ["handshake_rtt_s", *(f"{direction}_rtt_min_s" for direction in _DIRECTIONS)]
    trace.load(names)
    columns = zip(*map(trace.values, names), strict=True)
    return _most_first([min((one for one in values if one is not None), default=None) for values in columns])


def _by(column: str, order: Callable[[Iterable[Any]], Sequence[Any]]) -> Callable[["Trace"], Sequence[Any]]:
    return lambda trace: order(trace.values(column))


def _of_main_direction(trace: "Trace", name: str) -> list[Any]:
    payload = [f"{direction}_unique_payload_bytes" for direction in _DIRECTIONS]
    wanted = [f"{direction}_{name}" for direction in _DIRECTIONS]
    trace.load([*payload, *wanted])
    return [
        forth if is_on_the_clients_data(client or 0, server or 0) else back
        for client, server, forth, back in zip(*map(trace.values, (*payload, *wanted)), strict=True)
    ]


def _least_first(values: Iterable[Any]) -> Sequence[Any]:
    """What was not measured comes last."""
    return [(value is None, value or 0) for value in values]


def _most_first(values: Iterable[Any]) -> Sequence[Any]:
    return [(value is None, -(value or 0)) for value in values]


_KEYS: dict[str, Callable[["Trace"], Sequence[Any]]] = {
    NOTABLE: _by_notability,
    "goodput": _by_goodput,
    "time": _by("duration_s", _most_first),
    "rtt": _by_round_trip,
    "retrans": _by_retransmissions,
    "start": _by("start_ns", _least_first),
    "id": _by("id", _least_first),
}
