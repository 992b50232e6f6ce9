//! What several factors have in common of what else the same packets may come from, and of what bounds their confidence.

use crate::tcp::connection::vantage::Side;
use crate::tcp::events::factor::Factor;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::path_outage::has_stopped;
use crate::tcp::verdict::factors::rule::{ConfidenceBound, Instead};
use crate::tcp::verdict::factors::token_bucket::{bursts_ratio, may_have_dropped};

/// Where the window is not known, it may be what limits.
const UNKNOWN_WINDOW_CONFIDENCE: f64 = 0.55;

/// Where losses may be the answer of a link that is full.
const FULL_LINK_CONFIDENCE: f64 = 0.75;

/// Bursts of losses so many times as long as chance makes them are none of chance.
const IN_ROWS_RATIO: f64 = 3.0;

/// Hosts nearer to each other than this are far nearer than queues are long: without a round trip nothing says how much is in
/// flight.
const NEARBY_NS: i64 = 1_000_000;

/// Packets are spaced evenly where one of a hundred is no further from the one before than so many times the mean, and half of
/// them no nearer than this share of it: a path does that, and an application that is paced.
pub(crate) const EVEN_SPACING: f64 = 3.0;

const EVEN_MEDIAN: f64 = 0.5;

const AT_THE_SENDER: &str = "a capture at the sender, or one with timestamps";

/// Where the window is not known it may be what limits.
pub(crate) fn unknown_window(case: &Case) -> Option<ConfidenceBound> {
    let is_unknown = case.direction.window.scale.is_none() && case.limits.inferred_window.is_none();
    is_unknown.then_some(ConfidenceBound {
        confidence: UNKNOWN_WINDOW_CONFIDENCE,
        needed: "a capture with the handshake, which shows the window scale",
    })
}

/// A queue stood before half of the reductions of the window: they may be the answer of a link that is full.
pub(crate) fn a_full_link(case: &Case) -> Option<ConfidenceBound> {
    let answers = case.limits.reduced_rounds.may_be_of_a_queue();
    answers.then_some(ConfidenceBound { confidence: FULL_LINK_CONFIDENCE, needed: "a longer transfer" })
}

/// Losses follow each other as no chance has it: a queue that overflowed dropped them, or a policer.
pub(crate) fn losses_in_rows(case: &Case) -> Option<ConfidenceBound> {
    let rows = bursts_ratio(case).is_some_and(|ratio| ratio >= IN_ROWS_RATIO);
    rows.then_some(ConfidenceBound { confidence: FULL_LINK_CONFIDENCE, needed: "the same transfer after an idle time" })
}

/// In most rounds a round trip was seen.
pub(crate) fn is_timed(case: &Case) -> bool {
    2 * case.limits.timed_rounds >= case.limits.rounds
}

/// It may be the path, as far as this capture shows.
pub(crate) fn the_path() -> Instead {
    Instead { factor: Factor::BottleneckBandwidth, needed: AT_THE_SENDER }
}

/// It may be the sending application.
pub(crate) fn the_application() -> Instead {
    Instead { factor: Factor::Application, needed: "TCP_INFO of the sender" }
}

/// No round trip was seen between hosts nearby: what looks like a sender's pauses, or its window, may be a queue before the path.
pub(crate) fn is_unseen_nearby(case: &Case) -> bool {
    let nearby = case.connection.handshake_rtt_ns().is_some_and(|rtt_ns| rtt_ns < NEARBY_NS);
    nearby && !is_timed(case)
}

/// A policer may have dropped what was lost, and the path did not just stop.
pub(crate) fn a_policer(case: &Case) -> Option<Instead> {
    let needed = "the same transfer after an idle time, which fills a bucket again";
    let may_be = may_have_dropped(case) && !has_stopped(case);
    may_be.then_some(Instead { factor: Factor::TokenBucket, needed })
}

/// The capture is at the sender.
pub(crate) fn is_beside_sender(case: &Case) -> bool {
    case.connection.vantage.side == [Side::Client, Side::Server][case.side & 1]
}

/// What one of a hundred packets is further from the one before than, in times of the mean; none where they come in bursts.
pub(crate) fn latest_spacing(case: &Case) -> Option<f64> {
    let durations = case.direction.spacing.durations.as_ref()?;
    let ([median_ns, late_ns], mean_ns) = (durations.quantiles_ns, durations.moments.mean_ns());
    (mean_ns > 0.0 && median_ns >= EVEN_MEDIAN * mean_ns).then(|| late_ns / mean_ns)
}
