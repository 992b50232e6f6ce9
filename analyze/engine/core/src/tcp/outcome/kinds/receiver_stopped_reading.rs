//! `receiver_stopped_reading`: the receiver closed its window and never opened it again.
//!
//! Rule: docs/verdict.md, "Receiver stopped reading".

use crate::tcp::events::outcome_kind::OutcomeKind;
use crate::tcp::events::sent::SentKind;
use crate::tcp::outcome::case::{Finding, OutcomeCase};
use crate::tcp::outcome::words::{lasting, name, plural};

/// Slow readers close their windows for shorter times.
const LEAST_NS: i64 = 3_000_000_000;

/// It was closed so many times longer than ever before.
const LONGER_THAN_BEFORE: i64 = 2;

/// See the module.
pub fn find(case: &OutcomeCase) -> Option<Finding> {
    [0, 1].into_iter().find_map(|sender| of_sender(case, sender))
}

fn of_sender(case: &OutcomeCase, sender: usize) -> Option<Finding> {
    let side = case.side(sender);
    let [first, last] = side.closed?;
    let lasted_ns = case.summary.end_ns.saturating_sub(first.time_ns);
    let probes =
        case.sent_again(sender, first.time_ns, &[SentKind::WindowProbe, SentKind::Retransmission, SentKind::KeepAlive]);
    // A window that is closed hurts only who has something to send.
    let has_more = !probes.is_empty() || last.time_ns > first.time_ns;
    if lasted_ns < LEAST_NS.max(side.longest_closed_ns.saturating_mul(LONGER_THAN_BEFORE)) || !has_more {
        return None;
    }
    let receiver = name(1 - sender);
    let probed = match u64::from(side.times_again) {
        0 => String::new(),
        count if probes.is_empty() => format!("; {} found it still closed", plural(count, "probe")),
        count => format!(", in spite of {} from the {}", plural(count, "probe"), name(sender)),
    };
    let places = [first, last].into_iter().chain(probes.iter().map(|sent| sent.place)).collect();
    Some(Finding {
        kind: OutcomeKind::ReceiverStoppedReading,
        sentence: format!(
            "The {receiver} stopped reading {} before the end: its window closed and never opened again{probed}",
            lasting(lasted_ns)
        ),
        confidence: if probes.len() >= 2 || last.time_ns.saturating_sub(first.time_ns) >= LEAST_NS {
            0.95
        } else {
            0.8
        },
        shown: vec![("the first and the last window of 0, and probes".to_owned(), places)],
        remedy: format!(
            "look at the application on the {receiver}: it is stopped, blocked (disk, lock, its own output), or waits for \
             something else"
        ),
    })
}
