"""The JSON document `vmtrace.comparison/1` (`docs/report.md`), and the same as CSV files.

Keys are declared here, or at the rows that are measured; each is written as it is declared.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

from vmtrace.analyze.compare.clock import Clock, Step
from vmtrace.analyze.compare.comparison import Capture, Comparison, ConnectionResult, DirectionResult
from vmtrace.analyze.compare.datagrams import DatagramDirection, FlowResult
from vmtrace.analyze.compare.delays import Delays
from vmtrace.analyze.compare.gaps import Gap, Location
from vmtrace.analyze.tables.csv_files import write_table, write_tables
from vmtrace.analyze.tables.provenance import command_line
from vmtrace.analyze.tables.schema.typed import FLAT, Count, Positive, Share, as_record, bounds, keys, record_of
from vmtrace.analyze.trace import version

SCHEMA = "vmtrace.comparison/1"
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


class ClockRecord(TypedDict):
    """How the receiver's clock goes."""

    reference_ns: Annotated[int, "Where offset_s holds, by the sender's clock."]
    offset_s: Annotated[float | None, "How far the receiver's clock is ahead of the sender's."]
    offset_error_s: Annotated[Positive | None, "The offset lies within this of offset_s."]
    skew_ppm: Annotated[float | None, "How much faster the receiver's clock runs."]
    skew_error_ppm: Annotated[Positive | None, "Its uncertainty."]
    steps: list[Step]
    reason: Annotated[str | None, "Why something of this is null."]


class Delay(TypedDict):
    """Of one direction."""

    delays: Annotated[Delays, FLAT]
    reason: Annotated[str | None, "Why it is null."]


class Direction(TypedDict):
    """What happened to the segments that one end sent."""

    sent_segments: Annotated[
        Count, "Segments of all kinds (data, acknowledgements, SYN, FIN) that this end sent while both were captured."
    ]
    matched_segments: Annotated[Count, "Those that both captures hold."]
    lost_in_network: Annotated[Count, "Those that did not arrive."]
    lost_rate: Annotated[Share | None, "lost_in_network over the segments whose fate is known."]
    sent_data_segments: Annotated[Count, "Segments with payload."]
    lost_data_segments: Annotated[Count, "Of these, those that did not arrive."]
    lost_data_bytes: Annotated[Count, "Payload of these."]
    not_captured: Annotated[Count, "Segments that one of the captures missed: sum of the two below."]
    not_captured_by_sender: Annotated[Count, "Arrived, and not in the capture of the end that sent them."]
    not_captured_by_receiver: Annotated[
        Count, "Arrived, as its acknowledgements prove, and not in the capture of the end that received them."
    ]
    undecided_segments: Annotated[
        Count,
        "Segments without data that are not in the receiving end's capture, which is known to have missed others.",
    ]
    outside_capture: Annotated[Count, "Seen at one end while the other one was not captured; not in sent_segments."]
    network_duplicates: Annotated[Count, "Copies that the network made."]
    one_way_delay: Delay
    gaps_by_location: Annotated[dict[str, Annotated[Count, "Pauses made there."]], keys(*Location)]


class ConnectionDirection(Direction):
    """Of one connection."""

    gaps: Annotated[
        list[Gap], "Pauses between data packets beyond the limit, in time order; the 1000 longest of each end."
    ]


class End(TypedDict):
    """A connection, or a flow of datagrams, as one capture numbers and shows it."""

    id: Annotated[Count, "Its number in that capture, as vmtrace analyze numbers it."]
    client: Annotated[str, "Address and port as seen there."]
    server: Annotated[str, "Likewise."]


class Connection(TypedDict):
    """A connection that both captures hold."""

    id: Annotated[Count, "From 1."]
    sender: End
    receiver: End
    client_at: Annotated[Literal["sender", "receiver"], "Which capture was taken at the client's end."]
    addresses_rewritten: Annotated[bool, "Addresses or ports differ between the captures (NAT)."]
    sequences_rewritten: Annotated[bool, "Sequence numbers differ, too."]
    matched_packets: Annotated[Count, "Wire segments, both ways, that both captures hold."]
    sender_to_receiver: ConnectionDirection
    receiver_to_sender: ConnectionDirection


class DatagramDirectionRecord(TypedDict):
    """What happened to the datagrams that one end sent."""

    sent_datagrams: Annotated[Count, "Datagrams that this end sent while both were captured."]
    matched_datagrams: Annotated[Count, "Those that both captures hold."]
    lost_in_network: Annotated[Count, "Those that did not arrive."]
    lost_rate: Annotated[Share | None, "lost_in_network over sent_datagrams."]
    not_captured: Annotated[Count, "Arrived, and not in the capture of the end that sent them."]
    outside_capture: Annotated[Count, "Sent while the other end was not captured; not in sent_datagrams."]
    network_duplicates: Annotated[Count, "Copies that the network made."]
    reordered: Annotated[Count, "Arrived behind one that was sent later."]
    one_way_delay: Delay


class Flow(TypedDict):
    """A flow of datagrams that both captures hold."""

    id: Annotated[Count, "Its number here."]
    protocol: Annotated[str, "udp, quic, icmp_echo and others."]
    application: Annotated[str | None, "What it carries, by what its datagrams hold."]
    sender: End
    receiver: End
    client_at: Annotated[Literal["sender", "receiver"], "Whose end spoke first, by the sender's capture."]
    sender_to_receiver: DatagramDirectionRecord
    receiver_to_sender: DatagramDirectionRecord


class Evidence(TypedDict):
    """Frames that show something."""

    text: Annotated[str, "What it shows."]
    frames: Annotated[list[Count], "Frames of the capture that findings_of names."]
    display_filter: Annotated[str, "The same for Wireshark."]


class Finding(TypedDict):
    """What held connections back."""

    kind: Annotated[str, "A kind of docs/findings.md, a factor or an outcome."]
    sentence: Annotated[str, "Who, what, how long or how much."]
    confidence: Share
    cost_s: Annotated[Positive | None, "By how much shorter what it concerns would have been without it."]
    share: Annotated[Share | None, "Of the time that was waited for at all in what it concerns."]
    owner: Annotated[str, "Whose it is."]
    connections: Annotated[list[Count], "The first 20, as that capture alone numbers them.", bounds(maxItems=20)]
    connections_count: Count
    flows: Annotated[list[Count], "The same of flows.", bounds(maxItems=20)]
    flows_count: Count
    lookups: Annotated[list[Count], "The same of lookups.", bounds(maxItems=20)]
    lookups_count: Count
    evidence: list[Evidence]
    remedy: Annotated[str, "What to do, and what would confirm it."]
    what_if: Annotated[list[dict[str, Any]], "As in a verdict of docs/json.md."]


class Document(TypedDict):
    """What `vmtrace compare --json` writes. Names end in their unit: _s seconds, _ns Unix nanoseconds, _bytes; rates
    are shares. A number that could not be measured is null, never 0. Within version 1 keys are only added.
    """

    schema: Literal["vmtrace.comparison/1"]
    vmtrace: Annotated[str, "Version."]
    sender: Capture
    receiver: Capture
    matched_packets: Annotated[Count, "Wire segments, both ways, that both captures hold."]
    clock: ClockRecord
    one_way_delay_meaning: Annotated[str, "What the delays are."]
    sender_to_receiver: Direction
    receiver_to_sender: Direction
    connections: list[Connection]
    flows: Annotated[list[Flow], "Each flow of datagrams that both captures hold."]
    findings_of: Annotated[Literal["sender", "receiver"], "The capture at the clients' end: of it the findings are."]
    findings: Annotated[list[Finding], "What held its connections back, the costliest first.", bounds(maxItems=100)]
    warnings: list[str]


def document(comparison: Comparison) -> Record:
    """Everything that was found."""
    return {
        "schema": SCHEMA,
        "vmtrace": version(),
        "sender": as_record(comparison.sender),
        "receiver": as_record(comparison.receiver),
        "matched_packets": comparison.matched_packets,
        "clock": record_of(ClockRecord, comparison.clock, reason=comparison.clock.why_not),
        "one_way_delay_meaning": DELAY_MEANING,
        **{name: _direction(part, comparison.clock) for name, part in zip(DIRECTIONS, comparison.total, strict=True)},
        "connections": [_connection(one, comparison.clock) for one in comparison.connections],
        "flows": [_flow(one, comparison.clock) for one in comparison.flows],
        "findings_of": comparison.findings_of,
        "findings": [one.as_record() for one in comparison.findings],
        "warnings": list(comparison.warnings),
    }


def _connection(one: ConnectionResult, clock: Clock) -> Record:
    return record_of(
        Connection,
        one,
        sender={"id": one.sender_connection, "client": one.sender_client, "server": one.sender_server},
        receiver={"id": one.receiver_connection, "client": one.receiver_client, "server": one.receiver_server},
        **{
            name: _direction(part, clock, ConnectionDirection)
            for name, part in zip(DIRECTIONS, one.directions(), strict=True)
        },
    )


def _flow(one: FlowResult, clock: Clock) -> Record:
    ends = (("sender", one.sender_flow), ("receiver", one.receiver_flow))
    return record_of(
        Flow,
        one,
        **{key: one.sender_flow[key] for key in ("protocol", "application")},
        **{name: {key: flow[key] for key in ("id", "client", "server")} for name, flow in ends},
        **{name: _of_flow(part, clock) for name, part in zip(DIRECTIONS, one.directions(), strict=True)},
    )


def _of_flow(part: DatagramDirection, clock: Clock) -> Record:
    return record_of(DatagramDirectionRecord, part, one_way_delay=_delay(part.one_way_delay, clock, "datagram"))


def _direction(part: DirectionResult, clock: Clock, record: type = Direction) -> Record:
    counts = Counter(gap.location for gap in part.gaps)
    return record_of(
        record,
        part,
        one_way_delay=_delay(part.one_way_delay, clock, "packet"),
        gaps_by_location={location.value: counts[location] for location in Location},
    )


def _delay(found: Delays, clock: Clock, what: str) -> Record:
    reason = None
    if not found.samples:
        nothing = f"no {what} of this direction was captured at both ends"
        reason = clock.why_not if clock.offset_s is None else nothing
    return record_of(Delay, delays=found, reason=reason)


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
