//! Retransmissions that may still be acknowledged, and what came back for each: bounded memory of one direction.

use std::collections::VecDeque;

use crate::tcp::events::retransmission::Retransmission;
use crate::tcp::stats::sequence::serial_difference;

/// More are not waited for.
const MOST_UNANSWERED: usize = 2048;

/// So many in a row do not get lost all.
const FEWEST_TO_ANSWER: usize = 3;

/// A repeat that passed and may still be answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Repeat {
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
    pub(crate) fn of(known: &Retransmission, was_missing: bool) -> Self {
        let &Retransmission { start, end, time_ns, tsval, seen_up_to, on_loss_signs, spurious, .. } = known;
        Self { start, end, time_ns, tsval, seen_up_to, on_loss_signs, was_missing, is_needless: spurious }
    }

    fn holds(&self, position: u64) -> bool {
        (self.start..self.end).contains(&position)
    }
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub(crate) struct AwaitedData {
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
    /// There were too many.
    has_forgotten: bool,
}

/// An acknowledgement of more than before.
pub(crate) struct AwaitedAck {
    pub(crate) time_ns: i64,
    /// From where on, and up to where.
    pub(crate) before: u64,
    pub(crate) position: u64,
    /// No answer comes sooner after what it answers.
    pub(crate) soonest_ns: i64,
    /// It answers what was sent before this repeat of its first segment.
    pub(crate) original_ns: Option<i64>,
    /// TSval of what it answers (RFC 7323 section 4.3).
    pub(crate) echoed: Option<u32>,
    /// Each repeat has an answer of its own.
    pub(crate) in_turn: bool,
    /// The first of it had been reported (SACK).
    pub(crate) was_reported: bool,
}

impl AwaitedAck {
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

impl AwaitedData {
    pub(crate) fn push(&mut self, repeat: Repeat) {
        if self.reports_come {
            return;
        }
        if self.list.len() >= MOST_UNANSWERED {
            self.list.pop_front();
            self.has_forgotten = true;
        }
        self.list.push_back(repeat);
    }

    /// There were too many: the oldest were forgotten.
    pub(crate) fn has_forgotten(&self) -> bool {
        self.has_forgotten
    }

    pub(crate) fn is_waited_for(&self) -> bool {
        !self.list.is_empty()
    }

    /// Then nothing else is needed to tell them.
    pub(crate) fn duplicates_are_reported(&mut self) {
        *self = Self { reports_come: true, ..Self::default() };
    }

    /// What was sent before `time_ns` is not answered any more.
    pub(crate) fn close_before(&mut self, time_ns: i64) {
        self.list.retain(|repeat| repeat.time_ns >= time_ns);
        if self.list.is_empty() {
            self.answered = 0;
        }
    }

    /// More is acknowledged. Calls `tell` for each repeat that is needless.
    pub(crate) fn more(&mut self, answer: &AwaitedAck, mut tell: impl FnMut(&Repeat)) {
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
    fn fills_nothing(&self, filler: &Repeat, answer: &AwaitedAck) -> bool {
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
    fn take_fillers(&mut self, index: usize, answer: &AwaitedAck) {
        let last_ns = self.list[index].time_ns;
        let (fillers, others) = self.list.drain(..).partition(|repeat| answer.may_answer(repeat));
        (self.fillers, self.list, self.filled_ns) = (fillers, others, answer.time_ns);
        self.close_before(last_ns);
    }

    /// The receiver reports for the first time that it has `start..end` (RFC 2018): that answers the repeats of it.
    pub(crate) fn reported(
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
    pub(crate) fn nothing_more(&mut self, time_ns: i64, position: u64, soonest_ns: i64) -> Option<Repeat> {
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
