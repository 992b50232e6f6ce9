//! What the receiver says after a silence: its first packet, and what comes together with it. A gap that waits for an answer
//! ([`super::gap_pending`]) gets it from here.

use super::connection::Connection;
use super::gap_backlog::{LEAST_BYTES, Path, rate_at_sender, rate_in_between};
use super::gap_evidence::{Burst, Place, Return};
use super::gap_watch::{GapWatch, Inside, SILENCE_NS, oldest_age_ns};
use super::half::{Live, half_and_peer};
use super::sequence::{serial_difference, unwrap};
use crate::decode::options::Options;
use crate::packet::{Packet, option_bits};

/// Packets that come within this time after a silence come with the first one.
pub(super) const TOGETHER_NS: i64 = 2_000_000;
/// A host that has stood still acknowledges its backlog within this time. Its first acknowledgement may be one that was
/// delayed when it stopped, a tick or two before it looks at what has come meanwhile.
pub(super) const ANSWER_NS: i64 = 40_000_000;
/// A pause of this length ends a burst: what comes after it may be the backlog that the host is at only now.
pub(super) const BURST_PAUSE_NS: i64 = 5_000_000;
/// Shortest delayed acknowledgement of common stacks in the middle of a flow (Linux `TCP_DELACK_MIN`, less a tick).
const SHORTEST_DELAY_NS: i64 = 30_000_000;
/// Silences that may be more than a round trip: after those the path's rate is asked for.
const LONG_SILENCE_NS: i64 = 30_000_000;
/// Answers inside a gap are counted up to this; more tell nothing more.
const MOST_ANSWERS: u32 = 64;

/// The receiver's first packet after a silence, and what came with it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heard {
    pub(super) time_ns: i64,
    pub(super) first_tsval: u32,
    pub(super) answer: Return,
    /// Nothing has come after the first packet.
    pub(super) alone: bool,
    /// Acknowledged before it in any way, cumulatively or selectively (RFC 2018).
    pub(super) acknowledged_before: u64,
    /// When it was last heard, and since when without a pause; acknowledged before that.
    pub(super) last_ns: i64,
    pub(super) burst_start_ns: i64,
    pub(super) acknowledged_before_burst: u64,
    /// What the sender knew before it: round trip, deviation, timers that had fired.
    pub(super) round_trip: (Option<i64>, i64),
    pub(super) timers: u32,
    /// What the path has carried by then.
    pub(super) path: Path,
}

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

impl Connection {
    /// The packet is one of the receiver's for the data of the other side.
    pub(super) fn hear(&mut self, packet: &Packet, bytes: &[u8], side: usize, before_ns: i64) {
        let round_trip = self.senders_round_trip(1 - side);
        let rate_here = if self.place(1 - side) == Place::Elsewhere { rate_in_between } else { rate_at_sender };
        let [own, half] = half_and_peer(&mut self.halves, side);
        let (una, max, last_ns) = (half.una, half.max, half.last_sent.0);
        let acknowledged_before = half.acknowledged_bytes();
        let outstanding_bytes = half.stream_offset(max).saturating_sub(acknowledged_before);
        let Some(live) = half.live.as_deref_mut() else { return };
        let clock = own.live.as_ref().map(|live| &live.clock);
        let pause_ns = packet.time_ns.saturating_sub(last_ns);
        if pause_ns < 0 {
            return;
        }
        let mut watch = live.watch.take().unwrap_or_default();
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
                    _ => live.last_acknowledgement_ns,
                };
                let probed = watch.probed_since(last_heard_ns);
                let silence_ns = last_heard_ns.map_or(pause_ns, |last| packet.time_ns.saturating_sub(last));
                let long_ns = round_trip.0.unwrap_or(0).max(LONG_SILENCE_NS);
                let path_matters = silence_ns > long_ns && max - una >= LEAST_BYTES;
                let path = Path::asked(path_matters, || rate_here(live));
                let full = u64::from(live.segment_size);
                let after_delayed = watch.heard.is_some_and(|before| {
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
                        burst: Burst { packets: 1, span_ns: 0, timestamps_ns: tsval.map(|_| 0) },
                        outstanding_bytes,
                        after_delayed,
                        echoes_unseen: tsval.is_some()
                            && live.clock.newest().is_some_and(|newest| serial_difference(packet.tsecr, newest) > 0),
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
        watch.share_answer();
        live.watch = Some(watch);
    }

    /// The packet's acknowledgement has been taken: if it belongs to an answer, that covers so much more.
    #[inline]
    pub(super) fn count_answer(&mut self, packet: &Packet, side: usize) {
        let half = &mut self.halves[1 - side];
        let Some(watch) = half.live.as_deref_mut().and_then(|live| live.watch.as_deref_mut()) else { return };
        let is_answer = |heard: &Heard| (0..=ANSWER_NS).contains(&packet.time_ns.saturating_sub(heard.time_ns));
        if !watch.heard.as_ref().is_some_and(is_answer) {
            return;
        }
        let acknowledged = half.acknowledged_bytes();
        let Some(watch) = half.live.as_deref_mut().and_then(|live| live.watch.as_deref_mut()) else { return };
        if let Some(heard) = &mut watch.heard {
            heard.count(packet.time_ns, acknowledged);
        }
        watch.share_answer();
    }
}

impl GapWatch {
    /// A timer of the sender fired since the receiver was last heard.
    fn probed_since(&self, last_heard_ns: Option<i64>) -> bool {
        let fired = self.timers > 0 || self.timer_passed;
        fired && last_heard_ns.is_none_or(|heard| heard < self.timer_ns)
    }

    /// What came together with the receiver's first packet belongs to all gaps that wait for it.
    fn share_answer(&mut self) {
        let Some(heard) = self.heard else { return };
        for pending in &mut self.pending {
            if pending.evidence.answer.is_none() || pending.answered_by(&heard) {
                pending.evidence.answer = Some(heard.answer);
            }
        }
    }
}

impl Heard {
    fn add(&mut self, time_ns: i64, timestamps_ns: Option<i64>) {
        self.leave_out_first(time_ns, timestamps_ns);
        if time_ns.saturating_sub(self.time_ns) <= TOGETHER_NS {
            let burst = &mut self.answer.burst;
            burst.packets = burst.packets.saturating_add(1);
            burst.span_ns = time_ns.saturating_sub(self.time_ns);
            burst.timestamps_ns = timestamps_ns;
        }
    }

    /// A host may stop between making a packet and sending it: on waking that comes first, though it answers nothing that
    /// came meanwhile. It was alone if the next one, the second after the silence, was made after most of that.
    fn leave_out_first(&mut self, time_ns: i64, made_ns: Option<i64>) {
        let answer = &mut self.answer;
        let was_alone = std::mem::replace(&mut self.alone, false);
        if let (true, Some(true), Some(first_ns), Some(made_ns)) =
            (was_alone, answer.was_held(), answer.timestamps_ns, made_ns)
        {
            let jump_ns = made_ns.saturating_sub(time_ns.saturating_sub(self.time_ns));
            if jump_ns > answer.silence_ns / 2 {
                answer.timestamps_ns = Some(first_ns.saturating_add(jump_ns));
            }
        }
    }

    /// It was one delayed acknowledgement, of a segment that had come before others that did not.
    fn is_delayed(&self, segment_bytes: u64) -> bool {
        let single = (1..2 * segment_bytes.max(1)).contains(&self.answer.acknowledged_bytes);
        single && self.answer.silence_ns >= SHORTEST_DELAY_NS && self.answer.outstanding_bytes > 2 * segment_bytes
    }

    /// So much is acknowledged in any way once a packet of `time_ns` has been taken.
    fn count(&mut self, time_ns: i64, acknowledged: u64) {
        let answer = &mut self.answer;
        if time_ns.saturating_sub(self.last_ns) >= BURST_PAUSE_NS {
            self.burst_start_ns = time_ns;
            self.acknowledged_before_burst = self.acknowledged_before + answer.acknowledged_bytes;
        }
        self.last_ns = time_ns;
        let since_silence = acknowledged.saturating_sub(self.acknowledged_before);
        if since_silence <= answer.acknowledged_bytes || answer.acknowledges_most() {
            return;
        }
        answer.advances += u32::from(time_ns.saturating_sub(self.time_ns) <= TOGETHER_NS);
        answer.acknowledged_bytes = since_silence;
        let in_burst = acknowledged.saturating_sub(self.acknowledged_before_burst);
        let (beyond, needed_bytes_per_s) = self.path.judge([
            (since_silence, time_ns.saturating_sub(self.time_ns)),
            (in_burst, time_ns.saturating_sub(self.burst_start_ns)),
        ]);
        answer.beyond_path |= beyond;
        answer.needed_bytes_per_s = answer.needed_bytes_per_s.max(needed_bytes_per_s);
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
