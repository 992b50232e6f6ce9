//! `send_buffer`: the sender kept no more in flight though window and path allowed it.
//!
//! Rule: docs/verdict.md, "Send buffer".

use crate::tcp::events::factor::Factor;
use crate::tcp::limits::rules::Condition;
use crate::tcp::limits::send_buffer::is_send_buffer_limited;
use crate::tcp::limits::tally::BufferRounds;
use crate::tcp::replay::change::Change;
use crate::tcp::sender::pauses::SenderPauses;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::doubts;
use crate::tcp::verdict::factors::rule::{
    ConfidenceBound, FactorRule, Instead, Labels, Next, Remedy, SURE_MARGIN_OF_RESIDUES, Tally,
};
use crate::tcp::verdict::words::bytes;

const REMEDY: Remedy = Remedy { words: "twice the send buffer", change: Change::TwiceBuffer };

/// See the module.
pub const RULE: FactorRule = FactorRule {
    factor: Factor::SendBuffer,
    in_words: "the sender's own limit (send buffer or pacing)",
    labels: Labels::list("send buffer"),
    in_rounds: &[Condition { turn: 50, holds: is_send_buffer_limited, beneath_slow_start: true }],
    least_share: 0.2,
    sets_the_rate: true,
    next: Next::TwiceUpToPath,
    because,
    remedies: |_| &[REMEDY],
    bounds,
    instead,
    sure_margin: SURE_MARGIN_OF_RESIDUES,
    ..FactorRule::PLAIN
};

fn because(case: &Case, tally: &Tally) -> String {
    if case.is_clocked() {
        return format!(
            "Packets left at a fixed clock, a steady {}: paced, or shaped by a queue of the sender's host",
            tally.rate()
        );
    }
    let flight = case.direction.flight.map_or(0.0, |(mean, _)| mean);
    format!(
        "The sender's own limit (send buffer or pacing) allowed no more than {} in flight, {}",
        bytes(flight),
        tally.rate()
    )
}

fn bounds(case: &Case) -> Vec<ConfidenceBound> {
    let limits = case.limits;
    let [own, path] = [RULE.factor, doubts::the_path().factor].map(|factor| limits.shares[factor].time_ns);
    let may_be_shaped = path > own / FULL_DIVISOR;
    let shaped =
        ConfidenceBound { confidence: BESIDE_A_FULL_PATH, needed: "the queueing discipline of the sender's host" };
    doubts::unknown_window(case).into_iter().chain(may_be_shaped.then_some(shaped)).collect()
}

fn instead(case: &Case) -> Option<Instead> {
    // What leaves at a fixed clock may come from a queueing discipline of the host, which paces, or shapes as a narrow path would.
    // Acknowledgements come in bursts, and a send buffer lets go what they make room for.
    if case.is_clocked() {
        Some(Instead { needed: "the queueing discipline of the sender's host", ..doubts::the_path() })
    } else if doubts::is_unseen_nearby(case) {
        Some(doubts::the_path())
    } else {
        fills_no_buffer(case).then(doubts::the_application)
    }
}

/// The path was full for such a part of the time that seems the buffer's, one in so many: a queue of the host would do both.
const FULL_DIVISOR: u64 = 5;

const BESIDE_A_FULL_PATH: f64 = 0.75;

/// Pauses tell something where they take such a part of the time, one in so many.
const TELLING_PAUSES: u64 = 10;

/// Acknowledgements fill a send buffer, and pacing spaces packets evenly: data that does neither, at the sender where that shows, is
/// not kept back by the kernel. Nor was there anything to keep back where a lone segment ended what was written before the pauses.
///
/// Rule: docs/verdict.md, "Confidence of the send buffer".
fn fills_no_buffer(case: &Case) -> bool {
    let BufferRounds { time_ns, pauses: SenderPauses { paused_ns, answered_ns, all_sent_ns, .. } } =
        case.limits.buffer_rounds;
    let answers = answered_ns >= paused_ns / 2;
    let begin_with_nothing_left = all_sent_ns > paused_ns / 10 * 9 || all_sent_ns > paused_ns / 2 && !answers;
    let is_uneven = || doubts::latest_spacing(case).is_some_and(|latest| latest > doubts::EVEN_SPACING);
    let answers_none = || doubts::is_beside_sender(case) && !answers && is_uneven();
    paused_ns >= time_ns / TELLING_PAUSES && (begin_with_nothing_left || answers_none())
}
