//! What is known of a gap when the packet that ends it passes, gathered from both directions for [`crate::tcp::gaps::causes`]: the data
//! before it, what was outstanding, the silence in it, and when the sender's timers are due.

use crate::packet::{Packet, option_bits};
use crate::tcp::direction::direction::{Direction, Live};
use crate::tcp::direction::last_data::LastData;
use crate::tcp::direction::segment_size;
use crate::tcp::events::context::Context;
use crate::tcp::events::sent::is_short;
use crate::tcp::gaps::evidence::{BurstSeen, CapturePlace, GapEvidence, echo_behind_ns};
use crate::tcp::gaps::state::{GapWatch, Inside, oldest_age_ns};
use crate::tcp::kernel::{BULK_BYTES, FARTHEST_JUMP, TOGETHER_NS};
use crate::tcp::stats::sequence::{serial_difference, unwrap};

/// A hundred days.
const LONGEST_ROUND_TRIP_NS: i64 = 1 << 53;

/// Gaps are about as long as one another within this share.
const SIMILAR: f64 = 0.25;

/// The longest time without any packet in a gap, and what was outstanding then.
struct LongestSilence {
    start_ns: i64,
    silence_ns: i64,
    outstanding_bytes: u64,
    /// How long before it the oldest outstanding segment was sent; none if that happened more than once.
    oldest_age_ns: Option<i64>,
}

impl LongestSilence {
    /// `before_end` is the one that the end of the gap ended.
    fn longest(before_end: Self, inside: Option<Inside>) -> Self {
        match inside.filter(|inside| inside.silence_ns > before_end.silence_ns) {
            Some(inside) => Self {
                start_ns: inside.silence_start_ns,
                silence_ns: inside.silence_ns,
                outstanding_bytes: inside.outstanding_bytes,
                oldest_age_ns: inside.oldest_age_ns,
            },
            None => before_end,
        }
    }
}

/// How large the packets of a direction are: whether one was full, and more was to come, shows against that.
struct Sizes {
    /// Payload of a full segment, bytes.
    segment: u16,
    /// Payload of the largest packet that is a segment, bytes.
    full: u64,
    /// No packet was as large as a segment may be.
    never_full: bool,
    /// On a path that takes less than both sides do, what was joined is no multiple of what they do: most packets seem short.
    are_known: bool,
}

impl Sizes {
    fn of(direction: &mut Direction, packet: &Packet) -> Self {
        let segment = segment_size::segment_size(direction, packet);
        let short_packets = direction.live.as_deref().map_or(0, |live| live.size.short_packets);
        Self {
            segment,
            full: u64::from(direction.largest_payload.min(u32::from(segment))),
            never_full: direction.largest_payload < u32::from(segment),
            are_known: 2 * u64::from(short_packets) < direction.data_packets_so_far(),
        }
    }

    /// The packet was as full as they get, and so was the last segment in it.
    fn is_full(&self, last: &LastData, bytes_since_gap: u64) -> bool {
        // Requests of one length are no full segments, however alike they are: offload, which ends each frame with PSH, would
        // have shown larger ones.
        let is_request = self.never_full && last.has_push() && bytes_since_gap < BULK_BYTES;
        let ends_short = self.are_known && is_short(last.length, self.segment);
        u64::from(last.length) >= self.full.max(1) && !ends_short && !is_request
    }
}

/// What is known of the gap in `direction`'s data that `packet` ends; `times_ns` are that of the connection's packet before it and
/// the length of the gap.
pub(crate) fn evidence(
    watch: &mut GapWatch,
    packet: &Packet,
    direction: &mut Direction,
    receiver: &Direction,
    context: &Context,
    times_ns: [i64; 2],
) -> GapEvidence {
    let [before_ns, gap_ns] = times_ns;
    let place = CapturePlace::of(context);
    let round_trip = senders_round_trip(direction.live.as_deref(), context);
    let receivers_data_ns = receiver.last_sent.0;
    let (start_ns, una, max, base) = (direction.last_sent.0, direction.una, direction.max, direction.base);
    let outstanding_now = max.saturating_sub(una);
    let is_asked = outstanding_now == 0 && (start_ns..=packet.time_ns).contains(&receivers_data_ns);
    let request_ns = is_asked.then_some(receivers_data_ns);
    let sizes = Sizes::of(direction, packet);
    let usual = (max - base) as f64 * TOGETHER_NS as f64
        / (start_ns.saturating_sub(direction.first_data_ns.unwrap_or(start_ns))).max(TOGETHER_NS) as f64;
    let Some(live) = direction.live.as_deref() else { return GapEvidence { gap_ns, place, ..Default::default() } };
    let repairing = live.loss.recovery.is_some_and(|recovery| una < recovery.point);
    let recovering = repairing || !live.acks.scoreboard.is_empty();
    let by_timestamps = by_timestamps(packet, live, receiver, place, gap_ns);
    let last = live.last_data;
    let silence_start_ns = before_ns.max(start_ns);
    let before_end = LongestSilence {
        start_ns: silence_start_ns,
        silence_ns: packet.time_ns.saturating_sub(silence_start_ns),
        outstanding_bytes: outstanding_now,
        oldest_age_ns: oldest_age_ns(live, una, silence_start_ns),
    };
    let limited_until_ns = live.view.limited_until_ns(packet.time_ns);
    let limited_now = live.view.is_limited_now();
    let inside = Some(watch.inside).filter(|inside| inside.since_ns == start_ns);
    let silence = LongestSilence::longest(before_end, inside);
    let window_full_ns = match inside {
        Some(inside) => limited_until_ns - inside.limited_base_ns,
        None if limited_now => gap_ns,
        None => 0,
    };
    count_gap(watch, [start_ns, packet.time_ns], gap_ns, place);
    let bytes_since_gap = bytes_since_gap(watch, base, max);
    // The answers that came before the end of the gap have changed what the sender knows.
    let heard = watch.heard.as_ref().filter(|heard| heard.time_ns > start_ns);
    let (round_trip_ns, deviation_ns) = heard.map_or(round_trip, |heard| heard.round_trip);
    let start = unwrap(max, packet.sequence);
    GapEvidence {
        silence_ns: silence.silence_ns,
        before_silence_ns: silence.start_ns.saturating_sub(start_ns),
        answers_inside: inside.map_or(0, |inside| inside.answers),
        since_answer_ns: (before_ns > start_ns).then(|| packet.time_ns.saturating_sub(before_ns)),
        since_request_ns: request_ns.map(|at_ns| packet.time_ns.saturating_sub(at_ns)),
        outstanding_bytes: silence.outstanding_bytes,
        oldest_age_ns: silence.oldest_age_ns,
        segment_bytes: sizes.full,
        recovering,
        unaware: !repairing && by_timestamps.unaware,
        last_full: sizes.is_full(&last, bytes_since_gap),
        last_push: last.has_push(),
        short_outstanding: sizes.are_known && last.short_end > una,
        window_full_ns: window_full_ns.clamp(0, gap_ns),
        round_trip_ns,
        deviation_ns,
        sack: context.sack,
        timers_before: heard.filter(|_| place == CapturePlace::Sender).map_or(watch.timers, |heard| heard.timers),
        answer: heard.map(|heard| heard.answer),
        data_burst: BurstSeen { packets: 1, span_ns: 0, timestamps_ns: None },
        usual_bytes_in_2_ms: usual as u64,
        capture_missed: inside.is_some_and(|inside| inside.unseen)
            || una > last.max + 1
            || (place == CapturePlace::Sender && start > max && start - max < FARTHEST_JUMP),
        bytes_since_gap,
        similar_before: watch.similar,
        ..by_timestamps
    }
}

/// Counts the gap from the first to the second time: how many before it were as long, and away from the sender how many
/// of its timers they may have been.
fn count_gap(watch: &mut GapWatch, [start_ns, end_ns]: [i64; 2], gap_ns: i64, place: CapturePlace) {
    let similar = (gap_ns - watch.last_gap_ns).abs() as f64 <= SIMILAR * watch.last_gap_ns as f64;
    watch.similar = if similar { watch.similar.saturating_add(1) } else { 0 };
    watch.last_gap_ns = gap_ns;
    // Away from the sender: a single packet between two gaps may have been a timer's.
    let alone = place != CapturePlace::Sender && watch.last_gap_end_ns == start_ns;
    watch.timers = match place {
        CapturePlace::Sender => watch.timers,
        _ if alone => watch.timers.saturating_add(1),
        _ => 0,
    };
    watch.last_gap_end_ns = end_ns;
}

/// Bytes up to `max` that were sent since the gap before, or since the stream began at `base`.
fn bytes_since_gap(watch: &mut GapWatch, base: u64, max: u64) -> u64 {
    max.saturating_sub(std::mem::replace(&mut watch.last_gap_max, max).max(base))
}

/// What the timestamps of the packet that ends the gap show: how long it is by them, and what its sender had heard by then. The
/// rest is as where nothing is known.
fn by_timestamps(packet: &Packet, live: &Live, receiver: &Direction, place: CapturePlace, gap_ns: i64) -> GapEvidence {
    let known =
        GapEvidence { gap_ns, place, sender_clock_ns: sender_clock_ns(live, packet, gap_ns), ..Default::default() };
    if place == CapturePlace::Sender {
        return known;
    }
    let echoes = packet.options & option_bits::TIMESTAMPS != 0;
    GapEvidence {
        unaware: has_not_heard_of_disorder(live, packet),
        queue_before_ns: live.view.queue_before_ns().min(LONGEST_ROUND_TRIP_NS),
        outstanding_to_sender_bytes: echoes.then(|| live.view.outstanding_having_heard(packet.tsecr)),
        echo_behind_ns: receiver.newest_tsval().and_then(|newest| echo_behind_ns(receiver, packet, newest)),
        ..known
    }
}

/// Round trip and deviation as the sender of `live`'s data measures them, as well as they are known here.
pub(crate) fn senders_round_trip(live: Option<&Live>, context: &Context) -> (Option<i64>, i64) {
    let trips = live.map(|live| &live.round_trips);
    let smoothed = trips.and_then(|trips| trips.srtt_ns()).map(|srtt| srtt as i64);
    let deviation = trips.map_or(0, |trips| trips.deviation_ns() as i64);
    if context.beside_sender {
        return bounded(smoothed.or(context.handshake_rtt_ns), deviation);
    }
    let [sender_loop_ns, receiver_loop_ns] = context.loops_ns;
    let loop_ns = live.map_or(0, |live| live.view.recent_loop_ns()).max(sender_loop_ns.unwrap_or(0));
    let both = (loop_ns > 0).then(|| loop_ns.saturating_add(smoothed.or(receiver_loop_ns).unwrap_or(0)));
    bounded(both.max(context.handshake_rtt_ns), deviation)
}

/// What the sender echoes is older than the first report of what is missing.
fn has_not_heard_of_disorder(live: &Live, packet: &Packet) -> bool {
    let told = live.acks.disorder_tsval.filter(|_| packet.options & option_bits::TIMESTAMPS != 0);
    told.is_some_and(|tsval| serial_difference(packet.tsecr, tsval) < 0)
}

/// Times that a file makes up may be centuries apart: round trips are kept small enough to be added and multiplied.
fn bounded(round_trip_ns: Option<i64>, deviation_ns: i64) -> (Option<i64>, i64) {
    (round_trip_ns.map(|time_ns| time_ns.min(LONGEST_ROUND_TRIP_NS)), deviation_ns.min(LONGEST_ROUND_TRIP_NS))
}

/// The gap by the timestamps of the data's sender.
fn sender_clock_ns(live: &Live, packet: &Packet, gap_ns: i64) -> Option<i64> {
    if packet.options & option_bits::TIMESTAMPS == 0 {
        return None;
    }
    let elapsed = packet.time_ns.saturating_sub(live.capture.clock.newest_ns()?);
    Some(gap_ns - (elapsed - live.capture.clock.since_newest_ns(packet.tsval)?))
}
