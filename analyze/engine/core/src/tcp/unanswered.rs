//! Repeats of what the receiver had already, told by its acknowledgements where it reports none of them (no D-SACK, RFC 2883).
//!
//! A segment that brings nothing new is answered at once, by an acknowledgement of nothing more (RFC 9293 section 3.10.7.4,
//! RFC 5681 section 4.2), and so is one that fills a hole, by one of all up to the next hole. Packets arrive in the order in which
//! they were sent, so that each repeat has its answer before what was sent later has: answers are given to repeats in turn. What
//! is not answered in its turn got lost, or its answer did. So this finds no more than there are, and may find fewer.

use std::collections::VecDeque;

use super::acknowledgement::Terms;
use super::arrival::FASTEST_ANSWER;
use super::half::Live;
use super::loss::LossCounters;
use super::segments::state;
use super::sequence::serial_difference;
use crate::packet::{Packet, option_bits};

/// A repeat that passed and may still be answered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Repeat {
    pub start: u64,
    pub end: u64,
    pub time_ns: i64,
    /// 0 without timestamps.
    pub tsval: u32,
    /// Highest position seen when it passed.
    pub seen_up_to: u64,
    /// Signs of loss triggered it, not a timer.
    pub on_loss_signs: bool,
    /// It brought what had not passed the capture point.
    pub was_missing: bool,
    /// It is known to have been unnecessary, but its answer has not come yet.
    pub is_needless: bool,
}

impl Repeat {
    fn holds(&self, position: u64) -> bool {
        (self.start..self.end).contains(&position)
    }
}

/// More are not waited for.
const MOST_UNANSWERED: usize = 2048;
/// So many in a row do not get lost all.
const FEWEST_TO_ANSWER: usize = 3;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Unanswered {
    /// In the order in which they passed.
    list: VecDeque<Repeat>,
    /// The last acknowledgement of more seems to answer one of these, of the same segment.
    fillers: Vec<Repeat>,
    /// When that came.
    filled_ns: i64,
    /// So many of those in the list before were answered as needless.
    answered: usize,
    /// The receiver reports duplicates (RFC 2883): without a report there was none.
    pub reports_come: bool,
}

impl Unanswered {
    pub(super) fn push(&mut self, repeat: Repeat) {
        if self.list.len() >= MOST_UNANSWERED {
            self.list.pop_front();
        }
        self.list.push_back(repeat);
    }

    pub(super) fn is_waited_for(&self) -> bool {
        !self.list.is_empty()
    }

    /// What was sent before `time_ns` is not answered any more.
    fn close_before(&mut self, time_ns: i64) {
        self.list.retain(|repeat| repeat.time_ns >= time_ns);
        if self.list.is_empty() {
            self.answered = 0;
        }
    }

    /// What is acknowledged from `before` on was sent before `filler`, and can have arrived only before it (RFC 5682): that has
    /// filled no hole.
    fn came_before(&self, filler: &Repeat, before: u64, has_time: impl Fn(&Repeat) -> bool) -> bool {
        let is_later = |repeat: &&Repeat| repeat.holds(before) && repeat.time_ns > filler.time_ns;
        before < filler.seen_up_to && !filler.on_loss_signs && !self.list.iter().filter(is_later).any(has_time)
    }

    /// It was sent after others that are still to be answered: most of those that were needless, so that they have not just got
    /// lost.
    fn has_to_wait(&self, index: usize) -> bool {
        let to_answer = self.list.iter().take(index).filter(|repeat| repeat.is_needless).count();
        to_answer >= FEWEST_TO_ANSWER && to_answer > self.answered
    }
}

impl Live {
    /// Everything from `before` to `position` is acknowledged. `original_ns`: it answers what was sent before this repeat of its
    /// first segment.
    #[cold]
    pub(super) fn answered_by_more(
        &mut self,
        packet: &Packet,
        [before, position]: [u64; 2],
        original_ns: Option<i64>,
        terms: Terms,
        counters: &mut LossCounters,
    ) {
        let soonest_ns = self.soonest_answer_ns();
        let last_sent_once_ns = self.sent_once_before(position);
        let Some(unanswered) = self.unanswered.as_deref_mut().filter(|known| !known.reports_come) else { return };
        let has_time = |repeat: &Repeat| packet.time_ns.saturating_sub(repeat.time_ns) >= soonest_ns;
        // What it echoes had been received (RFC 3522, RFC 7323 section 4.3).
        let has_echo = packet.options & option_bits::TIMESTAMPS != 0 && packet.tsecr != 0 && self.clock.may_have_sent(packet.tsecr);
        let echoed = has_echo.then_some(packet.tsecr);
        let had_come = |repeat: &Repeat| echoed.is_none_or(|echoed| serial_difference(echoed, repeat.tsval) >= 0);
        let retransmissions = &mut self.retransmissions;
        let mut tell = |repeat: &mut Repeat| {
            repeat.is_needless = true;
            retransmissions.mark_needless(repeat.start, repeat.time_ns, terms, counters);
        };
        let candidates = std::mem::take(&mut unanswered.fillers);
        if let Some(first) = candidates.first()
            && unanswered.came_before(first, before, has_time)
        {
            for mut repeat in candidates.into_iter().rev() {
                tell(&mut repeat);
                unanswered.list.push_front(repeat);
            }
        }
        let covered = |repeat: &Repeat| before < repeat.end && repeat.end <= position && !repeat.is_needless;
        for repeat in unanswered.list.iter_mut().filter(|repeat| covered(repeat)) {
            let after_original = || original_ns.is_some_and(|sent_ns| repeat.time_ns >= sent_ns);
            if !has_time(repeat) || after_original() || (repeat.holds(before) && !had_come(repeat)) {
                tell(repeat);
            }
        }
        let is_filler = |repeat: &Repeat| repeat.holds(before) && !repeat.is_needless;
        while let Some(index) = unanswered.list.iter().rposition(is_filler) {
            if !terms.sack && unanswered.has_to_wait(index) {
                tell(&mut unanswered.list[index]);
                continue;
            }
            let filler_ns = unanswered.list[index].time_ns;
            unanswered.fillers = unanswered.list.iter().take(index + 1).filter(|repeat| is_filler(repeat)).copied().collect();
            unanswered.list.retain(|repeat| !is_filler(repeat));
            unanswered.filled_ns = packet.time_ns;
            unanswered.close_before(filler_ns);
            break;
        }
        if let Some(sent_ns) = last_sent_once_ns {
            unanswered.close_before(sent_ns);
        }
    }

    /// Everything below `position` is acknowledged once more, at `time_ns`, and nothing else.
    #[cold]
    pub(super) fn answered_by_nothing_more(
        &mut self,
        time_ns: i64,
        position: u64,
        terms: Terms,
        counters: &mut LossCounters,
    ) {
        let soonest_ns = self.soonest_answer_ns();
        let last_sent_once_ns = self.sent_once_before(position);
        let Some(unanswered) = self.unanswered.as_deref_mut().filter(|known| !known.reports_come) else { return };
        if let Some(sent_ns) = last_sent_once_ns {
            unanswered.close_before(sent_ns);
        }
        let index = unanswered.list.iter().position(|known| {
            known.end <= position && !known.was_missing && time_ns.saturating_sub(known.time_ns) >= soonest_ns
        });
        // Too soon to answer what was sent upon the last: another transmission of what that answered.
        let is_soon = time_ns.saturating_sub(unanswered.filled_ns) < soonest_ns && unanswered.fillers.len() > 1;
        let again = || if is_soon { unanswered.fillers.pop() } else { None };
        if let Some(repeat) = index.and_then(|index| unanswered.list.remove(index)).or_else(again) {
            unanswered.answered += 1;
            unanswered.close_before(i64::MIN);
            self.retransmissions.mark_needless(repeat.start, repeat.time_ns, terms, counters);
        }
    }

    /// The receiver reports for the first time, at `time_ns`, that it has `start..end`.
    #[cold]
    pub(super) fn answered_by_report(
        &mut self,
        time_ns: i64,
        [start, end]: [u64; 2],
        terms: Terms,
        counters: &mut LossCounters,
    ) {
        let soonest_ns = self.soonest_answer_ns();
        let Some(unanswered) = self.unanswered.as_deref_mut() else { return };
        let Self { retransmissions, .. } = self;
        unanswered.list.retain(|known| {
            let is_reported = start <= known.start && known.end <= end;
            let has_time = time_ns.saturating_sub(known.time_ns) >= soonest_ns;
            if is_reported && !has_time {
                retransmissions.mark_needless(known.start, known.time_ns, terms, counters);
            }
            !(is_reported && has_time)
        });
    }

    /// No answer comes sooner after what it answers.
    fn soonest_answer_ns(&self) -> i64 {
        (FASTEST_ANSWER * self.round_trips.moments.min().unwrap_or(0) as f64) as i64
    }

    /// When the byte before `position` was sent, if that was once.
    fn sent_once_before(&self, position: u64) -> Option<i64> {
        let record = self.segments.recent(position.checked_sub(1)?)?;
        (record.state & (state::RETRANSMITTED | state::LATE) == 0).then_some(record.time_ns)
    }
}
