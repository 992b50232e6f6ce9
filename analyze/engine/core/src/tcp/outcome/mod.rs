//! What became of a connection that did not open, did not move its data or did not end well: its kind, one sentence, the frames
//! that prove it, and what would help (docs/verdict.md). A function of what the summary holds; a connection that opened, moved
//! its data and ended has none, nor has one that the capture merely cut.
//!
//! ```text
//! case     what an outcome is made from, and what it is made of
//! kinds    a file for each kind: when it holds, its words, its remedy
//! words    numbers, sides and ICMP errors in words
//! groups   outcomes of a whole capture, counted by kind and server
//! ```

pub mod case;
pub mod groups;
pub mod kinds;
pub(crate) mod words;

use crate::tcp::events::outcome_kind::OutcomeKind;
use crate::tcp::outcome::case::{Finding, Outcome, OutcomeCase};
use crate::tcp::outcome::kinds::RULES;
use crate::tcp::summary::summary::ConnectionSummary;

impl ConnectionSummary {
    /// What became of it; none where it opened, moved its data and ended, or where that cannot be said.
    pub fn outcome(&self) -> Option<Outcome> {
        let case = OutcomeCase::of(self)?;
        found(&case).map(|finding| finding.outcome(&case))
    }

    /// Decides it, now that all is known of the capture, which ended at `capture_end_ns`.
    pub fn settle_outcome(&mut self, capture_end_ns: Option<i64>) {
        let Some(ending) = &mut self.ending else { return };
        ending.capture_end_ns = capture_end_ns.unwrap_or(self.end_ns).max(self.end_ns);
        let kind = OutcomeCase::of(self).and_then(|case| found(&case)).map(|finding| finding.kind);
        match (kind, &mut self.ending) {
            (Some(kind), Some(ending)) => ending.kind = Some(kind),
            _ => self.ending = None,
        }
    }
}

fn found(case: &OutcomeCase) -> Option<Finding> {
    RULES.iter().find_map(|rule| rule(case))
}

/// Decides all of them; the capture ended at `capture_end_ns`. In a capture that shows mostly one direction, a single SYN may have been
/// answered where nobody saw it.
pub fn settle(connections: &mut [Box<ConnectionSummary>], capture_end_ns: Option<i64>) {
    // Of captures that were read elsewhere only the connections are known.
    let capture_end_ns = capture_end_ns.or_else(|| connections.iter().map(|connection| connection.end_ns).max());
    let mut one_sided = 0usize;
    for connection in connections.iter_mut() {
        connection.settle_outcome(capture_end_ns);
        one_sided += usize::from(groups::outcome_kind(connection) == Some(OutcomeKind::OneDirectionOnly));
    }
    if one_sided == 0 {
        return;
    }
    let both_sided = |connection: &ConnectionSummary| connection.directions.iter().all(|side| side.packets > 0);
    if one_sided > connections.iter().filter(|connection| both_sided(connection)).count() {
        connections.iter_mut().filter(|connection| may_be_unseen(connection)).for_each(|one| one.ending = None);
    }
}

/// Of an input with as many frames that could not be read as its connections of one direction have packets: the other direction
/// may be in those.
pub fn doubt_one_direction(connections: &mut [Box<ConnectionSummary>], input: u16, unread_frames: u64) -> bool {
    let is_one_sided =
        |one: &ConnectionSummary| one.input == input && one.directions.iter().any(|side| side.packets == 0);
    let packets = |one: &ConnectionSummary| one.directions.iter().map(|side| side.packets).sum::<u64>();
    let alone = connections.iter().filter(|one| is_one_sided(one)).map(|one| packets(one)).sum::<u64>();
    let is_doubtful = unread_frames > 0 && unread_frames >= alone;
    if is_doubtful {
        let told = |one: &ConnectionSummary| groups::outcome_kind(one) == Some(OutcomeKind::OneDirectionOnly);
        connections.iter_mut().filter(|one| is_one_sided(one) && told(one)).for_each(|one| one.ending = None);
    }
    is_doubtful
}

fn may_be_unseen(connection: &ConnectionSummary) -> bool {
    let alone = connection.directions.iter().map(|side| side.packets).sum::<u64>() == 1;
    alone && groups::outcome_kind(connection) == Some(OutcomeKind::SynUnanswered) && connection.icmp_errors().is_none()
}
