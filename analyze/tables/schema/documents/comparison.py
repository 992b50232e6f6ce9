"""The records of `vmtrace.comparison/1`."""

from typing import Annotated, Any, Literal, TypedDict

from vmtrace.analyze.tables.schema.typed import Count, Positive, Share, bounds

SCHEMA = "vmtrace.comparison/1"


class Capture(TypedDict):
    path: Annotated[str, "As given."]
    connections: Annotated[Count, "TCP connections in it."]
    packets: Annotated[Count, "Frames in it."]
    start_ns: Annotated[int | None, "First frame."]
    end_ns: Annotated[int | None, "Last frame."]
    dropped: Annotated[Count | None, "Packets that the file says the capture missed."]
    damage: Annotated[str | None, "What of it cannot be read, and where: the first place."]


class ClockSteps(TypedDict):
    at_ns: Annotated[int, "First packet after the step, by the sender's clock."]
    step_s: Annotated[float, "By how much the receiver's clock is further ahead of the sender's than before."]
    clock: Annotated[Literal["sender", "receiver", "unknown"], "Whose clock was set."]


class Clock(TypedDict):
    reference_ns: Annotated[int, "Where offset_s holds, by the sender's clock."]
    offset_s: Annotated[float | None, "How far the receiver's clock is ahead of the sender's."]
    offset_error_s: Annotated[Positive | None, "The offset lies within this of offset_s."]
    skew_ppm: Annotated[float | None, "How much faster the receiver's clock runs."]
    skew_error_ppm: Annotated[Positive | None, "Its uncertainty."]
    steps: list[ClockSteps]
    reason: Annotated[str | None, "Why something of this is null."]


class Delay(TypedDict):
    samples: Annotated[Count, "Packets measured."]
    min_s: Annotated[float | None, "Smallest."]
    mean_s: Annotated[float | None, "Mean."]
    median_s: Annotated[float | None, "Median."]
    p99_s: Annotated[float | None, "99th percentile."]
    max_s: Annotated[float | None, "Largest."]
    reason: Annotated[str | None, "Why it is null."]


class DirectionGapsByLocation(TypedDict):
    sender: Annotated[Count, "Pauses made there."]
    path: Annotated[Count, "Pauses made there."]
    receiver: Annotated[Count, "Pauses made there."]
    path_or_receiver: Annotated[Count, "Pauses made there."]
    unknown: Annotated[Count, "Pauses made there."]


class Direction(TypedDict):
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
    gaps_by_location: DirectionGapsByLocation


class Gap(TypedDict):
    start_ns: Annotated[
        int, "At the end that sent the data, by its clock (steps taken out); by the other one's if only that shows it."
    ]
    sender_gap_s: Annotated[float | None, "Longest pause of the sending end between the two packets."]
    receiver_gap_s: Annotated[float | None, "Pause between their arrivals."]
    location: Annotated[Literal["sender", "path", "receiver", "path_or_receiver", "unknown"], "Where it was made."]
    reason: Annotated[
        Literal[
            "sender_paused",
            "waited_for_acknowledgement",
            "acknowledgement_delayed",
            "waited_for_timeout_after_loss",
            "waited_for_timeout",
            "receiver_acknowledged_late",
            "segments_lost",
            "held_while_receiver_sent",
            "held_and_released_at_path_rate",
            "held_and_released_at_once",
            "held",
            "not_matched",
        ],
        "What shows it.",
    ]
    sender_frames: Annotated[
        Annotated[list[Annotated[int, bounds(minimum=1)]], bounds(minItems=2, maxItems=2)] | None,
        "Frames before and after the pause in that capture.",
    ]
    receiver_frames: Annotated[
        Annotated[list[Annotated[int, bounds(minimum=1)]], bounds(minItems=2, maxItems=2)] | None,
        "Frames before and after the pause in that capture.",
    ]


class ConnectionDirection(Direction):
    gaps: Annotated[
        list[Gap], "Pauses between data packets beyond the limit, in time order; the 1000 longest of each end."
    ]


class End(TypedDict):
    id: Annotated[Count, "Number of the connection in that capture, as vmtrace analyze numbers it."]
    client: Annotated[str, "Address and port as seen there."]
    server: Annotated[str, "Likewise."]


class Connection(TypedDict):
    id: Annotated[Count, "From 1."]
    sender: End
    receiver: End
    client_at: Annotated[Literal["sender", "receiver"], "Which capture was taken at the client's end."]
    addresses_rewritten: Annotated[bool, "Addresses or ports differ between the captures (NAT)."]
    sequences_rewritten: Annotated[bool, "Sequence numbers differ, too."]
    matched_packets: Annotated[Count, "Wire segments, both ways, that both captures hold."]
    sender_to_receiver: ConnectionDirection
    receiver_to_sender: ConnectionDirection


class DatagramDirection(TypedDict):
    sent_datagrams: Annotated[Count, "Datagrams that this end sent while both were captured."]
    matched_datagrams: Annotated[Count, "Those that both captures hold."]
    lost_in_network: Annotated[Count, "Those that did not arrive."]
    lost_rate: Annotated[Share | None, "lost_in_network over sent_datagrams."]
    not_captured: Annotated[Count, "Arrived, and not in the capture of the end that sent them."]
    outside_capture: Annotated[Count, "Sent while the other end was not captured; not in sent_datagrams."]
    network_duplicates: Annotated[Count, "Copies that the network made."]
    reordered: Annotated[Count, "Arrived behind one that was sent later."]
    one_way_delay: Delay


class FlowEnd(TypedDict):
    id: Annotated[Count, "Number of the flow in that capture, as vmtrace analyze numbers it."]
    client: Annotated[str, "Address and port there."]
    server: Annotated[str, "Address and port there."]


class Flow(TypedDict):
    id: Annotated[Count, "Its number here."]
    protocol: Annotated[str, "udp, quic, icmp_echo and others."]
    application: Annotated[str | None, "What it carries, by what its datagrams hold."]
    sender: FlowEnd
    receiver: FlowEnd
    client_at: Annotated[Literal["sender", "receiver"], "Whose end spoke first, by the sender's capture."]
    sender_to_receiver: DatagramDirection
    receiver_to_sender: DatagramDirection


class Evidence(TypedDict):
    text: Annotated[str, "What it shows."]
    frames: Annotated[list[Count], "Frames of the capture that findings_of names."]
    display_filter: Annotated[str, "The same for Wireshark."]


class Finding(TypedDict):
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
    clock: Clock
    one_way_delay_meaning: Annotated[str, "What the delays are."]
    sender_to_receiver: Direction
    receiver_to_sender: Direction
    connections: list[Connection]
    flows: Annotated[list[Flow], "Each flow of datagrams that both captures hold."]
    findings_of: Annotated[Literal["sender", "receiver"], "The capture at the clients' end: of it the findings are."]
    findings: Annotated[list[Finding], "What held its connections back, the costliest first.", bounds(maxItems=100)]
    warnings: list[str]
