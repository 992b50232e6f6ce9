//! `send_buffer`: the sender kept no more in flight though window and path allowed it.
//!
//! Rule: docs/verdict.md, "Send buffer".

use crate::tcp::events::factor::Factor;
use crate::tcp::limits::rules::Condition;
use crate::tcp::limits::send_buffer::is_send_buffer_limited;
use crate::tcp::replay::change::Change;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::rule::{FactorRule, Labels, Next, Remedy, Tally};
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
    blames_loss: false,
    because,
    remedies: |_| &[REMEDY],
    bounds: |_| Vec::new(),
};

fn because(case: &Case, tally: &Tally) -> String {
    let flight = case.direction.flight.map_or(0.0, |(mean, _)| mean);
    format!(
        "The sender's own limit (send buffer or pacing) allowed no more than {} in flight, {}",
        bytes(flight),
        tally.rate()
    )
}
