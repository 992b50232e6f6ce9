//! What the receiver of a direction says: cumulative and selective acknowledgement, duplicates, window.
//!
//! Order matters: SACK first (it tells what was delivered out of order), then what is acknowledged cumulatively (it may
//! give a round trip), then the window. Sources: RFC 9293 section 3.4, RFC 2018, RFC 2883, RFC 6675, RFC 3522.

use crate::packet::{Packet, option_bits, tcp_flags};
use crate::tcp::direction::direction::{Direction, Live};
use crate::tcp::direction::holes::{Exposure, Hole};
use crate::tcp::direction::observers::Window;
use crate::tcp::events::acked::{Answer, Rejected, RoundTrip};
use crate::tcp::events::context::Context;
use crate::tcp::events::segment::{Acknowledged, Segment, Unmarked};
use crate::tcp::kernel::{FARTHEST_JUMP, LEAST_DELAY_NS};
use crate::tcp::loss::retransmissions::LossCounters;
use crate::tcp::stats::sequence::{serial_difference, unwrap};

impl Direction {
    /// Takes an acknowledgement of this direction's data. `window_shift` is none if the scale is not known.
    #[inline]
    pub fn acknowledgement(
        &mut self,
        packet: &Packet,
        bytes: &[u8],
        window_shift: Option<u8>,
        context: &Context,
    ) -> Answer {
        if !self.begun {
            self.begin(packet.acknowledgement);
        }
        if self.unheard {
            self.hear_first(packet);
        }
        if self.repeated_while_idle(packet, window_shift) {
            self.answers_repeat(packet, context);
            let window = u64::from(packet.window) << window_shift.unwrap_or(0);
            return Answer { round_trip: None, window_bytes: window_shift.map(|_| window) };
        }
        let position = unwrap(self.una, packet.acknowledgement);
        self.keep_rates(packet.time_ns);
        let mut unseen = false;
        if position > self.max {
            if position - self.max > FARTHEST_JUMP {
                return Answer::default();
            }
            unseen = true;
            self.acknowledge_unseen(packet, position);
        }
        if position > self.una && packet.options & option_bits::OTHERS != 0 {
            self.check_echo(packet, position, context);
        }
        let reported_before = self.live.as_ref().and_then(|live| live.acks.scoreboard.highest()).unwrap_or(0);
        if packet.options & (option_bits::OTHERS | option_bits::CUT) != 0 {
            self.selective(packet, bytes, position, context);
        }
        let mut advances = None;
        if position > self.una {
            advances = match self.advance_in_order(packet, position, context) {
                None => self.advance(packet, position, unseen, reported_before, context),
                in_order => in_order,
            };
        } else if position == self.una {
            self.repeated(packet, context);
        }
        let window_bytes = self.show_acked(packet, position, advances, Window::of(packet, window_shift), context);
        Answer { round_trip: advances.and_then(|trip| trip.sample(packet)), window_bytes }
    }

    /// Bytes of this direction that were seen, and that `packet` is the first to acknowledge.
    pub fn newly_acknowledged_by(&self, packet: &Packet) -> u64 {
        let known = self.begun && packet.has(tcp_flags::ACK);
        let position = if known { unwrap(self.una, packet.acknowledgement) } else { self.una };
        position.min(self.max).saturating_sub(self.una)
    }

    /// Takes the acknowledgement that every data packet of the other direction carries while this one is idle. False if it is
    /// another; then nothing has changed.
    #[inline(always)]
    pub fn repeated_while_idle(&mut self, packet: &Packet, window_shift: Option<u8>) -> bool {
        let is_repeated = packet.acknowledgement == self.una as u32
            && self.all_acknowledged()
            && self.begun
            && self.window.is_repeated(packet);
        if is_repeated {
            self.window.add_repeated(u64::from(packet.window) << window_shift.unwrap_or(0));
        }
        is_repeated
    }

    /// Takes an acknowledgement of data up to `position`, more than was acknowledged before: as [`Self::acknowledgement`], by
    /// a short way if nothing else is to be said of it. None if there is; then nothing has changed.
    #[inline(always)]
    pub fn more_acknowledged(
        &mut self,
        packet: &Packet,
        position: u64,
        window_shift: Option<u8>,
        context: &Context,
    ) -> Option<Answer> {
        if packet.options & (option_bits::OTHERS | option_bits::CUT) != 0 || position > self.max {
            return None;
        }
        self.keep_rates(packet.time_ns);
        let trip = self.advance_in_order(packet, position, context)?;
        let window_bytes =
            self.show_acked(packet, position, Some(trip), Window { shift: window_shift, is_told: true }, context);
        Some(Answer { round_trip: trip.sample(packet), window_bytes })
    }

    /// Rule: docs/methods.md, "What the capture missed".
    #[cold]
    pub(crate) fn acknowledge_unseen(&mut self, packet: &Packet, position: u64) {
        let exposure = Exposure { time_ns: packet.time_ns, tsval: None, ip_id: 0, by_acknowledgement: true };
        let start = self.max;
        // The byte after the last may be a FIN that passed before its acknowledgement.
        self.live().holes.push(Hole { start, end: position, exposure });
        self.max = position;
    }

    /// Most often nothing is missing and nothing was sent twice: the same as [`Self::advance`], whose rules need not be asked
    /// then. None if it is otherwise, or may be; then nothing has changed.
    #[inline(always)]
    fn advance_in_order(&mut self, packet: &Packet, position: u64, context: &Context) -> Option<RoundTrip> {
        if self.una < self.base {
            return None;
        }
        let live = self.live.as_deref_mut().filter(|live| live.is_in_order(context)).filter(|_| self.fin.is_none())?;
        let Unmarked { newest, wire_segments, latest_time_ns } = live.segments.acknowledge_unmarked(position)?;
        self.una = position;
        self.last_data_ns = self.last_data_ns.max(packet.time_ns);
        live.acks.max_when_first_acknowledged.get_or_insert(self.max);
        Some(if newest.time_ns < latest_time_ns {
            RoundTrip::Rejected(Rejected::LaterCovered, wire_segments)
        } else if packet.time_ns < newest.time_ns {
            RoundTrip::Rejected(Rejected::BeforeData, wire_segments)
        } else {
            RoundTrip::Sample(newest, wire_segments)
        })
    }

    #[inline(never)]
    fn advance(
        &mut self,
        packet: &Packet,
        position: u64,
        unseen: bool,
        reported_before: u64,
        context: &Context,
    ) -> Option<RoundTrip> {
        let before = self.una;
        self.una = position;
        if let Some(fin) = self.fin
            && position > fin
        {
            self.fin_acknowledged_ns.get_or_insert(packet.time_ns);
        }
        let later_fin_ns = self.fin_ns.filter(|_| self.fin.is_some_and(|fin| position > fin));
        let live = self.live.as_deref_mut()?;
        let mut acknowledged = live.segments.acknowledge(position, reported_before);
        if let Some(fin_ns) = later_fin_ns {
            acknowledged.latest_time_ns = acknowledged.latest_time_ns.max(fin_ns);
        }
        self.loss.reordered += if live.acks.reports_are_cut { 0 } else { acknowledged.late_originals };
        let mut original_ns = None;
        if let Some(record) = acknowledged.first_retransmitted {
            let answers_original = live.check_spurious(packet, &record, context, &mut self.loss);
            original_ns = answers_original.then_some(record.time_ns);
        }
        if live.loss.unanswered.is_some() {
            live.answered_by_more(packet, [before, position], original_ns, context, &mut self.loss);
        }
        if live.loss.recovery.is_some() {
            live.check_timeout(packet, position, &mut self.loss);
        }
        let all_seen = live.holes.is_empty() && before >= self.base;
        let not_all_seen = unseen || (!all_seen && live.missing(before, position).0 > 0);
        let trip = live.round_trip(packet, &acknowledged, not_all_seen);
        if !live.acks.scoreboard.is_empty() {
            live.acks.scoreboard.remove_below(position);
        }
        live.acks.max_when_first_acknowledged.get_or_insert(self.max);
        if live.loss.asked.is_some() {
            live.take_asked(packet.time_ns, position);
        }
        if live.loss.recovering.is_running() {
            live.check_recovery(position, self.max, packet.time_ns);
        }
        if acknowledged.wire_segments > 0 {
            self.last_data_ns = self.last_data_ns.max(packet.time_ns);
        }
        Some(trip)
    }

    #[inline]
    fn repeated(&mut self, packet: &Packet, context: &Context) {
        let outstanding = self.max > self.una;
        // With another window it is an update of that (RFC 5681 section 2).
        let is_duplicate =
            self.window.is_unchanged(packet) && packet.payload_length == 0 && !packet.has(tcp_flags::FIN);
        if is_duplicate {
            self.answers_repeat(packet, context);
        }
        let Some(live) = self.live.as_deref_mut() else { return };
        live.acks.last_acknowledgement_ns = Some(packet.time_ns);
        // Where the snap length cut what SACK reports, only that it repeats the last one is left.
        if outstanding && is_duplicate && (!context.sack || packet.options & option_bits::CUT != 0) {
            live.acks.duplicate_acknowledgements += 1;
            live.acks.last_loss_sign_ns = Some(packet.time_ns);
        }
    }

    /// What a report of duplicates (RFC 2883) is about has to be known before it is taken: the repeat which the echo of the same
    /// packet shows to be needless.
    #[cold]
    fn check_echo(&mut self, packet: &Packet, position: u64, context: &Context) {
        let Some(live) = self.live.as_deref_mut() else { return };
        if let Some(record) = live.segments.first_repeated_below(position) {
            live.check_spurious(packet, &record, context, &mut self.loss);
        }
    }

    /// An acknowledgement of nothing more may answer a repeat of old data.
    fn answers_repeat(&mut self, packet: &Packet, context: &Context) {
        if let Some(live) = self.live.as_deref_mut()
            && (live.loss.unanswered.is_some() || live.loss.asked.is_some())
            && is_plain(packet)
        {
            if let Some(asked) = &mut live.loss.asked {
                asked.answered(packet.time_ns, self.una);
            }
            live.answered_by_nothing_more(packet.time_ns, self.una, context, &mut self.loss);
        }
    }
}

/// It acknowledges, and says nothing else.
pub(crate) fn is_plain(packet: &Packet) -> bool {
    packet.payload_length == 0
        && !packet.has(tcp_flags::FIN)
        && packet.options & (option_bits::OTHERS | option_bits::CUT) == 0
}

impl Live {
    /// Everything up to `position` is acknowledged: what waits for an acknowledgement of nothing more?
    #[inline]
    fn take_asked(&mut self, time_ns: i64, position: u64) {
        let soonest_ns = self.soonest_answer_ns();
        if let Some(asked) = &mut self.loss.asked {
            asked.advanced(time_ns, position, soonest_ns);
            if asked.is_empty() {
                self.loss.asked = None;
            }
        }
    }

    /// The round trip that an acknowledgement gives, if it is clean, or why it is not.
    #[inline]
    fn round_trip(&mut self, packet: &Packet, acknowledged: &Acknowledged, not_all_seen: bool) -> RoundTrip {
        let segments = acknowledged.wire_segments;
        let Some(newest) = acknowledged.newest else { return RoundTrip::None };
        let held_back = acknowledged.any_sacked || self.acks.duplicate_acknowledgements > 0;
        let reason = if not_all_seen || acknowledged.partial {
            Rejected::NotAllSeen
        } else if acknowledged.any_retransmitted {
            self.round_trips.repaired(packet, acknowledged);
            Rejected::Retransmitted
        } else if held_back {
            Rejected::HeldBack
        } else if newest.time_ns < acknowledged.latest_time_ns {
            Rejected::LaterCovered
        } else if packet.time_ns < newest.time_ns {
            Rejected::BeforeData
        } else {
            return RoundTrip::Sample(newest, segments);
        };
        RoundTrip::Rejected(reason, segments)
    }

    /// An acknowledgement of a single segment took long: it was delayed if its receiver had nothing else to acknowledge, and
    /// has not just acknowledged other data, which would have waited in the same queue.
    #[cold]
    pub(crate) fn check_delayed(&mut self, packet: &Packet) {
        let heard_lately = |heard_ns: i64| packet.time_ns.saturating_sub(heard_ns).unsigned_abs() < LEAST_DELAY_NS;
        let is_first = self.round_trips.moments.count == 0;
        if !is_first && self.segments.is_empty() && !self.acks.last_acknowledgement_ns.is_some_and(heard_lately) {
            self.round_trips.delayed_by(packet);
            self.note_delayed(packet);
        }
    }

    /// Nothing is missing and no acknowledgement says so, as far as records tell that are kept beside the segments.
    #[inline(always)]
    fn is_in_order(&self, context: &Context) -> bool {
        self.holes.is_empty()
            && self.acks.scoreboard.is_empty()
            && !self.loss.recovering.is_running()
            && self.loss.asked.is_none()
            && (context.sack || self.acks.duplicate_acknowledgements == 0)
    }

    /// An acknowledgement of retransmitted data that echoes an older timestamp answers the original (Eifel, RFC 3522).
    /// Without timestamps, or where both have the same, one that comes sooner than any round trip does (beside the sender). True
    /// if it does.
    ///
    /// Rule: docs/methods.md, "Spurious by report, echo or time".
    fn check_spurious(
        &mut self,
        packet: &Packet,
        repeat: &Segment,
        context: &Context,
        counters: &mut LossCounters,
    ) -> bool {
        let timestamps = packet.options & option_bits::TIMESTAMPS != 0;
        let (start, end) = (repeat.start, repeat.end());
        if timestamps && packet.tsecr != repeat.tsval {
            let echoes_older = repeat.tsval != 0
                && packet.tsecr != 0
                && serial_difference(packet.tsecr, repeat.tsval) < 0
                && self.capture.clock.may_have_sent(packet.tsecr);
            if echoes_older {
                counters.spurious += self.loss.retransmissions.mark_stamped_after(start, end, packet.tsecr);
            }
            return echoes_older;
        }
        let answers_original =
            context.beside_sender && packet.time_ns.saturating_sub(repeat.time_ns) < self.soonest_answer_ns();
        if answers_original
            && let Some(known) = self.loss.retransmissions.newest_over(start, end)
            && !known.spurious
        {
            known.spurious = true;
            counters.spurious += 1;
        }
        answers_original
    }
}
