//! What changes the time by factor once rounds were judged: one list of rules, in the order in which they run. Each factor declares what
//! becomes its time (`verdict::factors`, where the list stands).
//!
//! Facts come at several moments: when a direction's rounds are over, when it is summarised, when the messages of both sides are known, and
//! when all connections are. Each time the list is gone through, and a rule acts on the facts that it needs.

use crate::http2::WindowUse;
use crate::tcp::events::offer::Offer;
use crate::tcp::events::sharing::Sharing;
use crate::tcp::gaps::undecided_gap::Settled;
use crate::tcp::limits::after_data::SenderEnding;
use crate::tcp::limits::inferred_window::InferredWindow;
use crate::tcp::limits::setup::SetupTime;
use crate::tcp::limits::summary::LimitsSummary;
use crate::tcp::requests::summary::RequestSummary;
use crate::tcp::sender::nagle::NagleWaits;

/// What is known besides the rounds; what is not known yet, or not at all, is none.
#[derive(Default)]
pub(crate) struct Facts<'a> {
    /// The opening of the connection.
    pub(crate) opening: Option<SetupTime>,
    /// The end of the direction's data.
    pub(crate) ending: Option<SenderEnding>,
    /// Gaps that proved to be something else.
    pub(crate) settled: &'a [Settled],
    /// A host that stalled in a rhythm.
    pub(crate) rhythm: Option<StallRhythm<'a>>,
    /// A window of which only the flight shows the scale, and whether nothing was lost.
    pub(crate) inferred: Option<(InferredWindow, bool)>,
    /// What was delivered over time.
    pub(crate) over_time: Option<DeliveredOverTime<'a>>,
    /// A window of unknown scale: times that it was closed, and how long.
    pub(crate) closed: Option<(u32, u64)>,
    /// When the path carried nothing.
    pub(crate) outages_ns: &'a [[i64; 2]],
    /// What both sides offered, and segments retransmitted.
    pub(crate) offers: Option<([Offer; 2], u64)>,
    /// Requests of the connection, and the side that sends this data.
    pub(crate) requests: Option<(&'a RequestSummary, usize)>,
    /// Small writes that waited for delayed ACKs, and the side that sends this data.
    pub(crate) kept_back: Option<(&'a NagleWaits, usize)>,
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
pub(crate) struct StallRhythm<'a> {
    /// Time after which it ran again.
    pub(crate) period_ns: i64,
    /// When it stalled.
    pub(crate) stops: &'a [Settled],
    /// The capture is beside it: what passed in a stop was its own.
    pub(crate) is_beside: bool,
}

/// What was delivered over time, and what held its rate.
pub(crate) struct DeliveredOverTime<'a> {
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
#[derive(Clone, Copy)]
pub struct Reassignment {
    /// The lower, the earlier it runs.
    pub turn: u8,
    /// The heading in docs/verdict.md that says when.
    pub heading: &'static str,
    /// Acts on the facts that it needs.
    pub(crate) apply: fn(&mut LimitsSummary, &Facts),
}

/// Goes through the list, which is in the order of its turns.
pub(crate) fn reassign(rules: &[Reassignment], limits: &mut LimitsSummary, facts: &Facts) {
    rules.iter().for_each(|rule| (rule.apply)(limits, facts));
}
