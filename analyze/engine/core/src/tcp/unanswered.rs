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
use super::loss::{LossCounters, Retransmission};
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
    /// One that was made just now; `was_missing` as in the struct.
    pub(super) fn of(known: &Retransmission, was_missing: bool) -> Self {
        let &Retransmission { start, end, time_ns, tsval, seen_up_to, on_loss_signs, spurious, .. } = known;
        Self { start, end, time_ns, tsval, seen_up_to, on_loss_signs, was_missing, is_needless: spurious }
    }

    fn holds(&self, position: u64) -> bool {
        (self.start..self.end).contains(&position)
    }
}

/// More are not waited for.
const MOST_UNANSWERED: usize = 2048;
/// So many in a row do not get lost all.
const FEWEST_TO_ANSWER: usize = 3;

/// Round trips below this are those of hosts, and of clocks.
const LEAST_TELLING_NS: i64 = 1_000_000;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Unanswered {
    /// In the order in which they passed.
    list: VecDeque<Repeat>,
    /// The last acknowledgement of more seems to answer one of these, of the same segment.
    fillers: VecDeque<Repeat>,
    /// When that came.
    filled_ns: i64,
    /// So many of those in the list before were answered as needless.
    answered: usize,
    /// The receiver reports duplicates (RFC 2883): without a report there was none.
    reports_come: bool,
}

/// An acknowledgement of more than before.
struct Answer {
    time_ns: i64,
    /// From where on, and up to where.
    before: u64,
    position: u64,
    /// No answer comes sooner after what it answers.
    soonest_ns: i64,
    /// It answers what was sent before this repeat of its first segment.
    original_ns: Option<i64>,
    /// TSval of what it answers (RFC 7323 section 4.3).
    echoed: Option<u32>,
    /// Each repeat has an answer of its own.
    in_turn: bool,
    /// The first of it had been reported (SACK).
    was_reported: bool,
}

impl Answer {
    fn has_time(&self, repeat: &Repeat) -> bool {
        self.time_ns.saturating_sub(repeat.time_ns) >= self.soonest_ns
    }

    fn covers(&self, repeat: &Repeat) -> bool {
        self.before < repeat.end && repeat.end <= self.position
    }

    /// The repeat, of data that it covers, cannot have arrived before it was made.
    fn came_before(&self, repeat: &Repeat) -> bool {
        let echoes_older = || self.echoed.is_some_and(|echoed| serial_difference(echoed, repeat.tsval) < 0);
        !self.has_time(repeat)
            || self.original_ns.is_some_and(|sent_ns| repeat.time_ns >= sent_ns)
            || (repeat.holds(self.before) && echoes_older())
    }

    fn may_answer(&self, repeat: &Repeat) -> bool {
        repeat.holds(self.before) && !repeat.is_needless
    }
}

impl Unanswered {
    pub(super) fn push(&mut self, repeat: Repeat) {
        if self.reports_come {
            return;
        }
        if self.list.len() >= MOST_UNANSWERED {
            self.list.pop_front();
        }
        self.list.push_back(repeat);
    }

    pub(super) fn is_waited_for(&self) -> bool {
        !self.list.is_empty()
    }

    /// Then nothing else is needed to tell them.
    pub(super) fn duplicates_are_reported(&mut self) {
        *self = Self { reports_come: true, ..Self::default() };
    }

    /// What was sent before `time_ns` is not answered any more.
    fn close_before(&mut self, time_ns: i64) {
        self.list.retain(|repeat| repeat.time_ns >= time_ns);
        if self.list.is_empty() {
            self.answered = 0;
        }
    }

    /// More is acknowledged. Calls `tell` for each repeat that is needless.
    fn more(&mut self, answer: &Answer, mut tell: impl FnMut(&Repeat)) {
        let fillers = std::mem::take(&mut self.fillers);
        if fillers.front().is_some_and(|first| self.fills_nothing(first, answer)) {
            for mut repeat in fillers.into_iter().rev() {
                repeat.is_needless = true;
                tell(&repeat);
                self.list.push_front(repeat);
            }
        }
        for repeat in self.list.iter_mut().filter(|repeat| !repeat.is_needless && answer.covers(repeat)) {
            repeat.is_needless = answer.came_before(repeat);
            if repeat.is_needless {
                tell(repeat);
            }
        }
        while let Some(index) = self.list.iter().rposition(|repeat| answer.may_answer(repeat)) {
            if !answer.in_turn || !self.has_to_wait(index) {
                self.take_fillers(index, answer);
                break;
            }
            self.list[index].is_needless = true;
            tell(&self.list[index]);
        }
    }

    /// What is acknowledged now was sent before `filler`, and can have arrived only before it (RFC 5682): that was not what was
    /// missing.
    fn fills_nothing(&self, filler: &Repeat, answer: &Answer) -> bool {
        let is_later = |repeat: &Repeat| {
            repeat.holds(answer.before) && repeat.time_ns >= filler.time_ns && answer.has_time(repeat)
        };
        answer.before < filler.seen_up_to
            && !answer.was_reported
            && !filler.on_loss_signs
            && !self.list.iter().any(is_later)
    }

    /// It was sent after others that are still to be answered: most of those that were needless, so that they have not just got
    /// lost.
    fn has_to_wait(&self, index: usize) -> bool {
        let to_answer = self.list.iter().take(index).filter(|repeat| repeat.is_needless).count();
        to_answer >= FEWEST_TO_ANSWER && to_answer > self.answered
    }

    /// It seems to answer the repeat at `index`, or one of the same segment that was sent before that.
    fn take_fillers(&mut self, index: usize, answer: &Answer) {
        let last_ns = self.list[index].time_ns;
        let (fillers, others) = self.list.drain(..).partition(|repeat| answer.may_answer(repeat));
        (self.fillers, self.list, self.filled_ns) = (fillers, others, answer.time_ns);
        self.close_before(last_ns);
    }

    /// The receiver reports for the first time that it has `start..end` (RFC 2018): that answers the repeats of it.
    pub(super) fn reported(
        &mut self,
        time_ns: i64,
        [start, end]: [u64; 2],
        soonest_ns: i64,
        mut tell: impl FnMut(&Repeat),
    ) {
        let is_reported = |repeat: &Repeat| start <= repeat.start && repeat.end <= end;
        if !self.list.iter().any(is_reported) {
            return;
        }
        for repeat in self.list.iter_mut().filter(|repeat| is_reported(repeat)) {
            repeat.is_needless |= time_ns.saturating_sub(repeat.time_ns) < soonest_ns;
            if repeat.is_needless {
                tell(repeat);
            }
        }
        self.list.retain(|repeat| !is_reported(repeat) || repeat.is_needless);
    }

    /// An acknowledgement of nothing more than `position` answers the first repeat of what lies below, or another transmission of
    /// what the last one answered, if it comes too soon to answer what was sent upon that.
    fn nothing_more(&mut self, time_ns: i64, position: u64, soonest_ns: i64) -> Option<Repeat> {
        let has_time = |sent_ns: i64| time_ns.saturating_sub(sent_ns) >= soonest_ns;
        let is_old = |repeat: &Repeat| repeat.end <= position && !repeat.was_missing && has_time(repeat.time_ns);
        let found = match self.list.iter().position(is_old) {
            Some(index) => self.list.remove(index),
            None if self.fillers.len() > 1 && !has_time(self.filled_ns) => self.fillers.pop_back(),
            None => None,
        };
        if found.is_none() {
            // What comes next is missing, so that nothing tells what filled the hole before it.
            self.fillers.clear();
        }
        self.answered = if self.list.is_empty() { 0 } else { self.answered + usize::from(found.is_some()) };
        found
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
        let has_echo = packet.options & option_bits::TIMESTAMPS != 0 && packet.tsecr != 0;
        let answer = Answer {
            time_ns: packet.time_ns,
            before,
            position,
            soonest_ns: self.soonest_answer_ns(),
            original_ns,
            echoed: (has_echo && self.clock.may_have_sent(packet.tsecr)).then_some(packet.tsecr),
            // With reports some answers are of another form.
            in_turn: !terms.sack,
            was_reported: self.scoreboard.contains(before, before + 1),
        };
        let last_sent_once_ns = self.sent_once_before(position);
        let retransmissions = &mut self.retransmissions;
        let Some(unanswered) = self.unanswered.as_deref_mut() else { return };
        unanswered.more(&answer, |repeat| retransmissions.mark_needless(repeat.start, repeat.time_ns, terms, counters));
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
        let Some(unanswered) = self.unanswered.as_deref_mut() else { return };
        if let Some(sent_ns) = last_sent_once_ns {
            unanswered.close_before(sent_ns);
        }
        if let Some(repeat) = unanswered.nothing_more(time_ns, position, soonest_ns) {
            self.retransmissions.mark_needless(repeat.start, repeat.time_ns, terms, counters);
        }
    }

    /// No answer comes sooner after what it answers; 0 if that tells nothing.
    pub(super) fn soonest_answer_ns(&self) -> i64 {
        let shortest_ns = (FASTEST_ANSWER * self.round_trips.moments.min().unwrap_or(0) as f64) as i64;
        if shortest_ns >= LEAST_TELLING_NS { shortest_ns } else { 0 }
    }

    /// When the byte before `position` was sent, if that was once.
    fn sent_once_before(&self, position: u64) -> Option<i64> {
        let record = self.segments.recent(position.checked_sub(1)?)?;
        record.was_sent_once().then_some(record.time_ns)
    }
}
