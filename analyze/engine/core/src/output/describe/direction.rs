//! A direction, field by field. What takes more than a few fields is in a file of its own: loss, round trips, spacing.

use crate::output::describe::loss::loss;
use crate::output::describe::round_trips::{in_recovery, round_trips};
use crate::output::describe::spacing::spacing;
use crate::output::describe::visitor::{Common, Visitor};
use crate::output::fixed::thousandths;
use crate::output::key::key;
use crate::tcp::congestion::evidence::{Named, ShownControl, UNKNOWN};
use crate::tcp::events::ecn::{Echoes, Feedback};
use crate::tcp::limits::summary::LimitsSummary;
use crate::tcp::limits::watch::FEWEST_DATA_PACKETS;
use crate::tcp::rates::peaks::{WINDOWS_NS, rate_bps};
use crate::tcp::summary::summary::DirectionSummary;

/// Describes a direction.
pub fn direction(summary: &DirectionSummary, limits: Option<&LimitsSummary>, visitor: &mut impl Visitor) {
    visitor.integer(key!("packets"), Some(summary.packets));
    visitor.integer(key!("wire_bytes"), Some(summary.wire_bytes));
    let is_seen = !summary.is_unseen();
    visitor.integer(key!("data_packets"), is_seen.then_some(summary.data_packets));
    visitor.integer(key!("data_segments"), is_seen.then_some(summary.data_segments));
    visitor.integer(key!("payload_bytes"), is_seen.then_some(summary.payload_bytes));
    visitor.integer(key!("unique_payload_bytes"), is_seen.then_some(summary.unique_payload_bytes));
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
    visitor.seldom(summary.details.is_some(), |visitor| {
        let in_fragments = summary.details.as_deref().map(|details| u64::from(details.in_fragments));
        visitor.integer(key!("packets_in_fragments", IfKnown), in_fragments.filter(|&packets| packets > 0));
        nagle_waits(summary, visitor);
    });
    congestion_marks(summary, visitor);
    peak_rates(summary, visitor);
    token_bucket(summary, visitor);
    visitor.in_document_only(|visitor| {
        congestion_control(limits.filter(|_| summary.beside_sender), visitor);
        limiting_factors(limits, visitor);
    });
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

fn limiting_factors(limits: Option<&LimitsSummary>, visitor: &mut impl Visitor) {
    let list = limits.map(LimitsSummary::list).unwrap_or_default();
    visitor.records(key!("limits"), Some(list.iter()), |limit, visitor| {
        visitor.word(key!("factor"), limit.map(|limit| limit.factor.name()));
        visitor.exact_seconds(key!("time_s"), limit.and_then(|limit| i64::try_from(limit.time_ns).ok()));
        visitor.number(key!("fraction"), limit.map(|limit| limit.fraction));
        visitor.integer(key!("lost_bytes"), limit.and_then(|limit| limit.lost_bytes));
    });
    let runs = limits.filter(|_| visitor.wants_long_lists()).map(|limits| &limits.runs).filter(|runs| !runs.is_empty());
    visitor.records(key!("limit_intervals", IfKnown), runs.map(|runs| runs.iter()), |run, visitor| {
        visitor.known_instant(key!("start_ns"), run.map(|run| run.start_ns));
        visitor.known_instant(key!("end_ns"), run.map(|run| run.end_ns));
        visitor.word(key!("factor"), run.map(|run| run.factor.name()));
        visitor.integer(key!("bytes"), run.map(|run| run.bytes));
        visitor.integers(key!("frames"), run.into_iter().flat_map(|run| run.frames).map(u64::from));
    });
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
    let peak = |window: usize| summary.extras.peaks.as_ref().map(|peaks| &peaks[window]);
    if visitor.optional_object(key!("peak_rate_bps", IfKnown), summary.extras.peaks.is_some()) {
        for (window, (key, window_ns)) in windows.clone() {
            visitor.number(key, peak(window).map(|peak| rate_bps(peak, window_ns)));
        }
        visitor.end();
    }
    if visitor.optional_object(key!("peak_frames", IfKnown), summary.extras.peaks.is_some()) {
        for (window, (key, _)) in windows {
            visitor.integers(key, peak(window).into_iter().flat_map(|peak| peak.frames).map(u64::from));
        }
        visitor.end();
    }
}

fn token_bucket(summary: &DirectionSummary, visitor: &mut impl Visitor) {
    let bucket = summary.extras.token_bucket.as_deref();
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

fn congestion_control(limits: Option<&LimitsSummary>, visitor: &mut impl Visitor) {
    let named = limits.and_then(|limits| limits.control);
    if !visitor.object(key!("congestion_control"), named.is_some()) {
        return;
    }
    let name = |named: Named| named.control.map_or(UNKNOWN, |(control, _)| control.name());
    let confidence = named.and_then(|named| named.control).map(|(_, confidence)| thousandths(confidence));
    visitor.word(key!("name"), named.map(name));
    visitor.number(key!("confidence"), confidence);
    let candidates = named.into_iter().flat_map(|named| named.candidates).flatten();
    visitor.words(key!("candidates"), candidates.map(ShownControl::name));
    visitor.end();
}

fn window(direction: &DirectionSummary, visitor: &mut impl Visitor) {
    let summary = &direction.window;
    visitor.object(key!("window"), true);
    visitor.integer(key!("scale"), summary.scale.map(u64::from));
    visitor.integer(key!("min_bytes"), summary.extremes.map(|(min, _, _)| min));
    visitor.number(key!("mean_bytes"), summary.extremes.map(|(_, mean, _)| mean));
    visitor.integer(key!("max_bytes"), summary.extremes.map(|(_, _, max)| max));
    visitor.integer(key!("zero_windows"), Some(u64::from(direction.extras.zero_windows)));
    visitor.exact_seconds(key!("zero_window_time_s"), Some(direction.extras.zero_time_ns as i64));
    visitor.exact_seconds(key!("limited_time_s"), summary.limited_ns.get().map(|time| time as i64));
    visitor.number(key!("limited_fraction"), direction.limited_fraction());
    visitor.end();
}
