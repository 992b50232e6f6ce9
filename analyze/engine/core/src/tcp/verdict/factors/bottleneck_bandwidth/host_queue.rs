//! What seemed a send buffer was a queue of the sender's host that drains at a rate: a shaper (`tc tbf`, `htb`), or a slow device.
//!
//! A socket hands down little ahead of such a queue (Linux: `tcp_small_queue_check`), so that no round trip grows and the flight has a
//! ceiling, as behind a send buffer. But what leaves then carries the echo of an acknowledgement long past: it has waited. A send buffer
//! lets data go when an acknowledgement has come, with that one's echo.
//!
//! Rule: docs/verdict.md, "A queue of the sender's host".

use crate::tcp::events::factor::Factor;
use crate::tcp::limits::moves::move_all;
use crate::tcp::limits::summary::LimitsSummary;

/// Pauses tell something where they take such a part of the time, one in so many.
const TELLING_PAUSES: u64 = 10;

/// What seemed the sender's own limit was that queue.
pub(crate) fn take_host_queue(summary: &mut LimitsSummary) {
    let rounds = summary.buffer_rounds;
    let is_telling = rounds.pauses.paused_ns > 0 && rounds.pauses.paused_ns >= rounds.time_ns / TELLING_PAUSES;
    if is_telling && rounds.pauses.ended_from_a_queue() {
        move_all(summary, Factor::SendBuffer, Factor::BottleneckBandwidth);
        summary.clocked = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::limits::share::Share;
    use crate::tcp::limits::tally::BufferRounds;
    use crate::tcp::sender::pauses::SenderPauses;

    /// Nanoseconds of the link and of the send buffer, of 1000 that seemed the send buffer's.
    fn taken_ns(paused_ns: u64, waited_ns: u64, answered_ns: u64) -> [u64; 2] {
        let mut summary = LimitsSummary::default();
        summary.shares[Factor::SendBuffer] = Share { time_ns: 1000, bytes: 10 };
        let pauses = SenderPauses { paused_ns, waited_ns, answered_ns, ..SenderPauses::default() };
        summary.buffer_rounds = BufferRounds { time_ns: 1000, pauses };
        take_host_queue(&mut summary);
        assert_eq!(summary.clocked, summary.shares[Factor::BottleneckBandwidth].time_ns > 0);
        [Factor::BottleneckBandwidth, Factor::SendBuffer].map(|factor| summary.shares[factor].time_ns)
    }

    #[test]
    fn data_that_has_waited_was_let_go_by_a_queue() {
        assert_eq!(taken_ns(900, 300, 400), [1000, 0]);
        assert_eq!(taken_ns(900, 150, 20), [1000, 0], "few have, and fewer answer an acknowledgement");
    }

    #[test]
    fn data_that_answers_acknowledgements_was_let_go_by_a_buffer() {
        assert_eq!(taken_ns(900, 0, 800), [0, 1000]);
        assert_eq!(taken_ns(900, 150, 600), [0, 1000]);
    }

    #[test]
    fn few_pauses_tell_nothing() {
        assert_eq!(taken_ns(90, 90, 0), [0, 1000]);
        assert_eq!(taken_ns(0, 0, 0), [0, 1000]);
    }
}
