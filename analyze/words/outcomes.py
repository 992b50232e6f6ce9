"""What became of connections that did not open, move their data or end well, for people (docs/verdict.md).

The engine decides and says it of each connection; here equal outcomes of one server are counted together.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from vmtrace.analyze.words.document import Record
from vmtrace.analyze.words.units import instant, printable, share
from vmtrace.formats.quantities import plural

if TYPE_CHECKING:
    from vmtrace.analyze.trace import Trace

SHORT_NAMES = {
    "syn_unanswered": "no reply",
    "syn_refused": "refused",
    "handshake_incomplete": "never open",
    "reset_by_client": "client reset",
    "reset_by_server": "server reset",
    "reset_by_middlebox": "reset on path",
    "idle_then_reset": "idle, reset",
    "idle_then_silent": "idle, silent",
    "peer_silent": "peer silent",
    "receiver_stopped_reading": "not read",
    "large_segments_lost": "MTU black hole",
    "one_direction_only": "one direction",
}
"""What a narrow column says."""

CLAUSES = {
    "syn_unanswered": "got no reply",
    "syn_refused": "were refused",
    "handshake_incomplete": "never opened",
    "reset_by_client": "were reset by the client",
    "reset_by_server": "were reset by the server",
    "reset_by_middlebox": "were reset on the path",
    "idle_then_reset": "were reset after an idle time",
    "idle_then_silent": "got no reply after an idle time",
    "peer_silent": "lost their peer",
    "receiver_stopped_reading": "were not read any more",
    "large_segments_lost": "lost all large segments",
    "one_direction_only": "were captured in one direction only",
}
"""What several of them did."""


def detail_lines(record: Record) -> Iterator[str]:
    """The outcome of one connection, with its frames and what would help, and the ICMP errors about it."""
    outcome = record.get("outcome")
    if outcome is not None:
        yield ""
        yield f"  what became of it: {printable(outcome['sentence'])}"
        yield f"  {outcome['kind'].replace('_', ' ')}, confidence {share(outcome['confidence'])}"
        for evidence in outcome["evidence"]:
            yield f"  evidence: {printable(evidence['text'])}"
            yield f"    {evidence['display_filter']}"
        yield f"  what would help: {printable(outcome['remedy'])}"
    yield from icmp_lines(record)


def icmp_lines(record: Record) -> Iterator[str]:
    """The ICMP errors about a connection."""
    errors = record.get("icmp_errors") or []
    if errors:
        yield ""
        yield "  ICMP errors about it:"
    for error in errors:
        mtu = f", MTU {error['mtu']:,} bytes" if error["mtu"] is not None else ""
        number = f"type {error['type']} code {error['code']}"
        yield f"    {instant(error['time_ns'])} frame {error['frame']}: {number} from {error['from']}{mtu}"
    if record.get("icmp_errors_not_listed"):
        yield f"    and {plural(record['icmp_errors_not_listed'], 'more')}"


def first_of_each_server(trace: "Trace", rows: Iterable[int], most: int) -> set[int]:
    """Of these rows the first of each kind and server, at most so many."""
    kinds = trace.values("outcome_kind")
    if not any(kind is not None for kind in kinds):
        return set()
    servers: Any = trace.values("server")
    seen: set[tuple[str, str]] = set()
    found: set[int] = set()
    for row in rows:
        if kinds[row] is not None and (kinds[row], servers[row]) not in seen:
            seen.add((kinds[row], servers[row]))
            found.add(row)
            if len(found) >= most:
                break
    return found
