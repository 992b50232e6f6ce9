"""One transfer's packets, measured: the connections of `pairs.jsonl` found in its captures, their numbers together.

Every number is the engine's (`docs/methods.md`). What is chosen here is the capture: data sent by one side is measured
where it was sent, because only there is loss complete and a round trip whole. Where that capture is missing the other
end's is used: its loss is what the receiver can tell, its round trips would be the receiver's own delay and stay out.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vmtrace.analyze.read.records.fields import Endpoint, endpoint
from vmtrace.analyze.read.records.run import Connection, Side, Transfer
from vmtrace.analyze.reports.run.verdict.judged import Judged, of_record
from vmtrace.analyze.tables.schema.typed import LEFT_OUT, Count, Positive, Share, one_of
from vmtrace.analyze.trace import Options, Trace, TraceError, read
from vmtrace.formats.quantities import plural

_SAMPLES_LIMIT = 5_000_000
"""Packets of a transfer of several streams that are held in memory for its exact quantiles."""
_MOST_BYTES_WITH_PACKETS = 64 << 20
"""Of a capture whose packets are kept from its only reading: about a million of them, at 50 bytes each."""


@dataclass(frozen=True, slots=True)
class Measures:
    """What captures say of one transfer; None is what they cannot say."""

    captured_at: Annotated[str, one_of("data sender", "data receiver", "both")] | None = None
    """Where the captures that were used were made: `data sender`, `data receiver`, or `both`, a direction each."""
    problem: Annotated[str | None, LEFT_OUT] = None
    """Why there are no numbers, or not all; one line."""
    connections: Count = 0
    matched_by: Annotated[str, one_of("address", "port")] | None = None
    """`address` or, behind address translation, `port`."""
    handshake_rtt_s: Positive | None = None
    rtt_samples: int | None = None
    rtt_min_s: Positive | None = None
    rtt_mean_s: Positive | None = None
    rtt_median_s: Positive | None = None
    rtt_p95_s: Positive | None = None
    rtt_p99_s: Positive | None = None
    rtt_max_s: Positive | None = None
    data_segments: int | None = None
    retransmitted_segments: int | None = None
    retransmission_rate: Share | None = None
    loss_rate: Share | None = None
    loss_gap_losses: Count | None = None
    """Lost segments whose distances in the stream were tested (`losses.places`)."""
    loss_gap_ratio: Positive | None = None
    """How uneven these distances are, over those of independent losses."""
    loss_gap_chance: Share | None = None
    """The share of independent losses that are at least as uneven."""
    spacing_samples: int | None = None
    spacing_mean_s: Positive | None = None
    spacing_median_s: Positive | None = None
    spacing_p99_s: Positive | None = None
    spacing_max_s: Positive | None = None
    oversize: int | None = None
    oversize_time_s: Positive | None = None
    unwaited_samples: Count | None = None
    unwaited_mean_s: Positive | None = None
    """Time between data packets that nothing from the other end came between (`unwaited`)."""
    unwaited_median_s: Positive | None = None
    ack_to_data_samples: Count | None = None
    ack_to_data_median_s: Positive | None = None
    """From the last acknowledgement to the data that follows it."""
    window_min_bytes: int | None = None
    window_mean_bytes: Positive | None = None
    window_max_bytes: int | None = None
    zero_windows: int | None = None
    window_limited_fraction: Share | None = None
    flight_max_bytes: int | None = None
    verdict_factor: str | None = None
    """What limited the transfer most: of its connection with most payload."""
    verdict_share: float | None = None
    """Of the bytes that were lost, or delivered, by this factor (docs/json.md)."""
    verdict_confidence: float | None = None
    verdict_sentence: str | None = None
    verdict_agreement: Annotated[str, one_of("one_side", "agree", "disagree", "one_open", "both_open")] | None = None
    """What the captures of both sides say of each other's verdicts (`verdict.judged.Agreement`)."""
    verdict: Annotated[str | None, LEFT_OUT] = None
    """All of the verdict, as JSON (`verdict.judged.Judged`)."""
    limits: str | None = None
    """Time in seconds and lost bytes by factor over all connections, as JSON: `{"slow_start": [0.2, 40000]}`."""
    limit_intervals: Annotated[str | None, LEFT_OUT] = None
    """When what limited, by the capture's own clock, as JSON: `[["sender", "slow_start", start_ns, end_ns]]`."""
    outcomes: Annotated[str | None, LEFT_OUT] = None
    """Of connections that did not open, move their data or end well, as JSON: `[["peer_silent", "The server ..."]]`."""
    capture_goodput_bps: Positive | None = None
    unseen_acked_bytes: int | None = None
    """Bytes that were acknowledged, and that the capture missed."""
    two_sides_problem: str | None = None
    """Why the captures of both sides were not compared, if there are two; one line."""
    two_sides_data_segments: Count | None = None
    two_sides_lost_segments: Count | None = None
    """Data segments that were sent at one side and lost before the other, packet by packet."""
    two_sides_loss_rate: Share | None = None
    one_way_delay_min_s: float | None = None
    one_way_delay_median_s: float | None = None
    one_way_delay_p99_s: float | None = None
    one_way_delay_max_s: float | None = None
    clock_offset_s: float | None = None
    """By which the receiver's clock is ahead of the sender's."""
    clock_offset_error_s: Positive | None = None
    clock_skew_ppm: float | None = None
    clock_steps: Count | None = None
    gaps_at_sender: Count | None = None
    """Pauses between data packets that the sending side of the data made."""
    gaps_on_path: Count | None = None
    gaps_at_receiver: Count | None = None
    gaps_path_or_receiver: Count | None = None
    gaps_unlocated: Count | None = None
    pauses_at_sender_s: Positive | None = None
    """Time in these pauses."""
    pauses_on_path_s: Positive | None = None
    pauses_at_receiver_s: Positive | None = None
    pauses_elsewhere_s: Positive | None = None
    """Of those that could not be placed between path and host."""
    longest_gap_s: Positive | None = None
    longest_gap_at: str | None = None
    longest_gap_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Flow:
    """The direction of a connection that carries the transfer's bytes, in the capture that was read."""

    trace: Trace
    connection: int
    """Its number in the capture."""
    row: dict[str, Any]
    direction: str
    at_sender: bool
    """True if the capture was made where the bytes were sent."""
    matched_by: str
    side: Side
    """Of the run: whose capture it is."""

    def get(self, name: str) -> Any:
        """A number of this direction."""
        return self.row.get(f"{self.direction}_{name}")


class NotMeasuredError(Exception):
    """No capture tells of this transfer; the message is one line."""


def measure(transfer: Transfer, files: dict[Side, Path], captures: "Captures | None" = None) -> Measures:
    """The measures of a transfer from its captures. What cannot be read ends nothing: it is the `problem`."""
    try:
        flows, problems = flows_of(transfer, files, captures)
    except NotMeasuredError as error:
        return Measures(problem=str(error))
    return replace(_together(flows), problem="; ".join(problems) or None)


def flows_of(
    transfer: Transfer, files: dict[Side, Path], captures: "Captures | None" = None
) -> tuple[list[Flow], list[str]]:
    """The flows of a transfer, and what was wrong with captures on the way; `NotMeasuredError` if there are none."""
    if not files:
        raise NotMeasuredError(_why_no_file(transfer))
    captures = captures or Captures(files)
    flows, problems = list[Flow](), list[str]()
    for upload in sorted({connection.upload for connection in transfer.connections}, reverse=True):
        wanted = [connection for connection in transfer.connections if connection.upload == upload]
        sides: tuple[Side, Side] = ("sender", "receiver") if upload else ("receiver", "sender")
        for side in sides:
            if side not in files and side not in transfer.captures:
                continue  # nobody said that there would be one
            try:
                flows += captures.find(side, wanted, at_sender=side == sides[0])
                break
            except NotMeasuredError as error:
                problems.append(str(error))
    if not flows:
        raise NotMeasuredError("; ".join(problems) or "pairs.jsonl names no connections")
    return flows, problems


def _why_no_file(transfer: Transfer) -> str:
    errors = [f"{side}'s capture: {one.error}" for side, one in transfer.captures.items() if one.error]
    if errors:
        return "; ".join(errors)
    return "its capture is not in the folder" if transfer.captures else "not captured"


class Captures:
    """The captures of one transfer, each read once, when it is first asked for."""

    def __init__(self, files: dict[Side, Path], packets_of: int = 0) -> None:
        """The packets of so many connections will be wanted, too: of all, where the transfer was alone."""
        self._files = files
        self._packets_of = tuple(range(1, packets_of + 1))
        self._read: dict[Side, Trace] = {}

    def find(self, side: Side, wanted: Sequence[Connection], *, at_sender: bool) -> list[Flow]:
        """The flows of these connections in one side's capture; `NotMeasuredError` if it lacks one of them."""
        trace = self.trace(side)
        ends = _ends(trace)
        rows = match(wanted, ends, exact=True)
        matched_by = "address" if rows else "port"
        rows = rows or match(wanted, ends, exact=False)
        if not rows:
            found = plural(len(ends), "other connection") if ends else "no connection"
            raise NotMeasuredError(f"{side}'s capture holds {found}, not that of the transfer")
        return [
            _flow(trace, row, connection, at_sender=at_sender, matched_by=matched_by)
            for row, connection in zip(rows, wanted, strict=True)
        ]

    def trace(self, side: Side) -> Trace:
        """One side's capture; `NotMeasuredError` if it cannot be read."""
        if side not in self._files:
            raise NotMeasuredError(f"the {side}'s capture is not in the folder")
        if side not in self._read:
            try:
                small = self._files[side].stat().st_size <= _MOST_BYTES_WITH_PACKETS
                # Many small captures at once are quicker with one thread each.
                options = Options(threads=1, packets_of=self._packets_of if small else ())
                self._read[side] = read(self._files[side], options=options)
            except (TraceError, OSError) as error:
                raise NotMeasuredError(f"{side}'s capture: {_reason(error)}") from None
        return self._read[side]


def _reason(error: TraceError | OSError) -> str:
    return " ".join(str(error.reason if isinstance(error, TraceError) else error.strerror).split())


def _ends(trace: Trace) -> list[tuple[Endpoint, Endpoint]]:
    """Client and server of each row."""
    ends = []
    for client, server in zip(trace.values("client"), trace.values("server"), strict=True):
        found = [endpoint(*text.rpartition(":")[::2]) for text in (client, server)]
        ends.append((found[0] or ("", 0), found[1] or ("", 0)))
    return ends


def match(wanted: Sequence[Connection], ends: Sequence[tuple[Endpoint, Endpoint]], *, exact: bool) -> list[int] | None:
    """The row of each connection; None unless every one has exactly one.

    By addresses and ports; not exact by ports alone, as they are behind a translation of addresses one to one.
    """
    rows: dict[object, list[int]] = {}
    for row, pair in enumerate(ends):
        rows.setdefault(_key(*pair, exact=exact), []).append(row)
    found = [rows.get(_key(one.local, one.peer, exact=exact), []) for one in wanted]
    # A port that was used twice within one capture (a repeated attempt): the later one was the transfer.
    return [candidates[-1] for candidates in found] if found and all(found) else None


def _key(one: Endpoint, other: Endpoint, *, exact: bool) -> object:
    return frozenset((one, other)) if exact else tuple(sorted((one[1], other[1])))


def _flow(trace: Trace, row: int, connection: Connection, *, at_sender: bool, matched_by: str) -> Flow:
    content = trace.row(row)
    client = endpoint(*str(content["client"]).rpartition(":")[::2])
    local_is_client = client is not None and client[1] == connection.local[1]
    forth = local_is_client == connection.upload
    direction = "client_to_server" if forth else "server_to_client"
    side: Side = "sender" if at_sender == connection.upload else "receiver"
    return Flow(trace, int(content["id"]), content, direction, at_sender, matched_by, side)


def _together(flows: Sequence[Flow]) -> Measures:
    """The numbers of all flows of a transfer as those of one."""
    places = {flow.at_sender for flow in flows}
    names = {frozenset({True}): "data sender", frozenset({False}): "data receiver"}
    segments = _total(flows, "data_segments")
    return Measures(
        captured_at=names.get(frozenset(places), "both"),
        connections=len(flows),
        matched_by="address" if all(flow.matched_by == "address" for flow in flows) else "port",
        handshake_rtt_s=flows[0].row.get("handshake_rtt_s"),
        **_rtt([flow for flow in flows if flow.at_sender]),
        data_segments=segments,
        retransmitted_segments=_total(flows, "loss_retransmitted_segments"),
        retransmission_rate=_weighted(flows, "loss_retransmission_rate", "data_segments"),
        loss_rate=_weighted(flows, "loss_loss_rate", "data_segments"),
        **_spacing(flows),
        **_window(flows),
        flight_max_bytes=_extreme(max, flows, "flight_max_bytes"),
        **_verdict(flows),
        capture_goodput_bps=flows[0].get("goodput_bps") if len(flows) == 1 else None,
        unseen_acked_bytes=_unseen(flows),
    )


def _verdict(flows: Sequence[Flow]) -> dict[str, Any]:
    judged = [(flow, flow.trace.records([flow.connection])[0]) for flow in flows]
    together: dict[str, list[float | None]] = {}
    intervals = []
    for flow, record in judged:
        direction = record[flow.direction]
        for limit in direction["limits"]:
            known = together.setdefault(limit["factor"], [0.0, 0])
            known[0] = (known[0] or 0.0) + limit["time_s"]
            lost = limit["lost_bytes"]
            known[1] = None if lost is None or known[1] is None else known[1] + lost
        intervals += [
            [flow.side, one["factor"], one["start_ns"], one["end_ns"]] for one in direction.get("limit_intervals", ())
        ]
    limits = json.dumps(together) if together else None
    kept = {
        "limits": limits,
        "limit_intervals": json.dumps(intervals) if intervals else None,
        "outcomes": _outcomes([record for _, record in judged]),
    }
    found = judged_of(judged)
    return kept | (verdict_fields(found) if found is not None else {})


def _outcomes(records: Sequence[dict[str, Any]]) -> str | None:
    found = [record["outcome"] for record in records if record["outcome"]]
    return json.dumps([[one["kind"], one["sentence"]] for one in found]) if found else None


def judged_of(flows: Sequence[tuple[Flow, dict[str, Any]]]) -> Judged | None:
    """The verdict of one capture: on its flow with most payload. None if it is not on the transfer's own data."""
    largest, record = max(flows, key=lambda one: one[0].get("payload_bytes") or 0)
    verdict = record["verdict"]
    if verdict is None or verdict["direction"] != largest.direction:
        return None
    all_s = sum(limit["time_s"] for limit in record[largest.direction]["limits"])
    return of_record(record, largest.side, all_s, largest.get("unique_payload_bytes") or 0)


def verdict_fields(found: Judged) -> dict[str, Any]:
    """A verdict by the names that `Measures` has."""
    return {
        "verdict_factor": found.factor,
        "verdict_share": found.share,
        "verdict_confidence": found.confidence,
        "verdict_sentence": found.sentence,
        "verdict_agreement": found.agreement,
        "verdict": found.as_json(),
    }


def _rtt(flows: Sequence[Flow]) -> dict[str, Any]:
    if not flows:
        return {}
    return {
        "rtt_samples": _total(flows, "rtt_samples"),
        "rtt_min_s": _extreme(min, flows, "rtt_min_s"),
        "rtt_mean_s": _weighted(flows, "rtt_mean_s", "rtt_samples"),
        "rtt_max_s": _extreme(max, flows, "rtt_max_s"),
        **_quantiles(flows, "rtt", {"median_s": 0.5, "p95_s": 0.95, "p99_s": 0.99}),
    }


def _spacing(flows: Sequence[Flow]) -> dict[str, Any]:
    return {
        "spacing_samples": _total(flows, "spacing_samples"),
        "spacing_mean_s": _weighted(flows, "spacing_mean_s", "spacing_samples"),
        "spacing_max_s": _extreme(max, flows, "spacing_max_s"),
        "oversize": _total(flows, "spacing_oversize"),
        "oversize_time_s": _total(flows, "spacing_oversize_time_s"),
        **_quantiles(flows, "spacing", {"median_s": 0.5, "p99_s": 0.99}),
    }


def _window(flows: Sequence[Flow]) -> dict[str, Any]:
    return {
        "window_min_bytes": _extreme(min, flows, "window_min_bytes"),
        "window_mean_bytes": _weighted(flows, "window_mean_bytes", "data_segments"),
        "window_max_bytes": _extreme(max, flows, "window_max_bytes"),
        "zero_windows": _total(flows, "window_zero_windows"),
        "window_limited_fraction": _weighted(flows, "window_limited_fraction", "data_segments"),
    }


def _quantiles(flows: Sequence[Flow], what: str, wanted: dict[str, float]) -> dict[str, float | None]:
    """The engine's for one flow; of several flows from the samples of all, because quantiles cannot be added."""
    if len(flows) == 1:
        return {f"{what}_{name}": flows[0].get(f"{what}_{name}") for name in wanted}
    if sum(flow.get("packets") or 0 for flow in flows) > _SAMPLES_LIMIT:
        return {}
    samples = np.concatenate([*_samples(flows, what), np.empty(0)])
    if not len(samples):
        return {}
    return {f"{what}_{name}": float(np.quantile(samples, share)) for name, share in wanted.items()}


def _samples(flows: Sequence[Flow], what: str) -> Iterator[np.ndarray[Any, np.dtype[np.float64]]]:
    """The samples that the packets of each flow gave. Those of one capture are read and held once."""
    by_trace: dict[int, list[Flow]] = {}
    for flow in flows:
        by_trace.setdefault(id(flow.trace), []).append(flow)
    for together in by_trace.values():
        packets = pa.table(together[0].trace.packets([flow.connection for flow in together]))
        column, connection, from_client = packets[f"{what}_s"], packets["connection"], packets["from_client"]
        for flow in together:
            # A sample stands at the acknowledgement, a spacing at the data that ends it.
            client = (flow.direction == "client_to_server") == (what == "spacing")
            mine = pc.and_(pc.equal(connection, flow.connection), pc.equal(from_client, client))
            yield column.filter(mine).drop_null().cast(pa.float64()).to_numpy()


def _values(flows: Sequence[Flow], name: str) -> list[Any]:
    return [value for flow in flows if (value := flow.get(name)) is not None]


def _total(flows: Sequence[Flow], name: str) -> Any:
    values = _values(flows, name)
    return sum(values) if len(values) == len(flows) else None


def _extreme(choose: Any, flows: Sequence[Flow], name: str) -> Any:
    values = _values(flows, name)
    return choose(values) if values else None


def _weighted(flows: Sequence[Flow], name: str, weight: str) -> float | None:
    """The mean over flows, weighted by what each was measured on; of one flow its number as it is."""
    if len(flows) == 1:
        return flows[0].get(name)  # type: ignore[no-any-return]
    pairs = [(flow.get(name), flow.get(weight)) for flow in flows]
    known = [(value, weight) for value, weight in pairs if value is not None and weight]
    total = sum(weight for _, weight in known)
    return float(sum(value * weight for value, weight in known) / total) if total else None


def _unseen(flows: Sequence[Flow]) -> int:
    traces = {id(flow.trace): flow.trace for flow in flows}
    inputs = [one for trace in traces.values() for one in trace.header().get("inputs", ())]
    return sum((one.get("capture") or {}).get("unseen_acked_bytes") or 0 for one in inputs)
