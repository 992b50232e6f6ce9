//! `idle_then_reset`: nothing passed for long, then somebody reset the connection, or answered the next packet so.
//!
//! Rule: docs/verdict.md, "Idle, then reset".

use crate::tcp::events::ending::{Reset, Resumed};
use crate::tcp::events::outcome_kind::OutcomeKind;
use crate::tcp::outcome::case::{Finding, OutcomeCase};
use crate::tcp::outcome::kinds::reset::stranger;
use crate::tcp::outcome::words::{lasting, name};

/// The reset answers what was sent within this time, or within so many round trips.
const ANSWER_NS: i64 = 3_000_000_000;

const ANSWER_ROUND_TRIPS: i64 = 10;

/// See the module.
pub fn find(case: &OutcomeCase) -> Option<Finding> {
    let reset = case.reset_when_open().filter(|_| !case.any_fin())?;
    let resumed = case.ending.resumed?;
    let by_itself = resumed.to == reset.place;
    if !by_itself && !answers(case, &resumed, &reset) {
        return None;
    }
    let (side, idle) = (usize::from(reset.side), lasting(resumed.idle_ns()));
    let sentence = if by_itself {
        format!("The {} reset the connection after it had been idle for {idle}", name(side))
    } else {
        format!(
            "Idle for {idle}, then a reset came in reply to the next packet from the {}. A host or a device on the path had \
             dropped the idle connection",
            name(usize::from(resumed.side))
        )
    };
    let by_stranger = stranger(case, &reset).map_or_else(String::new, |strange| format!(". {}", strange.words));
    Some(Finding {
        kind: OutcomeKind::IdleThenReset,
        sentence: sentence + &by_stranger,
        confidence: 0.9,
        shown: vec![("the first packet after the idle time, and the reset".to_owned(), vec![resumed.to, reset.place])],
        remedy: format!(
            "send keep-alives more often than every {idle} (TCP keep-alive, pings of the protocol), or raise the idle timeout \
             of the server, load balancer, NAT or firewall"
        ),
    })
}

/// The packet after the silence was answered with nothing but the reset.
fn answers(case: &OutcomeCase, resumed: &Resumed, reset: &Reset) -> bool {
    let waited_ns = reset.place.time_ns.saturating_sub(resumed.to.time_ns);
    let longest_ns = case.ending.rtt_ns.unwrap_or(0).saturating_mul(ANSWER_ROUND_TRIPS).max(ANSWER_NS);
    let not_heard = case.last_ns(usize::from(reset.side)).is_none_or(|last_ns| last_ns <= resumed.from_ns);
    reset.side != resumed.side && (0..=longest_ns).contains(&waited_ns) && not_heard
}
