//! What is said of a connection, field by field in the order of the JSON contract `vmtrace.analysis/1`.

use std::io::Write;
use std::net::Ipv6Addr;

use crate::output::fixed::{push_ipv4, push_unsigned, thousandths};
use crate::output::key::{Key, key};
use crate::tcp::events::close::Close;
use crate::tcp::events::ecn::{Echoes, Feedback};
use crate::tcp::events::retransmission::Trigger;
use crate::tcp::gaps::causes::Cause;
use crate::tcp::limits::summary::LimitsSummary;
use crate::tcp::limits::watch::FEWEST_DATA_PACKETS;
use crate::tcp::loss::bursts::LossBursts;
use crate::tcp::rates::peaks::{WINDOWS_NS, rate_bps};
use crate::tcp::rtt::covering::WithoutStalls;
use crate::tcp::rtt::samples::{Answered, RecoveryTrips};
use crate::tcp::stats::moments::Statistics;
use crate::tcp::summary::summary::{
    AcknowledgementLoss, ConnectionSummary, DirectionDetails, DirectionSummary, Durations, GapCauses, SpacingSummary,
};
use crate::tls::facts::{EarlyData, TlsFacts};

/// Parts of a description that most connections have word for word in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Common {
    /// The counters of a direction that repeated, lost and reordered nothing.
    NoLoss,
    /// Round trips of a direction without a sample, clean or not.
    NoRoundTrips,
    /// Spacing of fewer than two data packets.
    NoSpacing,
}

impl Common {
    /// How many there are.
    pub const COUNT: usize = 3;
}

/// Names of [`crate::tcp::rtt::samples::Rejected`], by number.
const REJECTED_KEYS: [Key; 5] = [
    key!("retransmitted", IfSet),
    key!("later_segment_covered", IfSet),
    key!("held_back_by_hole", IfSet),
    key!("not_all_seen", IfSet),
    key!("acknowledged_before_data", IfSet),
];

/// Classes of [`LossBursts::lengths`], in segments.
const BURST_LENGTHS: [Key; 6] = [
    key!("1", IfSet),
    key!("2", IfSet),
    key!("3", IfSet),
    key!("4_to_7", IfSet),
    key!("8_to_15", IfSet),
    key!("16_or_more", IfSet),
];

/// Takes the description. Every method is called for every connection in the same order, whatever is known of it, except
/// inside an object that [`Visitor::object`] declines and a part that [`Visitor::part`] knows already.
pub trait Visitor {
    /// An object begins; false if its fields are not wanted because it is absent.
    fn object(&mut self, key: Key, present: bool) -> bool;
    /// The object ends.
    fn end(&mut self);
    /// An object that is left out where it is absent; false if its fields are not wanted.
    fn optional_object(&mut self, key: Key, present: bool) -> bool;
    /// An instant that may not be known.
    fn known_instant(&mut self, key: Key, value: Option<i64>);
    /// The numbers of two frames.
    fn frames(&mut self, key: Key, frames: Option<[u32; 2]>);
    /// An integer.
    fn integer(&mut self, key: Key, value: Option<u64>);
    /// An instant, Unix nanoseconds.
    fn instant(&mut self, key: Key, value: i64);
    /// A duration given in nanoseconds, told in seconds.
    fn seconds(&mut self, key: Key, value_ns: Option<f64>);
    /// A duration of whole nanoseconds, told in seconds.
    fn exact_seconds(&mut self, key: Key, value_ns: Option<i64>);
    /// A share, a mean, a rate.
    fn number(&mut self, key: Key, value: Option<f64>);
    /// A word of our own, which has nothing in it that would have to be escaped.
    fn word(&mut self, key: Key, value: Option<&'static str>);
    /// A text out of the capture.
    fn text(&mut self, key: Key, value: Option<&str>);
    /// Address and port of the client (0) or the server (1).
    fn endpoint(&mut self, key: Key, summary: &ConnectionSummary, side: usize);
    /// Yes or no.
    fn flag(&mut self, key: Key, value: Option<bool>);
    /// A list of texts.
    fn texts(&mut self, key: Key, values: &[String]);
    /// Reasons by field, both words of our own.
    fn reasons(&mut self, key: Key, reasons: impl Iterator<Item = (&'static str, &'static str)>);
    /// The anomalies of a direction's spacing.
    fn anomalies(&mut self, spacing: Option<&SpacingSummary>);
    /// What limited a direction.
    fn limits(&mut self, limits: Option<&LimitsSummary>);
    /// Why it was slow.
    fn verdict(&mut self, summary: &ConnectionSummary);
    /// A part told by `describe`. Given as [`Common`], it is the same for every connection that gives it so: the visitor may
    /// repeat what it made of it the first time.
    #[inline]
    fn part(&mut self, common: Option<Common>, describe: impl FnOnce(&mut Self))
    where
        Self: Sized,
    {
        let _ = common;
        describe(self);
    }
    /// Fields told by `describe`. Without `any` of them set, a visitor that leaves out what is not set may pass them over.
    #[inline(always)]
    fn seldom(&mut self, any: bool, describe: impl FnOnce(&mut Self))
    where
        Self: Sized,
    {
        let _ = any;
        describe(self);
    }
}

/// Appends `address:port`, IPv6 in brackets, and the character `end`.
pub fn push_endpoint(out: &mut Vec<u8>, summary: &ConnectionSummary, side: usize, end: u8) {
    if summary.ip_version == 4 {
        let [a, b, c, d, e, f, g, h, ..] = summary.addresses;
        push_ipv4(out, if side == 0 { [a, b, c, d] } else { [e, f, g, h] });
        out.push(b':');
    } else {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&summary.addresses[side * 16..side * 16 + 16]);
        // A Vec takes all that is written.
        let _ = write!(out, "[{}]:", Ipv6Addr::from(bytes));
    }
    push_unsigned(out, u64::from(summary.ports[side]), end);
}

/// `address:port` as text.
pub fn endpoint(summary: &ConnectionSummary, side: usize) -> String {
    let mut out = Vec::new();
    push_endpoint(&mut out, summary, side, b' ');
    out.pop();
    String::from_utf8(out).unwrap_or_default()
}

/// Describes a connection.
pub fn connection(summary: &ConnectionSummary, visitor: &mut impl Visitor) {
    visitor.integer(key!("id"), Some(u64::from(summary.id)));
    visitor.integer(key!("input"), Some(u64::from(summary.input)));
    visitor.endpoint(key!("client"), summary, 0);
    visitor.endpoint(key!("server"), summary, 1);
    visitor.instant(key!("start_ns"), summary.start_ns);
    visitor.exact_seconds(key!("duration_s"), Some(summary.end_ns - summary.start_ns));
    visitor.integer(key!("first_frame"), Some(u64::from(summary.first_frame)));
    opening_and_closing(summary, visitor);
    visitor.object(key!("vantage"), true);
    visitor.word(key!("side"), Some(summary.vantage.side.name()));
    // An estimate: more digits would be pretence.
    visitor.number(key!("confidence"), Some(thousandths(summary.vantage.confidence)));
    visitor.end();
    offload(summary, visitor);
    let keys = [key!("client_to_server"), key!("server_to_client")];
    for (side, (key, direction)) in keys.into_iter().zip(&summary.directions).enumerate() {
        visitor.object(key, true);
        self::direction(direction, summary.limits(side), visitor);
        visitor.end();
    }
    if visitor.object(key!("tls"), summary.tls.is_some()) {
        tls(summary.tls.as_deref(), visitor);
        visitor.end();
    }
    ledger(summary, visitor);
    visitor.verdict(summary);
}

fn opening_and_closing(summary: &ConnectionSummary, visitor: &mut impl Visitor) {
    visitor.object(key!("handshake"), true);
    visitor.flag(key!("complete"), Some(summary.handshake_complete));
    let [syn_retransmissions, syn_ack_retransmissions] = summary.opening_repeats();
    visitor.integer(key!("syn_retransmissions"), syn_retransmissions);
    visitor.integer(key!("syn_ack_retransmissions"), syn_ack_retransmissions);
    visitor.exact_seconds(key!("rtt_s"), summary.handshake_rtt_ns());
    visitor.exact_seconds(key!("client_loop_s", IfKnown), summary.handshake_loops_ns[0]);
    visitor.exact_seconds(key!("server_loop_s", IfKnown), summary.handshake_loops_ns[1]);
    visitor.end();
    let close = match summary.close {
        Close::Fin => "fin",
        Close::Reset => "reset",
        Close::Open => "open",
    };
    visitor.word(key!("close"), Some(close));
    visitor.word(key!("reset_by", IfKnown), summary.reset_by.map(|side| if side == 0 { "client" } else { "server" }));
    visitor.exact_seconds(key!("teardown_s", IfKnown), summary.teardown_ns);
}

fn offload(summary: &ConnectionSummary, visitor: &mut impl Visitor) {
    visitor.object(key!("offload"), true);
    visitor.flag(key!("coalesced"), Some(summary.directions.iter().any(|direction| direction.superpackets > 0)));
    let largest = summary.directions.iter().map(|direction| u64::from(direction.largest_payload)).max();
    visitor.integer(key!("largest_segment_bytes"), largest);
    visitor.end();
}

/// Describes a direction.
pub fn direction(summary: &DirectionSummary, limits: Option<&LimitsSummary>, visitor: &mut impl Visitor) {
    visitor.integer(key!("packets"), Some(summary.packets));
    visitor.integer(key!("wire_bytes"), Some(summary.wire_bytes));
    visitor.integer(key!("data_packets"), Some(summary.data_packets));
    visitor.integer(key!("data_segments"), Some(summary.data_segments));
    visitor.integer(key!("payload_bytes"), Some(summary.payload_bytes));
    visitor.integer(key!("unique_payload_bytes"), Some(summary.unique_payload_bytes));
    visitor.integer(
        key!("segment_size_bytes", IfKnown),
        (summary.data_packets > 0).then_some(u64::from(summary.segment_size)),
    );
    visitor.number(key!("goodput_bps"), summary.goodput_bps());
    visitor.exact_seconds(key!("data_time_s", IfKnown), summary.data_time_ns.get().map(|time| time as i64));
    loss(summary, visitor);
    let no_trips = summary.round_trips.is_none() && summary.rejected == [0; 5] && in_recovery(summary).is_none();
    visitor.part(no_trips.then_some(Common::NoRoundTrips), |visitor| round_trips(summary, visitor));
    let no_spacing = summary.spacing.durations.is_none();
    visitor.part(no_spacing.then_some(Common::NoSpacing), |visitor| spacing(summary, visitor));
    window(summary, visitor);
    visitor.object(key!("flight"), true);
    visitor.number(key!("mean_bytes"), summary.flight.map(|(mean, _)| mean));
    visitor.integer(key!("max_bytes"), summary.flight.map(|(_, max)| max.get()));
    visitor.end();
    visitor.seldom(summary.details.is_some(), |visitor| nagle_waits(summary, visitor));
    congestion_marks(summary, visitor);
    peak_rates(summary, visitor);
    token_bucket(summary, visitor);
    visitor.limits(limits);
    visitor.number(
        key!("reference_bps", IfKnown),
        limits.and_then(|limits| limits.reference_bytes_s).map(|bytes_s| bytes_s * 8.0),
    );
    // Fewer packets are too few to judge, which needs no reason of its own.
    let unjudged = limits.is_none() && summary.data_packets >= FEWEST_DATA_PACKETS;
    let why = if summary.timeless { "no_time" } else { "no_acknowledgement" };
    let no_window_time = summary.timeless && summary.data_packets > 0;
    let more = [("limits", unjudged, why), ("window.limited_time_s", no_window_time, "no_time")];
    let more = more.into_iter().filter(|(_, applies, _)| *applies).map(|(field, _, why)| (field, why));
    let reasons = summary.not_measured().chain(more);
    visitor.reasons(key!("not_measured", IfKnown), reasons);
}

fn nagle_waits(summary: &DirectionSummary, visitor: &mut impl Visitor) {
    let waits = summary.nagle_waits();
    if visitor.optional_object(key!("nagle_waits", IfKnown), waits.is_some()) {
        visitor.integer(key!("count"), waits.map(|waits| u64::from(waits.count)));
        visitor.seconds(key!("time_s"), waits.map(|waits| waits.time_ns as f64));
        visitor.end();
    }
}

fn congestion_marks(summary: &DirectionSummary, visitor: &mut impl Visitor) {
    let congestion = summary.details.as_ref().and_then(|details| details.congestion);
    if visitor.optional_object(key!("ecn", IfKnown), congestion.is_some()) {
        let of = |feedback: Feedback, value: fn(&Echoes) -> u64| {
            congestion.filter(|(agreed, _)| *agreed == feedback).map(|(_, echoes)| value(&echoes))
        };
        visitor.word(key!("feedback"), congestion.map(|(feedback, _)| feedback.name()));
        visitor.integer(key!("congestion_events"), congestion.map(|(_, echoes)| u64::from(echoes.events)));
        visitor.integer(key!("echo_packets"), congestion.map(|(_, echoes)| echoes.packets));
        visitor.integer(key!("marked_packets"), of(Feedback::Accurate, |echoes| echoes.marked));
        visitor.integer(key!("window_reductions"), of(Feedback::Classic, |echoes| u64::from(echoes.reductions)));
        visitor.end();
    }
}

fn peak_rates(summary: &DirectionSummary, visitor: &mut impl Visitor) {
    let keys = [key!("1ms"), key!("10ms"), key!("100ms")];
    let windows = keys.into_iter().zip(WINDOWS_NS).enumerate();
    let peak = |window: usize| summary.peaks.as_ref().map(|peaks| &peaks[window]);
    if visitor.optional_object(key!("peak_rate_bps", IfKnown), summary.peaks.is_some()) {
        for (window, (key, window_ns)) in windows.clone() {
            visitor.number(key, peak(window).map(|peak| rate_bps(peak, window_ns)));
        }
        visitor.end();
    }
    if visitor.optional_object(key!("peak_frames", IfKnown), summary.peaks.is_some()) {
        for (window, (key, _)) in windows {
            visitor.frames(key, peak(window).map(|peak| peak.frames));
        }
        visitor.end();
    }
}

fn token_bucket(summary: &DirectionSummary, visitor: &mut impl Visitor) {
    let bucket = summary.token_bucket.as_deref();
    if visitor.optional_object(key!("token_bucket", IfKnown), bucket.is_some()) {
        let whole = |value: f64| value.round() as u64;
        visitor.word(key!("kind"), bucket.map(|bucket| bucket.kind.name()));
        visitor.integer(key!("burst_bytes"), bucket.map(|bucket| whole(bucket.burst_bytes)));
        visitor.number(key!("rate_before_bps"), bucket.map(|bucket| bucket.rate_before_bps.round()));
        visitor.number(key!("sustained_bps"), bucket.map(|bucket| bucket.sustained_bps.round()));
        visitor.known_instant(key!("switch_ns"), bucket.map(|bucket| bucket.switch_ns));
        visitor.number(key!("refill_bps"), bucket.and_then(|bucket| bucket.refill_bps).map(f64::round));
        visitor.number(key!("confidence"), bucket.map(|bucket| thousandths(bucket.confidence)));
        visitor.end();
    }
}

fn loss(summary: &DirectionSummary, visitor: &mut impl Visitor) {
    visitor.object(key!("loss"), true);
    visitor.part(summary.loss.is_clean().then_some(Common::NoLoss), |visitor| loss_counters(summary, visitor));
    visitor.integer(key!("lost_segments_ipid"), summary.lost_by_identification.get());
    visitor.number(key!("retransmission_rate"), summary.retransmission_rate());
    visitor.number(key!("loss_rate"), summary.loss_rate());
    visitor.word(key!("caveat", IfKnown), summary.caveat());
    let details = summary.details.as_deref();
    visitor.seldom(details.is_some(), |visitor| loss_details(details, summary, visitor));
    visitor.end();
}

fn loss_details(details: Option<&DirectionDetails>, summary: &DirectionSummary, visitor: &mut impl Visitor) {
    let bursts = details.and_then(|details| details.bursts.as_ref());
    let events = bursts.filter(|_| summary.beside_sender).map(|bursts| bursts.events);
    visitor.integer(key!("loss_events", IfKnown), events.map(u64::from));
    visitor.number(
        key!("loss_event_rate", IfKnown),
        events.map(|events| f64::from(events) / summary.data_segments.max(1) as f64),
    );
    if visitor.optional_object(key!("bursts", IfKnown), bursts.is_some()) {
        visitor.integer(key!("count"), bursts.map(LossBursts::count));
        visitor.number(key!("mean_segments"), bursts.and_then(LossBursts::mean_segments));
        visitor.integer(key!("longest_segments"), bursts.map(|bursts| u64::from(bursts.longest)));
        visitor.number(key!("ratio"), bursts.and_then(|bursts| bursts.ratio(summary.loss_rate().unwrap_or(0.0))));
        visitor.object(key!("lengths"), true);
        for (class, key) in BURST_LENGTHS.into_iter().enumerate() {
            visitor.integer(key, bursts.map(|bursts| u64::from(bursts.lengths[class])));
        }
        visitor.end();
        visitor.end();
    }
    let acknowledgements = details.and_then(|details| details.acknowledgements);
    visitor.integer(key!("lost_acknowledgements_ipid", IfKnown), acknowledgements.map(|both| both.lost));
    visitor.number(
        key!("acknowledgement_loss_rate", IfKnown),
        acknowledgements.as_ref().and_then(AcknowledgementLoss::rate),
    );
}

fn loss_counters(summary: &DirectionSummary, visitor: &mut impl Visitor) {
    let counters = &summary.loss;
    let count = |value: u32| Some(u64::from(value));
    let trigger = |trigger: Trigger| count(counters.by_trigger[trigger as usize]);
    visitor.integer(key!("retransmitted_segments"), count(counters.retransmitted));
    visitor.integer(key!("retransmitted_bytes"), Some(counters.retransmitted_bytes));
    visitor.object(key!("by_trigger"), true);
    visitor.integer(key!("fast"), trigger(Trigger::Fast));
    visitor.integer(key!("rto"), trigger(Trigger::Rto));
    visitor.integer(key!("tlp"), trigger(Trigger::Tlp));
    visitor.integer(key!("rack"), trigger(Trigger::Rack));
    visitor.integer(key!("syn"), count(counters.syn));
    visitor.integer(key!("fin"), count(counters.fin));
    visitor.integer(key!("probe"), count(counters.probes));
    visitor.integer(key!("unknown"), trigger(Trigger::Unknown));
    visitor.end();
    visitor.integer(key!("spurious_segments"), count(counters.spurious));
    visitor.integer(key!("reordered_segments"), count(counters.reordered));
    visitor.integer(key!("network_duplicates"), count(counters.network_duplicates));
    visitor.integer(key!("lost_segments_inferred"), Some(summary.lost_inferred()));
}

fn statistics(moments: Option<&Statistics>, visitor: &mut impl Visitor) {
    visitor.seconds(key!("mean_s"), moments.map(Statistics::mean_ns));
    visitor.seconds(key!("stddev_s"), moments.and_then(Statistics::stddev_ns));
}

fn round_trips(summary: &DirectionSummary, visitor: &mut impl Visitor) {
    let trips = summary.round_trips.as_ref();
    let moments = trips.map(|trips| &trips.moments);
    let quantile = |index: usize| trips.map(|trips: &Durations<3>| trips.quantiles_ns[index]);
    visitor.object(key!("rtt"), true);
    visitor.word(key!("method"), trips.map(|_| "sequence"));
    visitor.integer(key!("samples"), Some(moments.map_or(0, |moments| moments.count())));
    visitor.exact_seconds(key!("min_s"), moments.and_then(|moments| i64::try_from(moments.min_ns).ok()));
    statistics(moments, visitor);
    visitor.seconds(key!("median_s"), quantile(0));
    visitor.seconds(key!("p95_s"), quantile(1));
    visitor.seconds(key!("p99_s"), quantile(2));
    visitor.exact_seconds(key!("max_s"), moments.and_then(|moments| i64::try_from(moments.max_ns).ok()));
    visitor.object(key!("rejected"), true);
    visitor.seldom(summary.rejected != [0; 5], |visitor| {
        for (&key, &count) in REJECTED_KEYS.iter().zip(&summary.rejected) {
            visitor.integer(key, Some(u64::from(count)));
        }
    });
    visitor.end();
    visitor.integer(key!("delayed_acknowledgements", IfSet), Some(u64::from(summary.delayed_trips)));
    let details = summary.details.as_deref();
    visitor.seldom(details.is_some(), |visitor| {
        without_stalls(details.and_then(|details| details.without_stalls.as_ref()), visitor);
        recovery_trips(in_recovery(summary), visitor);
    });
    visitor.end();
}

fn without_stalls(rest: Option<&WithoutStalls>, visitor: &mut impl Visitor) {
    if visitor.optional_object(key!("without_stalls", IfKnown), rest.is_some()) {
        let quantile = |index: usize| rest.and_then(|rest| Some(rest.quantiles_ns?[index]));
        visitor.integer(key!("left_out"), rest.map(|rest| rest.left_out));
        visitor.integer(key!("samples"), rest.map(|rest| rest.samples));
        visitor.seconds(key!("mean_s"), rest.and_then(|rest| rest.mean_ns));
        visitor.seconds(key!("median_s"), quantile(0));
        visitor.seconds(key!("p95_s"), quantile(1));
        visitor.seconds(key!("p99_s"), quantile(2));
        visitor.end();
    }
}

fn in_recovery(summary: &DirectionSummary) -> Option<&RecoveryTrips> {
    summary.details.as_ref()?.recovery_trips.as_ref()
}

fn recovery_trips(trips: Option<&RecoveryTrips>, visitor: &mut impl Visitor) {
    if visitor.optional_object(key!("recovery", IfKnown), trips.is_some()) {
        let samples = |answered: Answered| trips.map(|trips| u64::from(trips.samples[answered as usize]));
        let exact = |value: fn(&RecoveryTrips) -> u64| trips.and_then(|trips| i64::try_from(value(trips)).ok());
        visitor.integer(key!("sack_samples"), samples(Answered::BySack));
        visitor.integer(key!("timestamp_samples"), samples(Answered::ByTimestamp));
        visitor.exact_seconds(key!("min_s"), exact(|trips| trips.min_ns));
        visitor.seconds(key!("mean_s"), trips.and_then(RecoveryTrips::mean_ns));
        visitor.exact_seconds(key!("max_s"), exact(|trips| trips.max_ns));
        visitor.end();
    }
}

fn spacing(direction: &DirectionSummary, visitor: &mut impl Visitor) {
    let summary = &direction.spacing;
    let moments = summary.durations.as_ref().map(|durations| &durations.moments);
    let quantile = |index: usize| summary.durations.as_ref().map(|durations| durations.quantiles_ns[index]);
    visitor.object(key!("spacing"), true);
    visitor.integer(key!("samples"), Some(moments.map_or(0, |moments| moments.count())));
    visitor.seconds(key!("mean_s"), moments.map(Statistics::mean_ns));
    visitor.seconds(key!("median_s"), quantile(0));
    visitor.seconds(key!("stddev_s"), moments.and_then(Statistics::stddev_ns));
    visitor.seconds(key!("p99_s"), quantile(1));
    visitor.exact_seconds(key!("max_s"), moments.and_then(|moments| i64::try_from(moments.max_ns).ok()));
    visitor.integer(key!("oversize"), moments.map(|_| summary.oversize().count));
    visitor.exact_seconds(key!("oversize_time_s"), moments.map(|_| summary.oversize().time_ns as i64));
    visitor.exact_seconds(key!("oversize_threshold_s", IfKnown), moments.map(|_| summary.oversize_threshold_ns as i64));
    visitor.word(
        key!("oversize_rule", IfKnown),
        moments.map(|_| if direction.oversize_limit_is_fixed { "fixed" } else { "adaptive" }),
    );
    visitor.anomalies(moments.map(|_| summary));
    gap_causes(summary.causes.as_deref(), visitor);
    visitor.seldom(direction.stalls().is_some(), |visitor| stalls(direction, visitor));
    visitor.end();
}

/// Keys of [`Cause::ALL`], by number.
const CAUSE_KEYS: [[Key; 2]; Cause::ALL.len()] = [
    [key!("local_host_stall", IfSet), key!("local_host_stall_s", IfSet)],
    [key!("remote_host_stall", IfSet), key!("remote_host_stall_s", IfSet)],
    [key!("path_hold", IfSet), key!("path_hold_s", IfSet)],
    [key!("host_or_path", IfSet), key!("host_or_path_s", IfSet)],
    [key!("sender_application", IfSet), key!("sender_application_s", IfSet)],
    [key!("receiver_window", IfSet), key!("receiver_window_s", IfSet)],
    [key!("timeout", IfSet), key!("timeout_s", IfSet)],
    [key!("tail_probe", IfSet), key!("tail_probe_s", IfSet)],
    [key!("ack_clock", IfSet), key!("ack_clock_s", IfSet)],
    [key!("pacing_or_shaping", IfSet), key!("pacing_or_shaping_s", IfSet)],
    [key!("capture_artifact", IfSet), key!("capture_artifact_s", IfSet)],
    [key!("unknown", IfSet), key!("unknown_s", IfSet)],
];

/// Oversize spacings by cause: number and total.
fn gap_causes(causes: Option<&GapCauses>, visitor: &mut impl Visitor) {
    visitor.object(key!("by_cause"), true);
    visitor.seldom(causes.is_some(), |visitor| {
        for (index, &[count, time]) in CAUSE_KEYS.iter().enumerate() {
            let total = causes.map(|causes| causes.oversize[index]).unwrap_or_default();
            visitor.integer(count, Some(total.count));
            visitor.exact_seconds(time, Some(total.time_ns as i64));
        }
    });
    visitor.end();
}

fn stalls(direction: &DirectionSummary, visitor: &mut impl Visitor) {
    let stalls = direction.stalls();
    let seconds = |value: Option<u64>| value.map(|time| time as i64);
    visitor.integer(key!("stalls", IfSet), stalls.map(|stalls| stalls.count));
    visitor.number(key!("stalls_per_minute", IfKnown), direction.stalls_per_minute());
    visitor.exact_seconds(key!("stalled_time_s", IfKnown), seconds(stalls.map(|stalls| stalls.time_ns)));
    visitor.exact_seconds(key!("longest_stall_s", IfKnown), seconds(stalls.map(|stalls| stalls.longest_ns)));
    let period = stalls.and_then(|stalls| stalls.period_ns.ok());
    visitor.exact_seconds(key!("stall_period_s", IfKnown), seconds(period));
    visitor.integer(key!("stall_lost_bytes", IfKnown), direction.stall_lost_bytes());
}

fn window(direction: &DirectionSummary, visitor: &mut impl Visitor) {
    let summary = &direction.window;
    visitor.object(key!("window"), true);
    visitor.integer(key!("scale"), summary.scale.map(u64::from));
    visitor.integer(key!("min_bytes"), summary.extremes.map(|(min, _, _)| min));
    visitor.number(key!("mean_bytes"), summary.extremes.map(|(_, mean, _)| mean));
    visitor.integer(key!("max_bytes"), summary.extremes.map(|(_, _, max)| max));
    visitor.integer(key!("zero_windows"), Some(u64::from(summary.zero_windows)));
    visitor.exact_seconds(key!("zero_window_time_s"), Some(summary.zero_time_ns as i64));
    visitor.exact_seconds(key!("limited_time_s"), summary.limited_ns.get().map(|time| time as i64));
    visitor.number(key!("limited_fraction"), direction.limited_fraction());
    visitor.end();
}

fn early_data(facts: &TlsFacts) -> &'static str {
    match facts.early_data {
        EarlyData::None => "none",
        EarlyData::Offered => "offered",
        EarlyData::Sent => "sent",
        EarlyData::Accepted => "accepted",
    }
}

fn tls(facts: Option<&TlsFacts>, visitor: &mut impl Visitor) {
    let text = |field: fn(&TlsFacts) -> &Option<String>| facts.and_then(|facts| field(facts).as_deref());
    visitor.text(key!("version"), text(|facts| &facts.version));
    visitor.text(key!("cipher"), text(|facts| &facts.cipher));
    visitor.text(key!("sni"), text(|facts| &facts.sni));
    visitor.text(key!("alpn"), text(|facts| &facts.alpn));
    visitor.texts(key!("alpn_offered", IfKnown), facts.map_or(&[], |facts| &facts.alpn_offered));
    visitor.flag(key!("resumed"), facts.and_then(|facts| facts.resumed));
    visitor.flag(key!("hello_retry"), facts.map(|facts| facts.hello_retry));
    visitor.word(key!("early_data"), facts.map(early_data));
    visitor.flag(key!("handshake_complete"), facts.map(|facts| facts.handshake_complete));
    visitor.seconds(key!("handshake_s"), facts.and_then(|facts| facts.handshake_s).map(|seconds| seconds * 1e9));
    visitor.integer(key!("handshake_round_trips"), facts.and_then(|facts| facts.handshake_round_trips).map(u64::from));
    visitor.integer(key!("client_handshake_bytes"), facts.and_then(|facts| facts.client_handshake_bytes));
    visitor.integer(key!("server_handshake_bytes"), facts.and_then(|facts| facts.server_handshake_bytes));
    visitor.integer(key!("certificate_bytes"), facts.and_then(|facts| facts.certificate_bytes));
    visitor.texts(key!("certificate_names", IfSet), facts.map_or(&[], |facts| &facts.certificate_names));
    visitor.integer(
        key!("certificate_names_not_listed", IfSet),
        facts.map(|facts| u64::from(facts.certificate_names_not_listed)),
    );
    visitor.integer(key!("records"), facts.and_then(|facts| facts.records));
    visitor.integer(key!("record_overhead_bytes"), facts.and_then(|facts| facts.record_overhead_bytes));
    visitor.integer(key!("application_bytes"), facts.and_then(|facts| facts.application_bytes));
    visitor.integer(key!("bytes_before_tls", IfSet), facts.map(|facts| facts.bytes_before_tls));
    visitor.flag(key!("padding_unknown", IfSet), facts.map(|facts| facts.padding_unknown));
    visitor.texts(key!("alerts"), facts.map_or(&[], |facts| &facts.alerts));
    visitor
        .reasons(key!("not_measured", IfKnown), facts.into_iter().flat_map(|facts| facts.not_measured.iter().copied()));
}

/// Every wire byte is in exactly one part (docs/methods.md, section 9).
fn ledger(summary: &ConnectionSummary, visitor: &mut impl Visitor) {
    let sum = |field: fn(&DirectionSummary) -> u64| summary.directions.iter().map(field).sum::<u64>();
    let wire = sum(|direction| direction.ledger.total());
    let payload = sum(|direction| direction.ledger.payload);
    let handshake = sum(|direction| direction.stream.as_ref().map_or(0, |stream| stream.tls_handshake)).min(payload);
    let record =
        sum(|direction| direction.stream.as_ref().map_or(0, |stream| stream.tls_record)).min(payload - handshake);
    let application = payload - handshake - record;
    visitor.object(key!("ledger"), true);
    visitor.integer(key!("wire_bytes"), Some(wire));
    visitor.integer(key!("link_bytes"), Some(sum(|direction| direction.ledger.link)));
    visitor.integer(key!("ip_bytes"), Some(sum(|direction| direction.ledger.ip)));
    visitor.integer(key!("tcp_header_bytes"), Some(sum(|direction| direction.ledger.tcp_header)));
    visitor.integer(key!("tcp_option_bytes"), Some(sum(|direction| direction.ledger.tcp_options)));
    visitor.integer(key!("pure_ack_bytes"), Some(sum(|direction| direction.ledger.pure_acknowledgements)));
    visitor.integer(key!("retransmitted_bytes"), Some(sum(|direction| direction.ledger.retransmitted)));
    visitor.integer(key!("tls_handshake_bytes"), Some(handshake));
    visitor.integer(key!("tls_record_bytes"), Some(record));
    visitor.integer(key!("application_bytes"), Some(application));
    visitor.number(key!("overhead_ratio"), (application > 0).then(|| (wire - application) as f64 / application as f64));
    let is_least = |facts: &TlsFacts| facts.record_overhead_bytes.is_none() || facts.padding_unknown;
    visitor.flag(key!("tls_record_is_least", IfSet), summary.tls.as_deref().map(is_least));
    visitor.end();
}
