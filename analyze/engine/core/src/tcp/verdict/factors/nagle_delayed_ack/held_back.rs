//! What small writes waited for delayed ACKs looked like the application's time.
//!
//! Rule: docs/verdict.md, "Time of writes kept back".

use crate::tcp::events::factor::Factor;
use crate::tcp::limits::moves::{move_time, rename};
use crate::tcp::limits::summary::LimitsSummary;
use crate::tcp::sender::nagle::NagleWaits;
use crate::tcp::verdict::factors::waits::{NEARLY_ALL, pauses};

/// The sender of the data is the client (0) or the server (1).
pub(super) fn take_held_back(summary: &mut LimitsSummary, waits: &NagleWaits, side: usize) {
    let own_wait = if side == 0 { Factor::ClientWait } else { Factor::ServerWait };
    let mut left_ns = waits.time_ns;
    for from in [Factor::Application, own_wait] {
        let there_ns = summary.shares[from].time_ns;
        let time_ns = left_ns.min(there_ns);
        if time_ns == 0 {
            continue;
        }
        left_ns -= time_ns;
        move_time(summary, (from, Factor::NagleDelayedAck), time_ns);
        let is_all = time_ns as f64 >= NEARLY_ALL * there_ns as f64;
        let spans_ns = if is_all { pauses(summary, from) } else { shown(waits) };
        rename(summary, Factor::NagleDelayedAck, from, &spans_ns);
    }
}

/// From the segment that was alone in flight to the ACK that let the next one go.
fn shown(waits: &NagleWaits) -> Vec<[i64; 2]> {
    waits.places.chunks_exact(3).map(|places| [places[0].time_ns, places[1].time_ns]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::limits::share::Share;

    /// Of so much time of two factors, milliseconds: what is left of them, and what writes were kept back.
    fn left(factors: [(Factor, u64); 2], kept_back: u64, side: usize) -> [u64; 3] {
        let mut summary = LimitsSummary::default();
        for (factor, time_ns) in factors {
            summary.shares[factor] = Share { time_ns, bytes: 0 };
        }
        take_held_back(&mut summary, &NagleWaits { count: 3, time_ns: kept_back, places: Vec::new() }, side);
        [factors[0].0, factors[1].0, Factor::NagleDelayedAck].map(|factor| summary.shares[factor].time_ns)
    }

    #[test]
    fn writes_that_were_kept_back_are_not_the_applications_time() {
        let both = [(Factor::Application, 100), (Factor::ServerWait, 50)];
        assert_eq!(left(both, 40, 1), [60, 50, 40]);
        assert_eq!(left(both, 130, 1), [0, 20, 130]);
        assert_eq!(left(both, 130, 0), [0, 50, 100], "the server's wait is not that of the client's data");
    }
}
