//! What a sender that has paused sends next answers: an acknowledgement, or nothing that passed.
//!
//! How it works: an application does not see acknowledgements. Only its kernel does, which sends what a window has kept back, or wakes
//! a writer once a third of the send buffer is free (Linux: `sk_stream_write_space`). So data that comes right behind an
//! acknowledgement, pause after pause, was kept back by a window or by the send buffer; an application that writes at its own pace
//! meets acknowledgements by chance, as often as its time lies behind one. The chance is counted, too, so that both can be compared
//! ([`crate::tcp::limits::rules`]).
//!
//! A sender that paces (BBR) pauses between any two sends. Those pauses are shorter than the one that a buffer makes of them, and tell
//! nothing: only pauses of at least half of the longest in the latest round trips count, and those before which a single segment
//! with PSH went alone: it was the end of what had been written, and pacing had nothing to keep back. (Linux sets PSH on each frame
//! that the network card is to cut, so that on more than one segment it says nothing.)
//!
//! Rule: docs/verdict.md, "Pauses".

use crate::packet::Packet;
use crate::tcp::kernel::{NO_ANSWER_NS, PACED_SEGMENTS};

/// So long after an acknowledgement its answer comes at the latest, and after no larger part of the pause (one in so many): a
/// kernel's own is immediate, and waking a writer takes less.
pub const ANSWER_NS: i64 = 250_000;

const ANSWER_DIVISOR: i64 = 8;

/// A busy host wakes a writer later. Behind a long pause that is no chance, either: up to this part of it, one in so many, and a
/// millisecond.
const LATE_ANSWER_DIVISOR: i64 = 64;

/// Away from the sender, what it sends may be so much longer under way than the shortest round trip says, and no more than such a
/// part of the pause: a large frame is cut, passes, and is put together again.
const WAY_NS: i64 = 500_000;

const WAY_DIVISOR: i64 = 16;

const NO_ANSWER_DIVISOR: i64 = 4;

/// Whoever sees a sender from so near sees when it answers.
const NEAR_NS: i64 = 1_000_000;

/// Round trips in which the longest pause is looked for: a queue makes what a buffer lets pass at once last for more than one.
const LATEST_ROUNDS: usize = 4;

const NEVER: i64 = Packet::NEVER_NS;

/// Nanoseconds so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SenderPauses {
    /// In pauses that count.
    pub paused_ns: u64,
    /// In those of them that data ended as an answer to an acknowledgement.
    pub answered_ns: u64,
    /// In those that data ended which answered none, and was more than pacing hands down.
    pub unanswered_ns: u64,
    /// The same at the sender, or near it, where no share of the pause is asked for.
    pub late_ns: u64,
    /// In those before which all was sent that had been written.
    pub all_sent_ns: u64,
    /// In those that data ended which has waited in a queue since it was handed down.
    pub waited_ns: u64,
    /// In those that data ended right behind what the other side said, the first since.
    pub asked_ns: u64,
    /// In which data would have been an answer whatever sent it.
    pub covered_ns: u64,
}

impl SenderPauses {
    /// What came after an earlier moment.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self {
            paused_ns: self.paused_ns.saturating_sub(earlier.paused_ns),
            answered_ns: self.answered_ns.saturating_sub(earlier.answered_ns),
            unanswered_ns: self.unanswered_ns.saturating_sub(earlier.unanswered_ns),
            late_ns: self.late_ns.saturating_sub(earlier.late_ns),
            all_sent_ns: self.all_sent_ns.saturating_sub(earlier.all_sent_ns),
            waited_ns: self.waited_ns.saturating_sub(earlier.waited_ns),
            asked_ns: self.asked_ns.saturating_sub(earlier.asked_ns),
            covered_ns: self.covered_ns.saturating_sub(earlier.covered_ns),
        }
    }

    /// What ended them had waited in a queue below the socket: a good part of it, or more than what answers an acknowledgement.
    pub(crate) fn ended_from_a_queue(&self) -> bool {
        self.waited_ns > self.paused_ns / 4 || self.waited_ns > self.paused_ns / 10 && self.waited_ns > self.answered_ns
    }

    /// Takes those of another time, too.
    pub(crate) fn add(&mut self, other: &Self) {
        self.paused_ns = self.paused_ns.saturating_add(other.paused_ns);
        self.answered_ns = self.answered_ns.saturating_add(other.answered_ns);
        self.unanswered_ns = self.unanswered_ns.saturating_add(other.unanswered_ns);
        self.late_ns = self.late_ns.saturating_add(other.late_ns);
        self.all_sent_ns = self.all_sent_ns.saturating_add(other.all_sent_ns);
        self.waited_ns = self.waited_ns.saturating_add(other.waited_ns);
        self.asked_ns = self.asked_ns.saturating_add(other.asked_ns);
        self.covered_ns = self.covered_ns.saturating_add(other.covered_ns);
    }
}

/// What the sender hands down at once.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sends {
    /// Highest position before the pause.
    pub sent: u64,
    /// A full segment.
    pub segment_size: u64,
    /// What pacing hands down at once, or a receiving host puts together.
    pub least_burst: u64,
    /// At the sender, and all that it has sent was acknowledged before the pause ended.
    pub nothing_in_flight: bool,
    /// The last of it had PSH.
    pub pushed: bool,
    /// What ends the pause was handed down before its sender heard of what had passed long before: it has waited in a queue.
    pub has_waited: bool,
    /// When the other side said the last that it is the first since, if it did.
    pub asked_ns: Option<i64>,
}

/// A pause that has ended, and where the data begins that ended it. What comes with that is known at the next pause.
#[derive(Debug, Clone, Copy)]
struct Ended {
    pause_ns: i64,
    /// Since the newest acknowledgement.
    behind_ns: i64,
    start: u64,
    /// From here on it answers none.
    no_answer_ns: i64,
    /// The pause began with the end of what had been written.
    all_sent: bool,
    /// Seen near the sender: only that itself can have been late.
    near: bool,
    /// As in [`Sends`].
    has_waited: bool,
    /// It came right behind what the other side said.
    is_asked: bool,
}

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct Restarts {
    /// When the newest acknowledgement passed.
    passed_ns: i64,
    /// When the newest one passed that the sender has heard of.
    heard_ns: i64,
    /// The longest pause in the rounds before and, last, in this one.
    longest_ns: [i64; LATEST_ROUNDS],
    last: Option<Ended>,
    /// Highest position when the last pause ended, whether that counts or not.
    resumed_at: u64,
    pauses: SenderPauses,
}

impl Default for Restarts {
    fn default() -> Self {
        Self {
            passed_ns: NEVER,
            heard_ns: NEVER,
            longest_ns: [0; LATEST_ROUNDS],
            last: None,
            resumed_at: 0,
            pauses: SenderPauses::default(),
        }
    }
}

impl Restarts {
    /// An acknowledgement passes.
    #[inline(always)]
    pub(crate) fn passed(&mut self, time_ns: i64) {
        // A time before the last one counts as long after it, which takes one comparison less.
        self.pauses.covered_ns += (time_ns.wrapping_sub(self.passed_ns) as u64).min(ANSWER_NS as u64);
        self.passed_ns = time_ns;
    }

    /// The sender has heard of one that passed at that time.
    #[inline]
    pub(crate) fn heard(&mut self, passed_ns: i64) {
        self.heard_ns = passed_ns;
    }

    /// It has heard of all that passed.
    pub(crate) fn heard_all(&mut self) {
        self.heard_ns = self.passed_ns;
    }

    /// Data comes after a pause. `loop_ns`: the shortest round trip between the capture point and the sender; 0 beside it.
    #[cold]
    pub(crate) fn paused(&mut self, time_ns: i64, pause_ns: i64, loop_ns: i64, sends: Sends) {
        if let Some(last) = self.last.take() {
            self.count(last, sends);
        }
        let sent_before = sends.sent.saturating_sub(std::mem::replace(&mut self.resumed_at, sends.sent));
        let all_sent = sends.pushed && sent_before <= sends.segment_size;
        let longest_ns = self.longest_ns.into_iter().max().unwrap_or(0);
        let now = &mut self.longest_ns[LATEST_ROUNDS - 1];
        *now = pause_ns.max(*now);
        if (all_sent || pause_ns.saturating_mul(2) >= longest_ns) && self.heard_ns != NEVER {
            let way_ns = if loop_ns > 0 { loop_ns + WAY_NS.min(pause_ns / WAY_DIVISOR) } else { 0 };
            let behind_ns = time_ns.saturating_sub(way_ns).saturating_sub(self.heard_ns);
            let is_asked = sends.asked_ns.is_some_and(|asked_ns| {
                let since_ns = time_ns.saturating_sub(way_ns).saturating_sub(asked_ns);
                since_ns <= ANSWER_NS.max(pause_ns / ANSWER_DIVISOR)
            });
            let part_ns = if sends.nothing_in_flight { 0 } else { pause_ns / NO_ANSWER_DIVISOR };
            let no_answer_ns = NO_ANSWER_NS.max(part_ns);
            self.last = Some(Ended {
                pause_ns,
                behind_ns,
                start: sends.sent,
                no_answer_ns,
                all_sent,
                near: loop_ns < NEAR_NS,
                has_waited: sends.has_waited,
                is_asked,
            });
        }
    }

    /// A lone short segment is what Nagle's algorithm has kept back (RFC 9293 section 3.7.4): it answers an acknowledgement
    /// whatever limits, and tells nothing.
    fn count(&mut self, last: Ended, sends: Sends) {
        let Ended { pause_ns, behind_ns, start, no_answer_ns, all_sent, near, has_waited, is_asked } = last;
        let bytes = sends.sent.saturating_sub(start);
        if bytes < sends.segment_size {
            return;
        }
        // Times that jump back and forth make pauses of any sum.
        let add = |sum_ns: &mut u64| *sum_ns = sum_ns.saturating_add(pause_ns as u64);
        add(&mut self.pauses.paused_ns);
        if all_sent {
            add(&mut self.pauses.all_sent_ns);
        }
        if is_asked {
            add(&mut self.pauses.asked_ns);
        }
        if has_waited && behind_ns > NO_ANSWER_NS {
            add(&mut self.pauses.waited_ns);
        }
        let late_ns = (pause_ns / LATE_ANSWER_DIVISOR).min(NO_ANSWER_NS);
        if behind_ns <= ANSWER_NS.min(pause_ns / ANSWER_DIVISOR).max(late_ns) {
            add(&mut self.pauses.answered_ns);
        } else if behind_ns > NO_ANSWER_NS
            && !has_waited
            && (all_sent || bytes > sends.least_burst.max(PACED_SEGMENTS * sends.segment_size))
        {
            if near {
                add(&mut self.pauses.late_ns);
            }
            if behind_ns > no_answer_ns {
                add(&mut self.pauses.unanswered_ns);
            }
        }
    }

    /// The next round trip begins.
    pub(crate) fn begin_round(&mut self) {
        self.longest_ns.rotate_left(1);
        self.longest_ns[LATEST_ROUNDS - 1] = 0;
    }

    /// All so far.
    pub(crate) fn pauses(&self) -> SenderPauses {
        self.pauses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// One acknowledgement every 10 ms, and so many bytes so long after each, or a loop and so long.
    fn sent_behind_each(behind_ns: i64, bytes: u64) -> SenderPauses {
        SenderPauses { late_ns: 0, ..seen_from(0, behind_ns, bytes) }
    }

    fn seen_from(loop_ns: i64, behind_ns: i64, bytes: u64) -> SenderPauses {
        let mut restarts = Restarts::default();
        for at in 1..=101 {
            restarts.passed(at * 10 * MS);
            restarts.heard_all();
            let sends = Sends { sent: bytes * at as u64, segment_size: 1000, least_burst: 1500, ..Sends::default() };
            restarts.paused(at * 10 * MS + loop_ns + behind_ns, 10 * MS, loop_ns, sends);
            restarts.begin_round();
        }
        restarts.pauses()
    }

    /// A second of pauses of 10 ms each.
    fn pauses(answered_ns: i64, unanswered_ns: i64) -> SenderPauses {
        let [answered_ns, unanswered_ns] = [answered_ns, unanswered_ns].map(|ns| ns as u64);
        let covered_ns = 101 * ANSWER_NS as u64;
        SenderPauses { paused_ns: 1000 * MS as u64, answered_ns, unanswered_ns, covered_ns, ..SenderPauses::default() }
    }

    #[test]
    fn data_right_behind_an_acknowledgement_answers_it_and_data_at_another_time_does_not() {
        assert_eq!(sent_behind_each(MS / 10, 5000), pauses(1000 * MS, 0));
        assert_eq!(sent_behind_each(5 * MS, 5000), pauses(0, 1000 * MS));
        assert_eq!(sent_behind_each(2 * MS, 5000), pauses(0, 0), "it may be either");
    }

    #[test]
    fn data_right_behind_what_the_other_side_said_was_asked_for() {
        for (since_ms, asked_ns) in [(Some(1), 1000 * MS as u64), (Some(4), 0), (None, 0)] {
            let mut restarts = Restarts::default();
            for at in 1..=101 {
                restarts.passed(at * 10 * MS);
                restarts.heard_all();
                let asked_ns = since_ms.map(|since_ms| (at * 10 + 5 - since_ms) * MS);
                let sends = Sends { sent: 5000 * at as u64, segment_size: 1000, asked_ns, ..Sends::default() };
                restarts.paused((at * 10 + 5) * MS, 10 * MS, 0, sends);
            }
            assert_eq!(restarts.pauses().asked_ns, asked_ns);
        }
    }

    #[test]
    fn away_from_the_sender_an_answer_may_be_under_way_for_half_a_millisecond_more() {
        assert_eq!(seen_from(40 * MS, MS * 7 / 10, 5000), pauses(1000 * MS, 0));
        assert_eq!(sent_behind_each(MS * 7 / 10, 5000), pauses(0, 0));
    }

    #[test]
    fn what_pacing_may_have_kept_back_is_not_said_to_answer_nothing() {
        assert_eq!(sent_behind_each(5 * MS, 2000), pauses(0, 0));
    }

    #[test]
    fn what_comes_later_than_an_answer_counts_as_late_where_the_sender_is_seen_from_near() {
        let late_ns = [0, MS / 2, 40 * MS].map(|loop_ns| seen_from(loop_ns, 2 * MS, 5000).late_ns);
        assert_eq!(late_ns, [1000 * MS as u64, 1000 * MS as u64, 0]);
    }

    #[test]
    fn a_single_segment_with_push_was_all_there_was_to_send_and_counts_beside_longer_pauses() {
        for (pushed, unanswered_ns) in [(true, 50 * MS as u64), (false, 0)] {
            let mut restarts = Restarts::default();
            let sends =
                |at: u64| Sends { sent: 1000 * at, segment_size: 1000, least_burst: 1500, pushed, ..Sends::default() };
            restarts.passed(0);
            restarts.heard_all();
            restarts.paused(30 * MS, 30 * MS, 0, sends(1));
            (1..=6).for_each(|at| restarts.paused((30 + 10 * at) * MS, 10 * MS, 0, sends(1 + at as u64)));
            assert_eq!(restarts.pauses().unanswered_ns.saturating_sub(30 * MS as u64), unanswered_ns);
        }
    }

    #[test]
    fn what_nagle_has_kept_back_tells_nothing() {
        assert_eq!(sent_behind_each(MS / 10, 999).paused_ns, 0);
    }

    #[test]
    fn pauses_between_paced_sends_tell_nothing_beside_the_one_that_a_buffer_makes() {
        let mut restarts = Restarts::default();
        let mut sent = 0;
        let mut next = || {
            sent += 2000;
            Sends { sent, segment_size: 1000, least_burst: 1500, ..Sends::default() }
        };
        for round in 0..10 {
            let begins_ns = round * 100 * MS;
            restarts.passed(begins_ns);
            restarts.heard_all();
            restarts.paused(begins_ns + MS / 10, 60 * MS, 0, next());
            (1..10).for_each(|send| restarts.paused(begins_ns + 4 * MS * send, 4 * MS, 0, next()));
            restarts.begin_round();
        }
        let pauses = restarts.pauses();
        assert_eq!([pauses.paused_ns, pauses.answered_ns], [600 * MS as u64; 2]);
    }

    #[test]
    fn pauses_of_any_length_are_counted() {
        let mut restarts = Restarts::default();
        restarts.passed(0);
        restarts.heard_all();
        for at in 1..10 {
            restarts.paused(
                0,
                i64::MAX,
                0,
                Sends { sent: 9000 * at, segment_size: 1000, least_burst: 0, ..Sends::default() },
            );
        }
        let mut pauses = restarts.pauses();
        pauses.add(&restarts.pauses());
        assert_eq!([pauses.paused_ns, pauses.answered_ns], [u64::MAX; 2]);
    }

    #[test]
    fn what_comes_a_while_after_everything_was_acknowledged_answers_none_however_long_the_pause() {
        for (nothing_in_flight, unanswered_ns) in [(true, 40 * MS as u64), (false, 0)] {
            let mut restarts = Restarts::default();
            let sends = Sends { sent: 0, segment_size: 1000, least_burst: 1500, nothing_in_flight, ..Sends::default() };
            restarts.passed(0);
            restarts.heard_all();
            restarts.paused(3 * MS, 40 * MS, 0, sends);
            restarts.paused(43 * MS, 40 * MS, 0, Sends { sent: 9000, ..sends });
            assert_eq!(restarts.pauses().unanswered_ns, unanswered_ns);
        }
    }

    #[test]
    fn without_an_acknowledgement_nothing_is_an_answer() {
        let mut restarts = Restarts::default();
        let sends = Sends { sent: 0, segment_size: 1000, least_burst: 0, ..Sends::default() };
        restarts.paused(20 * MS, 10 * MS, 0, sends);
        restarts.paused(30 * MS, 10 * MS, 0, Sends { sent: 9000, ..sends });
        assert_eq!(restarts.pauses(), SenderPauses::default());
    }
}
