"""The JSON document `vmtrace.comparison/1` (`docs/report.md`), and the same as CSV files."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from vmtrace.analyze.compare.clock import Clock
from vmtrace.analyze.compare.comparison import Capture, Comparison, ConnectionResult, DirectionResult
from vmtrace.analyze.compare.datagrams import DatagramDirection, FlowResult
from vmtrace.analyze.compare.gaps import Gap, Location
from vmtrace.analyze.tables.csv_files import write_table, write_tables
from vmtrace.analyze.tables.provenance import command_line
from vmtrace.analyze.tables.schema.documents.comparison import SCHEMA
from vmtrace.analyze.trace import version

DIRECTIONS = ("sender_to_receiver", "receiver_to_sender")
DELAY_MEANING = (
    "from the sending end's capture to the receiving end's, with the clock's offset, skew and steps taken out; true to"
    " within clock.offset_error_s, because the smallest delays of both directions are taken to be equal"
)
_GAP_COLUMNS = (
    *("connection", "direction", "start_ns", "sender_gap_s", "receiver_gap_s", "location", "reason"),
    *("sender_frames_before", "sender_frames_after", "receiver_frames_before", "receiver_frames_after"),
)
_STEP_COLUMNS = ("at_ns", "step_s", "clock")

Record = dict[str, Any]


def document(comparison: Comparison) -> Record:
    """Everything that was found."""
    return {
        "schema": SCHEMA,
        "vmtrace": version(),
        "sender": _capture(comparison.sender),
        "receiver": _capture(comparison.receiver),
        "matched_packets": comparison.matched_packets,
        "clock": _clock(comparison.clock),
        "one_way_delay_meaning": DELAY_MEANING,
        **{name: _direction(part, comparison.clock) for name, part in zip(DIRECTIONS, comparison.total, strict=True)},
        "connections": [_connection(one, comparison.clock) for one in comparison.connections],
        "flows": [_flow(one, comparison.clock) for one in comparison.flows],
        "findings_of": comparison.findings_of,
        "findings": [one.as_record() for one in comparison.findings],
        "warnings": list(comparison.warnings),
    }


def _capture(capture: Capture) -> Record:
    return asdict(capture)


def _clock(clock: Clock) -> Record:
    return {
        "reference_ns": clock.reference_ns,
        "offset_s": clock.offset_s,
        "offset_error_s": clock.offset_error_s,
        "skew_ppm": clock.skew_ppm,
        "skew_error_ppm": clock.skew_error_ppm,
        "steps": [asdict(step) for step in clock.steps],
        "reason": clock.why_not,
    }


def _connection(one: ConnectionResult, clock: Clock) -> Record:
    return {
        "id": one.id,
        "sender": {"id": one.sender_connection, "client": one.sender_client, "server": one.sender_server},
        "receiver": {"id": one.receiver_connection, "client": one.receiver_client, "server": one.receiver_server},
        "client_at": one.client_at,
        "addresses_rewritten": one.addresses_rewritten,
        "sequences_rewritten": one.sequences_rewritten,
        "matched_packets": one.matched_packets,
        **{
            name: _direction(part, clock) | {"gaps": [_gap(gap) for gap in part.gaps]}
            for name, part in zip(DIRECTIONS, one.directions(), strict=True)
        },
    }


def _flow(one: FlowResult, clock: Clock) -> Record:
    ends = (("sender", one.sender_flow), ("receiver", one.receiver_flow))
    return {
        "id": one.id,
        **{key: one.sender_flow[key] for key in ("protocol", "application")},
        **{name: {key: flow[key] for key in ("id", "client", "server")} for name, flow in ends},
        "client_at": one.client_at,
        **{name: _of_flow(part, clock) for name, part in zip(DIRECTIONS, one.directions(), strict=True)},
    }


def _of_flow(part: DatagramDirection, clock: Clock) -> Record:
    delay = asdict(part.one_way_delay)
    reason = None
    if not part.one_way_delay.samples:
        reason = clock.why_not if clock.offset_s is None else "no datagram of this direction was captured at both ends"
    return {
        "sent_datagrams": part.sent_datagrams,
        "matched_datagrams": part.matched_datagrams,
        "lost_in_network": part.lost_in_network,
        "lost_rate": part.lost_rate,
        "not_captured": part.not_captured,
        "outside_capture": part.outside_capture,
        "network_duplicates": part.network_duplicates,
        "reordered": part.reordered,
        "one_way_delay": delay | {"reason": reason},
    }


def _direction(part: DirectionResult, clock: Clock) -> Record:
    delay = asdict(part.one_way_delay)
    reason = None
    if not part.one_way_delay.samples:
        reason = clock.why_not if clock.offset_s is None else "no packet of this direction was captured at both ends"
    return {
        "sent_segments": part.sent_segments,
        "matched_segments": part.matched_segments,
        "lost_in_network": part.lost_in_network,
        "lost_rate": part.lost_rate,
        "sent_data_segments": part.sent_data_segments,
        "lost_data_segments": part.lost_data_segments,
        "lost_data_bytes": part.lost_data_bytes,
        "not_captured": part.not_captured,
        "not_captured_by_sender": part.not_captured_by_sender,
        "not_captured_by_receiver": part.not_captured_by_receiver,
        "undecided_segments": part.undecided_segments,
        "outside_capture": part.outside_capture,
        "network_duplicates": part.network_duplicates,
        "one_way_delay": delay | {"reason": reason},
        "gaps_by_location": _by_location(part),
    }


def _by_location(part: DirectionResult) -> Record:
    counts = Counter(gap.location for gap in part.gaps)
    return {location.value: counts[location] for location in Location}


def _gap(gap: Gap) -> Record:
    return {
        "start_ns": gap.start_ns,
        "sender_gap_s": gap.sender_gap_s,
        "receiver_gap_s": gap.receiver_gap_s,
        "location": gap.location.value,
        "reason": gap.reason.value,
        "sender_frames": list(gap.sender_frames) if gap.sender_frames else None,
        "receiver_frames": list(gap.receiver_frames) if gap.receiver_frames else None,
    }


def write_csv(comparison: Comparison, folder: Path) -> None:
    """Write connections.csv (a row for each direction of each), gaps.csv, clock-steps.csv and provenance.json."""
    content = document(comparison)
    facts = {name: content[name] for name in ("schema", "vmtrace", "sender", "receiver", "clock")}
    tables = {"connections": list(_direction_rows(content)), "flows": list(_flow_rows(content))}
    write_tables(tables, {**facts, "command": command_line()}, folder)
    write_table(folder, "gaps", list(_gap_rows(content)), _GAP_COLUMNS)
    write_table(folder, "clock_steps", content["clock"]["steps"], _STEP_COLUMNS)


def _direction_rows(content: Record) -> Iterator[Record]:
    for one in content["connections"]:
        for name in DIRECTIONS:
            row = {"connection": one["id"], "direction": name}
            for key, value in one[name].items():
                if isinstance(value, dict):
                    row |= {f"{key}_{inner}": number for inner, number in value.items()}
                elif key != "gaps":
                    row[key] = value
            yield row


def _flow_rows(content: Record) -> Iterator[Record]:
    for one in content["flows"]:
        for name in DIRECTIONS:
            who = {"flow": one["id"], "protocol": one["protocol"], "application": one["application"]}
            delay = {f"one_way_delay_{key}": value for key, value in one[name]["one_way_delay"].items()}
            counts = {key: value for key, value in one[name].items() if key != "one_way_delay"}
            yield (
                who
                | {"client": one["sender"]["client"], "server": one["sender"]["server"]}
                | {"direction": name}
                | counts
                | delay
            )


def _gap_rows(content: Record) -> Iterator[Record]:
    for one in content["connections"]:
        for name in DIRECTIONS:
            for gap in one[name]["gaps"]:
                row = {"connection": one["id"], "direction": name} | gap
                for end in ("sender_frames", "receiver_frames"):
                    before, after = row.pop(end) or (None, None)
                    row |= {f"{end}_before": before, f"{end}_after": after}
                yield row
