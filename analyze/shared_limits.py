"""Limits that several connections share, for people (docs/verdict.md, "Shared limits").

The engine finds them by the sum of the connections; here each has one line, in the summary and on the page.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from vmtrace.analyze.document import Record
from vmtrace.analyze.units import plural, seconds, share, si

_LINES_SHOWN = 4
_IDS_SHOWN = 6
_KINDS = {"token_bucket": "a token bucket", "bottleneck_bandwidth": "a bottleneck"}


def shared_lines(header: Mapping[str, Any]) -> Iterator[str]:
    """A line for each shared limit of a document, that of the highest rate first."""
    limits = header.get("shared_limits", ())
    for limit in limits[:_LINES_SHOWN]:
        yield _line(limit)
    rest = len(limits) - _LINES_SHOWN + header.get("shared_limits_not_listed", 0)
    if rest > 0:
        yield f"and {plural(rest, 'more shared limit')} (in the JSON: shared_limits)"


def _line(limit: Record) -> str:
    ids = limit["connections"]
    first = ", ".join(map(str, ids[:_IDS_SHOWN])) + (", ..." if len(ids) > _IDS_SHOWN else "")
    kind = _KINDS[limit["kind"]]
    burst = f" after a burst of {si(limit['burst_bytes'], 'B')}" if limit["burst_bytes"] else ""
    lasted = seconds((limit["to_ns"] - limit["from_ns"]) / 1e9)
    return (
        f"{plural(len(ids), 'connection')} ({first}) share {kind} of {si(limit['rate_bps'], 'bit/s')}{burst}, "
        f"for {lasted}. Confidence {share(limit['confidence'])}."
    )
