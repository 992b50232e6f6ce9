"""What is not TCP, from the JSON document: lines for people, and tables of flows and of names that were waited for."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vmtrace.analyze.words.document import Record
from vmtrace.analyze.words.units import printable, seconds, share, si
from vmtrace.formats.quantities import plural

if TYPE_CHECKING:
    import pyarrow

_SHOWN = 5
_PROTOCOLS_SHOWN = 6
_SLOW_S = 0.5
"""A name that was waited for longer has a line of its own."""

_LOOKUP_COLUMNS = {
    **dict.fromkeys(("name", "type", "transport", "client", "resolver"), "string"),
    **dict.fromkeys(("asked_ns", "last_asked_ns", "tries", "queries", "unanswered_queries", "answered_ns"), "int64"),
    **dict.fromkeys(("response_s", "waited_s"), "double"),
    "rcode": "string",
    "truncated": "bool",
    **dict.fromkeys(("answers", "searched", "connections"), "string"),
    "connections_count": "int64",
}
_DIRECTION_COLUMNS = {
    **dict.fromkeys(("packets", "payload_bytes", "wire_bytes"), "int64"),
    "rate_bps": "double",
    "sequence": "string",
    **dict.fromkeys(("numbered", "lost", "reordered", "duplicates"), "int64"),
    **dict.fromkeys(("jitter_s", "queue_s", "rtt_samples"), "double"),
    **dict.fromkeys(("rate_limit_rate_bps", "rate_limit_confidence"), "double"),
    **dict.fromkeys(("rtt_min_s", "rtt_median_s", "rtt_p95_s", "rtt_max_s"), "double"),
}
_FLOW_COLUMNS = {
    "id": "int64",
    "input": "int64",
    **dict.fromkeys(("protocol", "application", "client", "server"), "string"),
    "start_ns": "int64",
    "duration_s": "double",
    "first_frame": "int64",
    "unanswered": "bool",
    **{f"client_to_server_{name}": kind for name, kind in _DIRECTION_COLUMNS.items()},
    **{f"server_to_client_{name}": kind for name, kind in _DIRECTION_COLUMNS.items()},
    "requests": "int64",
    "unanswered_requests": "int64",
    "icmp_errors": "int64",
    **{f"rate_limit_{name}": "double" for name in ("rate_per_s", "burst", "confidence")},
}


def lookup_table(header: Mapping[str, Any]) -> "pyarrow.Table":
    """One row for each of `lookups`."""
    return _table(header.get("lookups", ()), _LOOKUP_COLUMNS)


def flow_table(header: Mapping[str, Any]) -> "pyarrow.Table":
    """One row for each of `flows`; columns are named by the JSON path joined with `_`."""
    flows = (one | {"icmp_errors": _errors(one)} for one in header.get("flows", ()))
    return _table(list(flows), _FLOW_COLUMNS)


def _errors(flow: Record) -> int:
    return len(flow["icmp_errors"]) + int(flow.get("icmp_errors_not_listed", 0))


def _table(records: Sequence[Record], columns: Mapping[str, str]) -> "pyarrow.Table":
    import pyarrow

    flat = [_flat(record) for record in records]
    arrays = [
        pyarrow.array([row.get(name) for row in flat], pyarrow.type_for_alias(kind)) for name, kind in columns.items()
    ]
    return pyarrow.table(arrays, names=list(columns))


def _flat(record: Record) -> Record:
    flat: Record = {}
    for key, value in record.items():
        if isinstance(value, dict):
            flat |= {f"{key}_{name}": one for name, one in _flat(value).items()}
        elif isinstance(value, list):
            flat[key] = ", ".join(map(str, value))
        else:
            flat[key] = value
    return flat


def protocol_text(header: Mapping[str, Any]) -> str:
    """Frames by protocol, the most bytes first, without TCP: `udp: 1,219, arp: 4`."""
    others = [(one["protocol"], one["packets"]) for one in header.get("protocols", ()) if one["protocol"] != "tcp"]
    return ", ".join(f"{name.replace('_', ' ')}: {packets:,}" for name, packets in others[:_PROTOCOLS_SHOWN])


def lines(header: Mapping[str, Any]) -> Iterator[str]:
    """Names that were waited for, flows and neighbours, for people."""
    yield from _lookup_lines(header)
    yield from _flow_lines(header)
    yield from _neighbour_lines(header)


def _lookup_lines(header: Mapping[str, Any]) -> Iterator[str]:
    totals = header.get("lookup_totals")
    if not totals:
        return
    text = f"{plural(totals['lookups'], 'name lookup')}"
    if totals["unanswered"]:
        text += f", {totals['unanswered']:,} of {totals['queries']:,} queries unanswered"
    if totals["waited"]:
        text += (
            f", waited {seconds(totals['waited']['median_s'])} (median), at most {seconds(totals['waited']['max_s'])}"
        )
    for limit in totals["rate_limits"][:1]:
        text += f"; answered at {limit['rate_per_s']:.3g}/s after a burst of {limit['burst']:.0f}"
    yield text
    slow = [one for one in header["lookups"] if one["waited_s"] is None or one["waited_s"] >= _SLOW_S]
    for one in slow[:_SHOWN]:
        waited = "no answer" if one["waited_s"] is None else seconds(one["waited_s"])
        tries = f", {one['tries']} tries" if one["tries"] > 1 else ""
        yield f"  {printable(one['name'])} {one['type']} of {one['resolver']}: {waited}{tries}"
    if len(slow) > _SHOWN:
        yield f"  and {len(slow) - _SHOWN:,} more (in the JSON: lookups)"


def _flow_lines(header: Mapping[str, Any]) -> Iterator[str]:
    # Queries have lines of their own.
    flows = [one for one in header.get("flows", ()) if one["application"] != "dns" or one["icmp_errors"]]
    if not flows:
        return
    largest = sorted(flows, key=lambda one: (not one["icmp_errors"], -_wire_bytes(one)))
    yield f"{plural(len(flows), 'flow')} of datagrams without those of names"
    for one in largest[:_SHOWN]:
        yield f"  {one['id']}: {_said(one)}"
    if len(flows) > _SHOWN:
        yield f"  and {len(flows) - _SHOWN:,} more (in the JSON: flows)"


def _wire_bytes(flow: Record) -> int:
    return int(flow["client_to_server"]["wire_bytes"] + flow["server_to_client"]["wire_bytes"])


def _said(flow: Record) -> str:
    carried = flow["application"] or flow["protocol"]
    parts = [
        f"{carried} {flow['client']} → {flow['server']}, {si(_wire_bytes(flow), 'B')}, {seconds(flow['duration_s'])}"
    ]
    for name, arrow in (("client_to_server", "→"), ("server_to_client", "←")):
        direction = flow[name]
        if direction["lost"] is not None:
            sent = direction["lost"] + direction["numbered"]
            lost = f" ({share(direction['lost'] / sent)})" if direction["lost"] else ""
            jitter = "" if direction["jitter_s"] is None else f", jitter {seconds(direction['jitter_s'])}"
            held = direction["rate_limit"]
            rate = f", stands at {si(held['rate_bps'], 'bit/s')}" if held else ""
            parts.append(f"{arrow} lost {direction['lost']:,} of {sent:,}{lost}{jitter}{rate}")
        if direction["rtt"]:
            parts.append(f"RTT {seconds(direction['rtt']['min_s'])} to {seconds(direction['rtt']['max_s'])}")
    if flow.get("unanswered_requests"):
        parts.append(f"{flow['unanswered_requests']:,} of {flow['requests']:,} without a reply")
    if flow["unanswered"]:
        parts.append("unanswered")
    if flow["icmp_errors"]:
        parts.append(plural(_errors(flow), "ICMP error"))
    if flow["rate_limit"]:
        parts.append(f"stands at {flow['rate_limit']['rate_per_s']:.3g}/s")
    return "; ".join(parts)


def _neighbour_lines(header: Mapping[str, Any]) -> Iterator[str]:
    silent = [one for one in header.get("neighbours", ()) if not one["replies"]]
    for one in silent[:_SHOWN]:
        asked = f"{plural(one['requests'], 'request')} of {one['asked_by']} for its link address"
        yield f"{one['address']} did not reply to {asked}"
    if len(silent) > _SHOWN:
        yield f"and {len(silent) - _SHOWN:,} more neighbours (in the JSON: neighbours)"
