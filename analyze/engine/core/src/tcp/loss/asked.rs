//! What has passed and asks its receiver for an acknowledgement of nothing more: retransmissions of what it has, and probes
//! (RFC 9293 section 3.10.7.4). Such an acknowledgement may equal the one before it in every bit, and is yet another packet.
//!
//! Rule: docs/methods.md, "Equal acknowledgements".

use std::collections::VecDeque;

use crate::tcp::kernel::LONGEST_WAY_NS;

/// More are not waited for: the oldest is forgotten.
const MOST_ASKED: usize = 64;

/// A packet that asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Question {
    /// When it passed.
    time_ns: i64,
    /// The position after its last byte; of one without data, after what has overtaken it.
    end: u64,
    /// It has no data: what has overtaken it is acknowledged first, and that is not its answer.
    is_overtaken: bool,
    /// So it was, once.
    without_data: bool,
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked(VecDeque<Question>);

impl Asked {
    /// `segments` that end at `end` passed at `time_ns`.
    pub(crate) fn push(&mut self, time_ns: i64, end: u64, segments: u32) {
        for _ in 0..segments.min(MOST_ASKED as u32) {
            self.add(Question { time_ns, end, is_overtaken: false, without_data: false });
        }
    }

    /// A packet without data passed at `time_ns`, behind what ends at `end` and was sent after it.
    pub(crate) fn push_overtaken(&mut self, time_ns: i64, end: u64) {
        self.add(Question { time_ns, end, is_overtaken: true, without_data: true });
    }

    fn add(&mut self, question: Question) {
        if self.0.len() >= MOST_ASKED {
            self.0.pop_front();
        }
        self.0.push_back(question);
    }

    fn first(&self, time_ns: i64, position: u64) -> Option<usize> {
        self.0.iter().position(|asked| {
            asked.end <= position && (0..=LONGEST_WAY_NS).contains(&time_ns.saturating_sub(asked.time_ns))
        })
    }

    /// An acknowledgement of nothing more than `position` may be asked for.
    pub(crate) fn may_be_answered(&self, time_ns: i64, position: u64) -> bool {
        self.first(time_ns, position).is_some()
    }

    /// Such an acknowledgement has come.
    pub(crate) fn answered(&mut self, time_ns: i64, position: u64) {
        if let Some(index) = self.first(time_ns, position) {
            self.0.remove(index);
        }
    }

    /// An acknowledgement of more, up to `position`: what asked long enough before it has brought that, or was answered before. No
    /// answer comes sooner than `soonest_ns`. The first that covers what has overtaken a packet answers that, and not the packet.
    pub(crate) fn advanced(&mut self, time_ns: i64, position: u64, soonest_ns: i64) {
        self.0.retain_mut(|asked| {
            let is_covered = asked.end <= position;
            let waits_on = is_covered && std::mem::take(&mut asked.is_overtaken);
            !is_covered || waits_on || time_ns.saturating_sub(asked.time_ns) < soonest_ns
        });
    }

    /// A packet that was overtaken has yet to be answered.
    pub(crate) fn awaits_another(&self) -> bool {
        self.0.iter().any(|asked| asked.without_data)
    }

    /// Nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_retransmission_asks_for_one_acknowledgement_a_round_trip_later() {
        let mut asked = Asked::default();
        asked.push(0, 100, 2);
        assert_eq!([(40, 99), (40, 100)].map(|(at, to)| asked.may_be_answered(at, to)), [false, true]);
        asked.answered(40, 100);
        assert!(asked.may_be_answered(41, 100) && !asked.may_be_answered(40 + LONGEST_WAY_NS, 100));
        asked.answered(41, 100);
        assert!(asked.is_empty());
    }

    #[test]
    fn an_acknowledgement_of_more_leaves_what_it_cannot_answer() {
        let mut asked = Asked::default();
        asked.push(0, 100, 1);
        asked.push(35, 100, 1);
        asked.push(0, 300, 1);
        asked.advanced(40, 200, 10);
        assert_eq!(asked.0.iter().map(|asked| (asked.time_ns, asked.end)).collect::<Vec<_>>(), [(35, 100), (0, 300)]);
    }

    #[test]
    fn what_was_overtaken_waits_on_when_what_overtook_it_is_acknowledged() {
        let mut asked = Asked::default();
        asked.push_overtaken(0, 142);
        asked.advanced(40, 141, 10);
        assert!(!asked.may_be_answered(40, 141));
        asked.advanced(41, 142, 10);
        assert!(asked.may_be_answered(42, 142) && asked.awaits_another());
        asked.advanced(50, 200, 10);
        assert!(asked.is_empty(), "answered by then, or never");
    }

    #[test]
    fn no_more_are_kept_than_the_bound() {
        let mut asked = Asked::default();
        (0..200).for_each(|at| asked.push(at, 100, 3));
        assert_eq!(asked.0.len(), MOST_ASKED);
    }
}
