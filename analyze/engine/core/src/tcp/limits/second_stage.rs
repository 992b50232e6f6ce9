//! What changes the time by factor once rounds were judged: one list of rules, in the order in which they run.
//!
//! Facts come at several moments: when a direction's rounds are over, when it is summarised, when the messages of both sides are known, and
//! when all connections are. Each time the list is gone through, and a rule acts on the facts that it needs.
//!
//! Rule: docs/verdict.md, "The second stage".

use crate::http2::WindowUse;
use crate::tcp::events::factor::Factor;
use crate::tcp::events::offer::Offer;
use crate::tcp::events::sharing::Sharing;
use crate::tcp::gaps::undecided_gap::Settled;
use crate::tcp::limits::after_data::{self, Ending};
use crate::tcp::limits::inferred_window::InferredWindow;
use crate::tcp::limits::setup::Opening;
use crate::tcp::limits::summary::LimitsSummary;
use crate::tcp::limits::{
    bucket, closed_unscaled, filled, full_link, held, host_queue, http2_stalls, moves, path_mtu, sharing, stall, waits,
    without_sack,
};
use crate::tcp::requests::summary::RequestSummary;

/// What is known besides the rounds; what is not known yet, or not at all, is none.
#[derive(Default)]
pub(crate) struct Facts<'a> {
    /// The opening of the connection.
    pub(crate) opening: Option<Opening>,
    /// The end of the direction's data.
    pub(crate) ending: Option<Ending>,
    /// Gaps that proved to be something else.
    pub(crate) settled: &'a [Settled],
    /// A host that stalled in a rhythm.
    pub(crate) rhythm: Option<Rhythm<'a>>,
    /// A window of which only the flight shows the scale, and whether nothing was lost.
    pub(crate) inferred: Option<(InferredWindow, bool)>,
    /// What was delivered over time.
    pub(crate) over_time: Option<OverTime<'a>>,
    /// A window of unknown scale: times that it was closed, and how long.
    pub(crate) closed: Option<(u32, u64)>,
    /// What both sides offered, and segments retransmitted.
    pub(crate) offers: Option<([Offer; 2], u64)>,
    /// Requests of the connection, and the side that sends this data.
    pub(crate) requests: Option<(&'a RequestSummary, usize)>,
    /// Windows of HTTP/2.
    pub(crate) http2: Option<&'a WindowUse>,
    /// The connection is HTTP/2.
    pub(crate) is_http2: bool,
    /// ICMP errors that name an MTU, from the first to the last.
    pub(crate) mtu_errors_ns: Option<[i64; 2]>,
    /// A limit that others share, and what these leave.
    pub(crate) sharing: Option<(Sharing, f64)>,
    /// What an allowance lets pass, bytes/s.
    pub(crate) allowed_bytes_s: Option<f64>,
}

/// A host that stalled in a rhythm.
pub(crate) struct Rhythm<'a> {
    /// Time after which it ran again.
    pub(crate) period_ns: i64,
    /// When it stalled.
    pub(crate) stops: &'a [Settled],
    /// The capture is beside it: what passed in a stop was its own.
    pub(crate) is_beside: bool,
}

/// What was delivered over time, and what held its rate.
pub(crate) struct OverTime<'a> {
    /// Payload, bin by bin.
    pub(crate) delivered_bytes: &'a [u32],
    /// Length of a bin.
    pub(crate) bin_ns: i64,
    /// When a token bucket was empty.
    pub(crate) empty_ns: Option<&'a [[i64; 2]]>,
    /// When a link held its rate through losses.
    pub(crate) link_ns: Option<[i64; 2]>,
    /// Packets come at a fixed clock.
    pub(crate) is_clocked: bool,
}

/// A rule of the second stage.
pub struct Reassignment {
    /// The heading in docs/verdict.md that says when.
    pub heading: &'static str,
    apply: fn(&mut LimitsSummary, &Facts),
}

macro_rules! rules {
    ($($heading:literal => $apply:expr,)+) => {
        [$(Reassignment { heading: $heading, apply: $apply }),+]
    };
}

/// All of them, in the order in which they run.
pub static RULES: [Reassignment; 18] = rules![
    "A path filled without a visible queue" => |limits, facts| {
        if facts.opening.is_some() {
            let shortest_ns = limits.shortest_ns.unwrap_or(0);
            filled::take_filled(limits, shortest_ns);
        }
    },
    "Setup" => |limits, facts| facts.opening.into_iter().for_each(|opening| limits.take_opening(opening)),
    "After the last data" => |limits, facts| {
        facts.ending.iter().for_each(|ending| after_data::take_ending(limits, ending));
    },
    "Host stall" => |limits, facts| facts.settled.iter().for_each(|settled| stall::settle(limits, settled)),
    "Stops of a host with a rhythm" => |limits, facts| facts.rhythm.iter().for_each(|rhythm| take_rhythm(limits, rhythm)),
    "A window scale from the flight" => |limits, facts| {
        if let Some((window, nothing_lost)) = facts.inferred {
            moves::take_inferred(limits, window, nothing_lost);
        }
    },
    "Reference rate" => |limits, facts| {
        if let (Some(series), Some(period_ns)) = (&facts.over_time, limits.stall_period_ns) {
            stall::take_best_periods(limits, period_ns, series.delivered_bytes, series.bin_ns);
        }
    },
    "Token bucket" => |limits, facts| {
        if let Some(empty_ns) = facts.over_time.as_ref().and_then(|series| series.empty_ns) {
            bucket::take_token_bucket(limits, empty_ns);
        }
    },
    "A rate held through losses" => |limits, facts| {
        if let Some((series, link_ns)) = facts.over_time.as_ref().and_then(|series| Some((series, series.link_ns?))) {
            held::take_held(limits, link_ns, series.is_clocked);
        }
    },
    "A queue of the sender's host" => |limits, facts| {
        if facts.offers.is_some() {
            host_queue::take_host_queue(limits);
        }
    },
    "A closed window of unknown scale" => |limits, facts| {
        if let Some((zero_windows, closed_ns)) = facts.closed {
            closed_unscaled::take_closed(limits, zero_windows, closed_ns);
        }
    },
    "Losses of a full link" => |limits, facts| {
        let has_bucket = facts.over_time.as_ref().is_some_and(|series| series.empty_ns.is_some());
        if facts.offers.is_some() && !has_bucket && !limits.policed_losses {
            full_link::take_full_link(limits);
        }
    },
    "Repairs without SACK" => |limits, facts| {
        if let Some((offers, retransmitted)) = facts.offers {
            without_sack::take_without_sack(limits, offers, retransmitted);
        }
    },
    "Waits between messages" => |limits, facts| {
        if let Some((requests, side)) = facts.requests {
            waits::take_waits(limits, requests, side);
        }
    },
    "Stalls at an HTTP/2 window" => |limits, facts| {
        facts.http2.iter().for_each(|used| http2_stalls::take_stalls(limits, used));
        if facts.is_http2 {
            moves::move_all(limits, Factor::ApplicationWindow, Factor::Http2Window);
        }
    },
    "Repairs after an MTU was named" => |limits, facts| {
        facts.mtu_errors_ns.into_iter().for_each(|between_ns| path_mtu::take_path_mtu(limits, between_ns));
    },
    "What others leave" => |limits, facts| {
        if let Some((shared, left_bytes_s)) = facts.sharing {
            sharing::take_sharing(limits, shared, left_bytes_s);
        }
    },
    "Allowance" => |limits, facts| {
        facts.allowed_bytes_s.into_iter().for_each(|allowed| sharing::allow_at_most(limits, allowed));
    },
];

/// Goes through the list.
pub(crate) fn reassign(limits: &mut LimitsSummary, facts: &Facts) {
    RULES.iter().for_each(|rule| (rule.apply)(limits, facts));
}

/// The time in which a host stalled is no other factor's.
///
/// Rule: docs/verdict.md, "Stops of a host with a rhythm".
fn take_rhythm(limits: &mut LimitsSummary, rhythm: &Rhythm) {
    limits.stall_period_ns = u64::try_from(rhythm.period_ns).ok();
    let settle = if rhythm.is_beside { stall::settle } else { stall::settle_empty };
    rhythm.stops.iter().for_each(|stop| settle(limits, stop));
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/verdict.md");

    #[test]
    fn each_rule_has_one_heading_and_stands_in_the_list_of_the_document_in_this_order() {
        let document = std::fs::read_to_string(DOCUMENT).expect("the document");
        let (_, listed) = document.split_once("### The second stage").expect("the heading");
        let mut rest = listed;
        for rule in &RULES {
            assert_eq!(document.matches(&format!("\n### {}\n", rule.heading)).count(), 1, "{}", rule.heading);
            let (_, behind) = rest.split_once(&format!("[{}]", rule.heading)).expect(rule.heading);
            rest = behind;
        }
    }

    #[test]
    fn without_facts_nothing_is_changed() {
        let mut limits = LimitsSummary { reference_bytes_s: Some(1e6), ..LimitsSummary::default() };
        let before = format!("{limits:?}");
        reassign(&mut limits, &Facts::default());
        assert_eq!(format!("{limits:?}"), before);
    }
}
