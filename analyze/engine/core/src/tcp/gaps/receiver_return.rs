//! What the receiver says after a silence: its first packet, and what comes together with it. A gap that waits for an answer
//! ([`crate::tcp::gaps::pending`]) gets it from here.

use crate::decode::options::Options;
use crate::packet::{Packet, option_bits};
use crate::tcp::direction::direction::{Direction, Live};
use crate::tcp::events::context::Context;
use crate::tcp::gaps::evidence::{BurstSeen, CapturePlace, Return};
use crate::tcp::gaps::gather::senders_round_trip;
use crate::tcp::gaps::heard::Heard;
use crate::tcp::gaps::path_rate::{LEAST_BYTES, PathCarries};
use crate::tcp::gaps::rate_of::{rate_at_sender, rate_in_between};
use crate::tcp::gaps::state::{GapWatch, Inside, oldest_age_ns};
use crate::tcp::kernel::{ANSWER_NS, SILENCE_NS};
use crate::tcp::stats::sequence::{serial_difference, unwrap};

/// Silences that may be more than a round trip: after those the bottleneck bandwidth is asked for.
const LONG_SILENCE_NS: i64 = 30_000_000;

/// Answers inside a gap are counted up to this; more tell nothing more.
const MOST_ANSWERS: u32 = 64;

impl Inside {
    /// The receiver is heard while `una..max` of `live`'s data is outstanding. The last data passed at the first time, the last packet
    /// of any kind at the second.
    fn hear(&mut self, packet: &Packet, [last_data_ns, before_ns]: [i64; 2], [una, max]: [u64; 2], live: &Live) {
        if self.since_ns != last_data_ns {
            let pause_ns = packet.time_ns.saturating_sub(last_data_ns);
            let limited_ns = if live.view.is_limited_now() { pause_ns } else { 0 };
            let limited_base_ns = live.view.limited_until_ns(packet.time_ns) - limited_ns;
            *self = Self { since_ns: last_data_ns, limited_base_ns, ..Self::default() };
        }
        self.answers = (self.answers + 1).min(MOST_ANSWERS);
        self.unseen |= unwrap(una, packet.acknowledgement) > max;
        let silence_start_ns = before_ns.max(last_data_ns);
        let silence_ns = packet.time_ns.saturating_sub(silence_start_ns);
        if silence_ns > self.silence_ns {
            (self.silence_ns, self.silence_start_ns) = (silence_ns, silence_start_ns);
            self.outstanding_bytes = max - una;
            self.oldest_age_ns = oldest_age_ns(live, una, silence_start_ns);
        }
    }
}

/// The packet is one of the receiver's for the data of `direction`; `receiver` is what the receiver sends, and `before_ns` the time of
/// the connection's packet before it.
pub(crate) fn hear(
    watch: &mut GapWatch,
    packet: &Packet,
    bytes: &[u8],
    [direction, receiver]: [&Direction; 2],
    context: &Context,
    before_ns: i64,
) {
    let round_trip = senders_round_trip(direction.live.as_deref(), context);
    let rate_here = if CapturePlace::of(context) == CapturePlace::Elsewhere { rate_in_between } else { rate_at_sender };
    let (una, max, last_ns) = (direction.una, direction.max, direction.last_sent.0);
    let acknowledged_before = direction.acknowledged_bytes();
    let outstanding_bytes = direction.stream_offset(max).saturating_sub(acknowledged_before);
    let Some(live) = direction.live.as_deref() else { return };
    let clock = receiver.live.as_ref().map(|live| &live.capture.clock);
    let pause_ns = packet.time_ns.saturating_sub(last_ns);
    if pause_ns > SILENCE_NS && una < max {
        watch.inside.hear(packet, [last_ns, before_ns], [una, max], live);
    }
    let tsval = packet.timestamp();
    let awaited = watch.pending.iter().any(|pending| pending.evidence.answer.is_none());
    let silent = packet.time_ns.saturating_sub(before_ns) >= SILENCE_NS;
    match &mut watch.heard {
        Some(heard) if packet.time_ns.saturating_sub(heard.time_ns) <= ANSWER_NS => {
            let made = tsval.zip(clock).and_then(|(tsval, clock)| clock.between_ns(heard.first_tsval, tsval));
            heard.add(packet.time_ns, made);
        }
        _ if awaited || silent => {
            let last_heard_ns = match (clock.and_then(|clock| clock.newest_ns()), tsval) {
                (Some(time_ns), Some(_)) => Some(time_ns),
                _ => live.acks.last_acknowledgement_ns,
            };
            let probed = probed_since(watch, last_heard_ns);
            let silence_ns = last_heard_ns.map_or(pause_ns, |last| packet.time_ns.saturating_sub(last));
            let long_ns = round_trip.0.unwrap_or(0).max(LONG_SILENCE_NS);
            let path_matters = silence_ns > long_ns && max - una >= LEAST_BYTES;
            let path = PathCarries::asked(path_matters, || rate_here(live));
            let full = u64::from(live.size.segment_size);
            let after_delayed = watch.heard.as_ref().is_some_and(|before| {
                before.is_delayed(full) && last_heard_ns.is_some_and(|heard_ns| heard_ns <= before.last_ns)
            });
            watch.heard = Some(Heard {
                time_ns: packet.time_ns,
                first_tsval: packet.tsval,
                alone: true,
                acknowledged_before,
                last_ns: packet.time_ns,
                burst_start_ns: packet.time_ns,
                acknowledged_before_burst: acknowledged_before,
                round_trip,
                timers: if probed { watch.timers } else { 0 },
                path,
                answer: Return {
                    silence_ns,
                    timestamps_ns: tsval.zip(clock).and_then(|(tsval, clock)| clock.since_newest_ns(tsval)),
                    burst: BurstSeen { packets: 1, span_ns: 0, timestamps_ns: tsval.map(|_| 0) },
                    outstanding_bytes,
                    after_delayed,
                    echoes_unseen: tsval.is_some()
                        && live
                            .capture
                            .clock
                            .newest()
                            .is_some_and(|newest| serial_difference(packet.tsecr, newest) > 0),
                    older_than_probe: watch
                        .timer_tsval
                        .filter(|_| probed && tsval.is_some())
                        .map(|probe| serial_difference(packet.tsecr, probe) < 0),
                    reports_disorder: probed
                        && reports_disorder(packet, bytes, watch.timer_sequence, tsval.map(|_| una as u32)),
                    after_probe_ns: probed.then(|| packet.time_ns.saturating_sub(watch.timer_ns)),
                    ..Return::default()
                },
            });
        }
        _ => {}
    }
    share_answer(watch);
}

/// The packet's acknowledgement has been taken: if it belongs to an answer, that covers so much more.
#[inline]
pub(crate) fn count_answer(watch: &mut GapWatch, packet: &Packet, direction: &Direction) {
    let Some(heard) = watch.heard.as_mut().filter(|heard| heard.is_answered_by(packet)) else { return };
    heard.count(packet.time_ns, direction.acknowledged_bytes());
    if !watch.pending.is_empty() {
        share_answer(watch);
    }
}

/// A timer of the sender fired since the receiver was last heard.
fn probed_since(watch: &GapWatch, last_heard_ns: Option<i64>) -> bool {
    let fired = watch.timers > 0 || watch.timer_passed;
    fired && last_heard_ns.is_none_or(|heard| heard < watch.timer_ns)
}

/// What came together with the receiver's first packet belongs to all gaps that wait for it.
fn share_answer(watch: &mut GapWatch) {
    let GapWatch { heard: Some(heard), pending, .. } = watch else { return };
    for pending in pending {
        if pending.evidence.answer.is_none() || pending.answered_by(heard) {
            pending.evidence.answer = Some(heard.answer);
        }
    }
}

/// It has SACK blocks, and what a timer has sent from `sequence` on arrived: in loss recovery all have them. With timestamps
/// more is asked of a timer's packet that was the next to be acknowledged: what that brings about echoes it (RFC 7323 section
/// 4.3), unless it came twice and is reported as that (RFC 2883). `next` is what was acknowledged up to before, none without
/// timestamps.
fn reports_disorder(packet: &Packet, bytes: &[u8], sequence: u32, next: Option<u32>) -> bool {
    if packet.options & option_bits::OTHERS == 0 {
        return false;
    }
    let options = Options::of_packet(packet, bytes);
    let blocks = options.sack.as_slice();
    let echoed = next.is_some_and(|next| serial_difference(sequence, next) <= 0);
    let acknowledged = !echoed && serial_difference(packet.acknowledgement, sequence) > 0;
    let in_block =
        |&(left, right): &(u32, u32)| serial_difference(sequence, left) >= 0 && serial_difference(right, sequence) > 0;
    !blocks.is_empty() && (acknowledged || blocks.iter().any(in_block))
}
