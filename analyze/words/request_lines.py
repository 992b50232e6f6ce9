"""Requests and responses of one connection for reading: the part that dominates, totals, and the longest one by one.

Takes a record of the JSON document; `detail_view` prints the lines, the report's page shows the facts.
"""

from collections.abc import Iterator

from vmtrace.analyze.words.document import Record
from vmtrace.analyze.words.units import count, printable, seconds, si
from vmtrace.formats.quantities import plural

_REASONS = {
    "no_exchange": "no response to a request was seen",
    "overlapping": "several requests at once, or both sides send at once: responses cannot be matched",
    "unprompted": "one side sends repeatedly, without requests or responses",
    "ssh": "SSH, whose messages are not requests",
    "snap_length": "the capture lacks bytes that tell TLS handshakes, or HTTP/2, from requests (capture 96 or more)",
    "missing_packets": "the capture missed packets of the TLS connection, and with them who sent meanwhile",
    "no_time": "the packets have no time",
}
"""Why no requests are shown, by `requests_reason`."""

_PARTS = (
    ("handshake_s", "handshake"),
    ("tls_s", "TLS handshake"),
    ("request_s", "sending requests"),
    ("first_byte_s", "request to first byte"),
    ("response_s", "transfer of responses"),
)


def request_lines(record: Record) -> Iterator[str]:
    """The requests of a connection; nothing of one that carried data in one direction at most."""
    totals = record.get("request_totals")
    if totals is None:
        reason = record.get("requests_reason")
        if reason:
            yield ""
            yield f"requests: none shown ({_REASONS.get(reason, reason)})"
        return
    yield ""
    yield f"requests: {count(totals['count'])}, {_amounts(totals)}"
    if totals["sentence"]:
        yield f"  {printable(totals['sentence'])}"
    yield f"  {', '.join(f'{name} {seconds(totals[key])}' for key, name in _PARTS if totals[key] is not None)}"
    yield f"  {_quantiles(totals)}"
    yield from _listed(record, totals["not_listed"])


def request_facts(record: Record) -> list[list[str]]:
    """The same in rows of two cells, for a page; none without requests."""
    totals = record.get("request_totals")
    if totals is None:
        return []
    facts = [["requests", f"{count(totals['count'])}, {_amounts(totals)}"], ["time to first byte", _quantiles(totals)]]
    return [*facts, ["longest part", printable(totals["sentence"])]] if totals["sentence"] else facts


def _amounts(totals: Record) -> str:
    return f"{si(totals['request_bytes'], 'B')} requested, {si(totals['response_bytes'], 'B')} returned"


def _quantiles(totals: Record) -> str:
    first = " / ".join(seconds(totals[f"first_byte_{rank}_s"]) for rank in ("median", "p95", "p99"))
    loop = totals["server_loop_s"]
    path = "" if loop is None else f"; {seconds(loop)} of each is the round trip to the server"
    return f"first byte median / p95 / p99: {first}{path}"


def _listed(record: Record, not_listed: int) -> Iterator[str]:
    for one in record["requests"] or ():
        after = (one["start_ns"] - record["start_ns"]) / 1e9
        frames = f"frames {', '.join(str(frame) for frame in one['frames'])}"
        asked, answered = si(one["request_bytes"], "B"), si(one["response_bytes"], "B")
        first, whole = seconds(one["first_byte_s"]), seconds(one["duration_s"])
        yield f"    at {seconds(after)}: {asked}, first byte after {first}, {answered} in {whole} in all ({frames})"
    if not_listed:
        yield f"    {plural(not_listed, 'shorter exchange')} not listed"
