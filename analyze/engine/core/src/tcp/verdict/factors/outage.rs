//! A path that carried nothing for a while.
//!
//! Rule: docs/verdict.md, "An outage".

use crate::tcp::events::factor::Factor;
use crate::tcp::verdict::case::Case;

/// So few waits, the longest of them so long, are an outage: a policer makes a sender wait again and again.
const MOST_OUTAGES: usize = 3;

const SHORTEST_OUTAGE_NS: u64 = 600_000_000;

/// The path carried nothing for a while: when, nanoseconds.
pub(crate) fn outage_ns(case: &Case) -> Option<[i64; 2]> {
    let waits = || case.limits.runs.iter().filter(|run| run.factor == Factor::TimeoutWait);
    let longest = waits().max_by_key(|run| run.duration_ns()).filter(|run| run.duration_ns() >= SHORTEST_OUTAGE_NS)?;
    let is_lone = waits().count() <= MOST_OUTAGES && case.limits.reductions.count() <= 2 * MOST_OUTAGES as u64;
    is_lone.then_some([longest.start_ns, longest.end_ns])
}
