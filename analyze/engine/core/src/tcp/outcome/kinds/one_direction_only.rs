//! `one_direction_only`: one side responded to what the capture does not have.
//!
//! Rule: docs/verdict.md, "One direction only".

use crate::tcp::events::outcome_kind::OutcomeKind;
use crate::tcp::outcome::case::{Finding, OutcomeCase};
use crate::tcp::outcome::words::{name, plural};

/// Packets from which on a capture that began in mid-stream shows that.
const FEWEST_PACKETS: u64 = 10;

/// No sender has more in flight without an acknowledgement.
const LARGEST_FIRST_FLIGHT: u64 = 1 << 16;

/// See the module.
pub fn find(case: &OutcomeCase) -> Option<Finding> {
    let packets = [0, 1].map(|side| case.side(side).packets);
    let seen = packets.iter().position(|count| *count > 0).filter(|_| packets.contains(&0))?;
    if !responds(case, seen) {
        return None;
    }
    let (own, other) = (name(seen), name(1 - seen));
    let last = case.side(seen).last_data;
    let places = case.opening_places(seen).into_iter().chain(case.ending.steps[2]).chain(last).collect();
    Some(Finding {
        kind: OutcomeKind::OneDirectionOnly,
        sentence: format!(
            "The capture holds packets from the {own} only ({}): it reacted to the {other}, from which nothing was captured",
            plural(packets[seen], "packet")
        ),
        confidence: if case.ending.openings[seen] > 0 { 0.95 } else { 0.8 },
        shown: vec![(format!("packets from the {own} that react to the {other}"), places)],
        remedy: "capture where both directions pass: look for asymmetric routing, a mirror of one direction, a filter"
            .to_owned(),
    })
}

/// It goes on as only a side does that hears from its peer.
fn responds(case: &OutcomeCase, seen: usize) -> bool {
    let side = case.side(seen);
    let unseen = case.side(1 - seen);
    let openings = u64::from(case.ending.openings[seen]);
    let resets = case.ending.resets.iter().filter(|reset| usize::from(reset.side) == seen).count() as u64;
    if openings > 0 {
        // What follows a SYN, or a SYN-ACK, is sent when the peer's has come.
        return side.packets > openings + resets;
    }
    let is_acknowledged = unseen.acknowledged_bytes > 0 || side.sent_bytes > LARGEST_FIRST_FLIGHT;
    side.packets >= FEWEST_PACKETS && is_acknowledged
}
