//! The account of a connection: its time from the first packet to the last, split by whose it is and what it was spent on.
//! Reads what `summary` keeps and measures nothing; which entry is the cause is `verdict`'s question.
//!
//! ```text
//! entry    an owner, a kind, a time; and the ledger that entries are gathered in
//! limited  of connections of which limits are known: the direction with more payload, and in its idle time the other one
//! short    of all others: opening, waits, and what was said
//! ```

pub mod entry;
mod limited;
mod short;

use crate::tcp::account::entry::{Entry, Ledger};
use crate::tcp::summary::summary::ConnectionSummary;

/// Where its time went, the longest first. It adds up to the time from the first packet to the last.
///
/// Rule: docs/verdict.md, "The account".
pub fn account(summary: &ConnectionSummary) -> Vec<Entry> {
    let all_ns = u64::try_from(summary.end_ns.saturating_sub(summary.start_ns)).unwrap_or(0);
    let mut ledger = Ledger::default();
    match limited::sides(summary) {
        Some(sides) => limited::fill(&mut ledger, summary, sides),
        None => short::fill(&mut ledger, summary, all_ns),
    }
    ledger.into_entries(all_ns)
}
