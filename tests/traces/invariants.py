"""What no document of `vmtrace analyze --json` may say, whatever was captured: where it contradicts itself."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

SETTLED, SURE = 0.6, 0.8
_WAYS = ("client_to_server", "server_to_client")
_UNITS = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}
_CEILING = re.compile(r"no more than ([\d.,]+) ([kMG]?bit/s)")
_SHADOWS = ("loss_recovery", "timeout_wait", "congestion_window")
_ROUNDING, _OF_A_CEILING = 1.02, 0.85
_MAY_BE_NEGATIVE = ("clock_offset_s", "step_s", "offset", "skew", "bps_change")
_PARTS = (
    "link_bytes", "ip_bytes", "tcp_header_bytes", "tcp_option_bytes", "pure_ack_bytes", "retransmitted_bytes",
    "tls_handshake_bytes", "tls_record_bytes", "application_bytes",
)  # fmt: skip

Record = Mapping[str, Any]


def contradictions(document: Record) -> Iterator[str]:
    """Each, with the connection's number."""
    by_id = {connection["id"]: connection for connection in document.get("connections") or []}
    for number, connection in by_id.items():
        yield from (f"connection {number}: {said}" for said in _of_connection(connection))
    for shared in document.get("shared_limits") or []:
        for number in shared["connections"]:
            verdict = (by_id.get(number) or {}).get("verdict") or {}
            if shared["confidence"] >= SURE < (verdict.get("confidence") or 0) and verdict["factor"] in _SHADOWS:
                yield f"connection {number}: {verdict['factor']} is the shadow of a shared {shared['kind']}"
    costs = [one["cost_s"] for one in document.get("findings") or [] if one["cost_s"] is not None]
    if costs != sorted(costs, reverse=True):
        yield f"findings out of order: {costs}"


def _of_connection(connection: Record) -> Iterator[str]:
    yield from _of_account(connection)
    verdict = connection.get("verdict")
    if verdict:
        yield from _of_verdict(verdict, connection)
    for name in _WAYS:
        if connection.get(name):
            yield from (f"{name}: {said}" for said in _of_direction(connection[name]))
    ledger = connection.get("ledger") or {}
    parts = [known for part in _PARTS if (known := ledger.get(part)) is not None]
    if ledger and len(parts) == len(_PARTS) and sum(parts) != ledger["wire_bytes"]:
        yield f"the ledger's parts are {sum(parts)} of {ledger['wire_bytes']}"
    yield from (f"{path} is {number}" for path, number in _numbers(connection) if number < 0)


def _of_account(connection: Record) -> Iterator[str]:
    account = connection["account"]
    total_s = sum(entry["time_s"] for entry in account)
    if abs(total_s - connection["duration_s"]) > 1e-6 * max(1.0, connection["duration_s"]):
        yield f"the account is {total_s} s of {connection['duration_s']} s"
    if any((entry["saves_s"] or 0) > entry["time_s"] * _ROUNDING for entry in account):
        yield "an entry of the account saves more than its time"


def _of_verdict(verdict: Record, connection: Record) -> Iterator[str]:
    others = (entry for entry in connection["account"] if entry["kind"] != verdict["factor"])
    best = max(others, key=lambda entry: entry["saves_s"] or 0, default={"saves_s": 0})
    is_settled = verdict["confidence"] >= SETTLED and verdict["saves_s"] is not None
    if is_settled and (best["saves_s"] or 0) > _ROUNDING * verdict["saves_s"]:
        yield f"{best['kind']} saves {best['saves_s']} s, {verdict['factor']} {verdict['saves_s']} s"
    goodput_bps = (connection.get(verdict["direction"]) or {}).get("goodput_bps")
    ceiling = _CEILING.search(verdict["sentence"])
    if (
        ceiling
        and goodput_bps
        and float(ceiling[1].replace(",", "")) * _UNITS[ceiling[2]] < _OF_A_CEILING * goodput_bps
    ):
        yield f"{verdict['sentence']} But it was {goodput_bps}"
    for one in verdict["what_if"]:
        low, then, high = one["low_bps"] or 0, one["goodput_bps"], one["high_bps"] or float("inf")
        if then is not None and not max(low, one["now_bps"] or 0) <= then * 1.001 <= high * _ROUNDING:
            yield f"what-if out of order: {one}"


def _of_direction(way: Record) -> Iterator[str]:
    if (way.get("unique_payload_bytes") or 0) > (way.get("payload_bytes") or 0):
        yield "more unique bytes than bytes"
    loss = way.get("loss") or {}
    for key in ("retransmission_rate", "loss_rate"):
        if not 0 <= (loss.get(key) or 0) <= 1:
            yield f"{key} is {loss[key]}"
    if (loss.get("spurious_segments") or 0) > (loss.get("retransmitted_segments") or 0):
        yield "more needless retransmissions than retransmissions"
    rtt = way.get("rtt") or {}
    order = [rtt[key] for key in ("min_s", "median_s", "p95_s", "p99_s", "max_s") if rtt.get(key) is not None]
    if order != sorted(order):
        yield f"quantiles out of order: {order}"


def _numbers(value: Any, path: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _numbers(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from _numbers(inner, path)
    elif isinstance(value, (int, float)) and not path.endswith(_MAY_BE_NEGATIVE):
        yield path, value
