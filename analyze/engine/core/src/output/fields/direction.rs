//! A direction of a connection: its bytes, losses, round trips, pauses, window and rates.

use crate::output::fields::field::{Section, field};
use crate::tcp::congestion::evidence::{ShownControl, UNKNOWN};
use crate::tcp::events::factor::Factor;
use crate::tcp::gaps::cause::Cause;

fn causes() -> Vec<&'static str> {
    Cause::ALL.map(Cause::name).to_vec()
}

fn windows() -> Vec<&'static str> {
    vec!["1ms", "10ms", "100ms"]
}

pub(super) fn factors() -> Vec<&'static str> {
    Factor::ALL.map(Factor::name).to_vec()
}

fn controls_seen() -> Vec<&'static str> {
    ShownControl::ALL.map(ShownControl::name).to_vec()
}

fn controls() -> Vec<&'static str> {
    controls_seen().into_iter().chain([UNKNOWN]).collect()
}

/// Why a counter is null that is else always known.
const UNSEEN: &str =
    "where nothing of the direction is in the capture though the other side responds to it (`\"*\": \"not_captured\"`)";

/// Why a number is null that `not_measured` explains.
const REASON: &str = "with a reason in `not_measured`";

/// Why a number of samples is null.
const NO_SAMPLES: &str = "without samples";

pub(super) const DIRECTION: Section = Section {
    name: "direction",
    at: &["connections[].DIRECTION"],
    fields: &[
        field("packets, wire_bytes", "all frames of this direction"),
        field("data_packets", "frames with payload, as captured").null(UNSEEN),
        field(
            "data_segments",
            "segments on the wire: a frame that offload made large counts as the segments it was cut into",
        )
        .null(UNSEEN),
        field("payload_bytes", "payload with retransmissions").null(UNSEEN),
        field("unique_payload_bytes", "payload without retransmissions").null(UNSEEN),
        field("segment_size_bytes", "payload of a full segment: as sent, if that shows, else as offered"),
        field("data_time_s", "first data to the last data or its acknowledgement"),
        field("goodput_bps", "payload without retransmissions over `data_time_s`")
            .null("of data that was never acknowledged, and of a single flight"),
        field(
            "not_measured",
            "why a field is null, by field: a key of `reasons`. A direction without data has one entry, `\"*\": \"no_data\"`, for all that is null; if `window` is null too, that has a reason of its own",
        )
        .left_out("if all was measured"),
        field("loss", "what was retransmitted, lost and reordered"),
        field("rtt", "round trips"),
        field("spacing", "time between data packets"),
        field("window", "the window that limits this direction"),
        field("flight", "bytes out, and not known to have arrived or to be lost:"),
        field("flight.mean_bytes, flight.max_bytes", "their mean and their most").null(REASON),
        field(
            "congestion_control",
            "by what it does after losses, between them and to probe ([methods.md](methods.md), Congestion control by its name):",
        )
        .null("where nothing showed one, and away from the sender"),
        field("congestion_control.name", "which, or `unknown`").values(controls),
        field("congestion_control.confidence", "how sure that is").share().null("of `unknown`"),
        field("congestion_control.candidates", "those for which something was seen, the most likely first").values(controls_seen),
        field(
            "limits",
            "what held the transfer back, and for how long; empty below ten data packets, and where no acknowledgement of the data passed (`not_measured`)",
        ),
        field("limits[].factor", "what it was ([verdict](verdict.md))").values(factors),
        field("limits[].time_s", "for how long"),
        field("limits[].fraction", "of the whole time").share(),
        field("limits[].lost_bytes", "what `reference_bps` would have delivered more in that time")
            .null("without a reference"),
        field(
            "reference_bps",
            "the *possible* rate of sentences and pages: what the transfer reached where only path and congestion control limited it; no more than an allowance that was given, unless the whole transfer reached more",
        ),
        field(
            "limit_intervals",
            "what held it back when, in time order: a round as a whole, for the factor of its longest part, so that the sums are not those of `limits`; of more than a thousand the shorter half are part of the one before",
        )
        .left_out("for files of more than 100 connections, but the one chosen by `--connection`"),
        field("limit_intervals[].start_ns, limit_intervals[].end_ns", "from when to when"),
        field("limit_intervals[].factor", "what held it back").values(factors),
        field("limit_intervals[].bytes", "delivered meanwhile").unit("bytes"),
        field("limit_intervals[].frames", "frames at its ends"),
        field("packets_in_fragments", "packets that came in IP fragments, each in several frames: the loss of one loses all")
            .left_out("if none did"),
        field("nagle_waits", "short segments that Nagle's algorithm kept back ([verdict.md](verdict.md)):")
            .left_out("below three, and away from the sender"),
        field("nagle_waits.count", "how many waited until a late acknowledgement came"),
        field("nagle_waits.time_s", "by how much longer these acknowledgements took in all than the fastest"),
        field("ecn", "ECN congestion marks (RFC 3168, RFC 9768):")
            .left_out("unless both sides agreed to use them, and where the SYN-ACK was not captured"),
        field(
            "ecn.feedback",
            "`classic` (the receiver says that something was marked) or `accurate` (it counts)",
        )
        .values(|| vec!["classic", "accurate"]),
        field(
            "ecn.congestion_events",
            "times that it reported marks on this direction's data, once for all that was in flight when it did",
        ),
        field("ecn.echo_packets", "its packets that report marks"),
        field("ecn.marked_packets", "data packets that were marked, by its count").null("with classic feedback, which does not say"),
        field("ecn.window_reductions", "data packets by which the sender says that it has reduced its window")
            .null("with accurate feedback, which does not ask for it"),
        field("peak_rate_bps", "the most bytes on the wire within any window of a length ([methods.md](methods.md) section 8):")
            .left_out("below 64 data packets"),
        field("peak_rate_bps.*", "not above the true peak, at least half of it").values(windows),
        field("peak_frames", "first and last data packet of these windows:").left_out("as `peak_rate_bps`"),
        field("peak_frames.*", "of that window").values(windows),
        field("token_bucket", "a token bucket on the path:").left_out("if the rates show none"),
        field("token_bucket.kind", "`shaper` (what exceeds the rate waits) or `policer` (it is dropped)")
            .values(|| vec!["shaper", "policer"]),
        field("token_bucket.burst_bytes", "IP bytes that passed beyond the sustained rate before the switch"),
        field("token_bucket.rate_before_bps, token_bucket.sustained_bps", "of IP bytes, before and after it"),
        field("token_bucket.switch_ns", "when the lower rate began to hold, as seen at the capture point"),
        field("token_bucket.refill_bps", "how fast an idle time filled the bucket")
            .null("without one, or if it was full again"),
        field("token_bucket.confidence", "how sure that is").share(),
    ],
};

pub(super) const LOSS: Section = Section {
    name: "loss",
    at: &["connections[].DIRECTION.loss"],
    fields: &[
        field(
            "retransmitted_segments, retransmitted_bytes",
            "data segments with at least one byte sent before, as they pass the capture point (at the receiver: those that arrived)",
        )
        .null(UNSEEN),
        field(
            "by_trigger",
            "retransmissions by trigger. Those of SYN and FIN, keep-alives and window probes are only here",
        ),
        field("by_trigger.*", "of this trigger")
            .values(|| vec!["fast", "rto", "tlp", "rack", "syn", "fin", "probe", "unknown"])
            .null(UNSEEN),
        field(
            "spurious_segments",
            "retransmissions of data that had arrived; of a receiver that reports no duplicates (D-SACK), at least those that its ACKs show",
        )
        .null(REASON),
        field("reordered_segments", "originals that were overtaken").null(UNSEEN),
        field("network_duplicates", "copies that the network made").null(UNSEEN),
        field("lost_segments_inferred", "retransmissions that were needed").null(REASON),
        field(
            "sack_blocks_beyond_sent",
            "SACK blocks about numbers that cannot have been sent. Where they are more than a tenth of all, `spurious_segments`, `lost_segments_inferred` and, away from the receiver, `loss_rate` are null",
        )
        .null(UNSEEN),
        field(
            "unacceptable_packets",
            "packets of this side whose numbers no window allows; they count in nothing else, `packets` included",
        )
        .null(UNSEEN),
        field(
            "lost_after_capture_segments",
            "passed the capture point and were lost behind it (receiving host, path behind a middle point)",
        )
        .null("at the sender, and where the place is not known"),
        field("lost_segments_ipid", "by gaps in the IPv4 identification").null("where that does not work"),
        field("retransmission_rate", "retransmitted of the data segments").share().null(REASON),
        field("loss_rate", "lost of the data segments").share().null(REASON),
        field(
            "bad_checksums",
            "packets with a wrong TCP checksum that neither offload nor rewriting explains, of those that were checked: SYN, data sent before, one in 32 of the others. Their receiver drops them",
        )
        .left_out("if none was found"),
        field("caveat", "what makes these numbers less than sure: a key of `reasons`").left_out("if nothing does"),
        field(
            "loss_events",
            "losses of data that was sent before the first of them was repaired count as one event. Only at the sender",
        ),
        field("loss_event_rate", "those over the data segments").share(),
        field("bursts", "runs of segments that were lost one after another in the stream:")
            .left_out("if nothing was lost"),
        field("bursts.count, bursts.mean_segments, bursts.longest_segments", "their number, mean and greatest length"),
        field(
            "bursts.ratio",
            "mean length over that of independent losses: 1 for those, more for losses that come together",
        ),
        field("bursts.lengths", "number of each length, in segments:"),
        field("bursts.lengths.*", "of this length").values(|| vec!["1", "2", "3", "4_to_7", "8_to_15", "16_or_more"]),
        field(
            "lost_acknowledgements_ipid",
            "acknowledgements of this data that were lost before the capture point, by gaps in the IPv4 identification. Not at the receiver, nor where identifications prove nothing",
        ),
        field("acknowledgement_loss_rate", "their share of those sent").share(),
    ],
};

pub(super) const RTT: Section = Section {
    name: "rtt",
    at: &["connections[].DIRECTION.rtt"],
    fields: &[
        field("method", "how samples were taken: `sequence`").values(|| vec!["sequence"]).null(NO_SAMPLES),
        field("samples", "number of clean samples"),
        field("min_s, mean_s, stddev_s, median_s, p95_s, p99_s, max_s", "of the samples").null(NO_SAMPLES),
        field("rejected", "segments that gave no clean sample, by reason:"),
        field("rejected.*", "for this reason").values(|| {
            vec![
                "retransmitted",
                "later_segment_covered",
                "held_back_by_hole",
                "not_all_seen",
                "acknowledged_before_data",
            ]
        }),
        field("delayed_acknowledgements", "of the samples those that a delayed acknowledgement lengthened"),
        field("without_stalls", "the samples without those that a stall of a host lengthened:")
            .left_out("if there are none of these"),
        field("without_stalls.left_out, without_stalls.samples", "number of these, and of the others"),
        field(
            "without_stalls.mean_s, without_stalls.median_s, without_stalls.p95_s, without_stalls.p99_s",
            "of the others",
        )
        .null("if there are none"),
        field("recovery", "round trips while losses are repaired, not among the samples above:")
            .left_out("if there are none"),
        field(
            "recovery.sack_samples, recovery.timestamp_samples",
            "number of those identified by SACK, and by the timestamp of a retransmission",
        ),
        field("recovery.min_s, recovery.mean_s, recovery.max_s", "of both"),
    ],
};

pub(super) const SPACING: Section = Section {
    name: "spacing",
    at: &["connections[].DIRECTION.spacing"],
    fields: &[
        field("samples", "pairs of consecutive data frames"),
        field("mean_s, median_s, stddev_s, p99_s, max_s", "time between them").null(NO_SAMPLES),
        field("oversize, oversize_time_s", "unusually long pauses: number and total").null(NO_SAMPLES),
        field("oversize_threshold_s", "from this on a pause is unusually long"),
        field("oversize_rule", "`fixed` by `--oversize-abs` or `adaptive`").values(|| vec!["fixed", "adaptive"]),
        field("by_cause", "of the unusually long pauses, by cause:"),
        field("by_cause.*", "their number").values(causes),
        field("by_cause.*_s", "their total").values(causes),
        field(
            "stalls",
            "pauses above 10 ms (or `--oversize-abs`, if that is shorter), unusually long or not, whose cause is `local_host_stall` or `remote_host_stall`",
        ),
        field("stalls_per_minute", "for each minute of the data time").unit("1/min"),
        field("stalled_time_s, longest_stall_s", "their total and the longest"),
        field("stall_period_s", "time after which stalls come again; `not_measured` says why there is none"),
        field("stall_lost_bytes", "what would have crossed meanwhile at the rate outside the stalls"),
        field("anomalies", "the 256 longest of the unusually long pauses, in time order"),
        field("anomalies[].start_ns", "packet before it"),
        field("anomalies[].gap_s", "its length"),
        field("anomalies[].cause", "why there was a pause").values(causes),
        field("anomalies[].confidence", "how sure that is").share(),
        field("anomalies[].frames", "numbers of the frames before and after it"),
        field("anomalies_not_listed", "unusually long pauses beyond those in `anomalies`"),
    ],
};

pub(super) const WINDOW: Section = Section {
    name: "window",
    at: &["connections[].DIRECTION.window"],
    fields: &[
        field("scale", "shift").null("if the handshake is not in the capture"),
        field("min_bytes, mean_bytes, max_bytes", "of what was advertised").null(REASON),
        field("zero_windows", "packets that said it is closed (replies to probes, too)"),
        field("zero_window_time_s", "for how long it was closed in all"),
        field("limited_time_s", "time in which it left no room for a segment").null(REASON),
        field("limited_fraction", "that, of the time that data was sent").share().null(REASON),
    ],
};
