//! `receiver_window`: the window that the receiver advertised left no room.
//!
//! Rule: docs/verdict.md, "Receiver's window".

mod closed_unscaled;
mod inferred;

use crate::tcp::events::factor::Factor;
use crate::tcp::events::offer::Scaling;
use crate::tcp::events::owner::Whose;
use crate::tcp::limits::background::{Background, is_window_limited};
use crate::tcp::limits::inferred_window::InferredWindow;
use crate::tcp::limits::known::KnownRound;
use crate::tcp::limits::rules::Condition;
use crate::tcp::limits::second_stage::Reassignment;
use crate::tcp::limits::share::Share;
use crate::tcp::replay::change::Change;
use crate::tcp::summary::summary::ConnectionSummary;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::doubts;
use crate::tcp::verdict::factors::rule::{ConfidenceBound, FactorRule, Instead, Labels, Next, Remedy, Tally};
use crate::tcp::verdict::words::{bytes, seconds};

/// A window without scaling that is nearly as large as the field allows (65,535 bytes) would be larger with it.
const NEAR_LARGEST_UNSCALED: u64 = 49_152;

/// What helps where scaling was not agreed.
const WINDOW_SCALING: Remedy =
    Remedy { words: "window scaling (RFC 7323) on both hosts and on the path", change: Change::WindowThatGrows };

/// What helps where the window is too small.
const TWICE_THE_WINDOW: Remedy = Remedy { words: "twice the receiver's window", change: Change::TwiceWindow };

/// What helps where it is full because nobody reads.
const READS_AT_ONCE: Remedy = Remedy { words: "a receiver that never closes its window", change: Change::ReadsAtOnce };

/// See the module.
pub const RULE: FactorRule = FactorRule {
    factor: Factor::ReceiverWindow,
    in_words: "the receiver's window",
    labels: Labels { column: "recv. window", ..Labels::list("receiver window") },
    in_rounds: &[Condition { turn: 10, holds: is_full, beneath_slow_start: false }],
    least_share: 0.15,
    sets_the_rate: true,
    next: Next::TwiceUpToPath,
    because,
    remedies,
    bounds,
    instead,
    explains_alone: true,
    owner: |summary, side| is_shut(summary, side).then(|| Whose::ReceiverApplication.of(side)),
    in_second_stage: &[
        Reassignment {
            turn: 60,
            heading: "A window scale from the flight",
            apply: |limits, facts| {
                if let Some((window, nothing_lost)) = facts.inferred {
                    inferred::take_inferred(limits, window, nothing_lost);
                }
            },
        },
        Reassignment {
            turn: 110,
            heading: "A closed window of unknown scale",
            apply: |limits, facts| {
                if let Some((zero_windows, closed_ns)) = facts.closed {
                    closed_unscaled::take_closed(limits, zero_windows, closed_ns);
                }
            },
        },
    ],
    ..FactorRule::PLAIN
};

fn is_full(rounds: &[KnownRound], index: usize, _background: &Background) -> bool {
    rounds.get(index).is_some_and(|round| is_window_limited(round))
}

fn because(case: &Case, tally: &Tally) -> String {
    let window = &case.direction.window;
    if is_closed_mostly(case, &tally.share) {
        return format!(
            "The receiver closed its window for {}: its application read too slowly",
            seconds(case.direction.extras.zero_time_ns)
        );
    }
    if let Some(InferredWindow { scale, bytes: most }) = case.limits.inferred_window {
        let (most, allowed) = (bytes(most as f64), allowed(case, tally));
        return format!("The receiver's window of {most} (scale {scale}, inferred from the data in flight) {allowed}");
    }
    let most = window.extremes.map_or(0, |(_, _, most)| most);
    let unscaled = match unscaled(case) {
        Some(Scaling::OfferedNotAgreed) => {
            " (window scaling was offered and not agreed, or a device on the path removed it: no window is larger than 64 KiB)"
        }
        Some(_) => " (the client offered no window scaling: no window is larger than 64 KiB)",
        None => "",
    };
    format!("The receiver's window of at most {}{unscaled} {}", bytes(most as f64), allowed(case, tally))
}

/// A ceiling, unless the transfer was faster at other times.
fn allowed(case: &Case, tally: &Tally) -> String {
    let was_faster = case.direction.goodput_bps().is_some_and(|goodput_bps| goodput_bps > FASTER * tally.rate_bps());
    let rate = tally.rate();
    if was_faster { format!("let {rate} pass while it was full") } else { format!("allowed no more than {rate}") }
}

/// The complete transfer was so many times as fast as it was under the window.
const FASTER: f64 = 1.1;

/// A receiver that does not read leaves no room in a window of any size.
fn is_closed_mostly(case: &Case, share: &Share) -> bool {
    case.direction.extras.zero_time_ns * 2 > share.time_ns
}

/// What both sides made of window scaling, if that keeps the window as small as it is.
///
/// Rule: docs/verdict.md, "Window without scaling".
fn unscaled(case: &Case) -> Option<Scaling> {
    let most = case.direction.window.extremes.map_or(0, |(_, _, most)| most);
    let scaling = case.connection.scaling;
    let is_closed = is_closed_mostly(case, &case.limits.shares[Factor::ReceiverWindow]);
    let is_unscaled = !is_closed && matches!(scaling, Scaling::OfferedNotAgreed | Scaling::NotOffered);
    (is_unscaled && most >= NEAR_LARGEST_UNSCALED).then_some(scaling)
}

fn remedies(case: &Case) -> &'static [Remedy] {
    if unscaled(case).is_some() { &[WINDOW_SCALING] } else { &[TWICE_THE_WINDOW, READS_AT_ONCE] }
}

fn bounds(case: &Case) -> Vec<ConfidenceBound> {
    let inferred = ConfidenceBound { confidence: INFERRED_CONFIDENCE, needed: "a capture with the handshake" };
    let inferred = case.limits.inferred_window.map(|_| inferred);
    // Zero is zero at any scale.
    let is_closed = is_closed_mostly(case, &case.limits.shares[Factor::ReceiverWindow]);
    inferred.into_iter().chain(doubts::unknown_window(case).filter(|_| !is_closed)).collect()
}

/// One of twenty flights of any size would fit some scale.
const INFERRED_CONFIDENCE: f64 = 0.85;

/// The window is full, and packets are spread over the complete round trip, of which nobody knows how long it is without a queue, since
/// the handshake is not in the capture. A window leaves a pause in each round trip; a path that is full leaves none.
///
/// Rule: docs/verdict.md, "A window that may be full because the path is".
fn instead(case: &Case) -> Option<Instead> {
    let durations =
        case.direction.spacing.durations.as_ref().filter(|_| case.connection.handshake_rtt_ns().is_none())?;
    let ([_, late_ns], mean_ns) = (durations.quantiles_ns, durations.moments.mean_ns());
    let is_spread = mean_ns > 0.0 && (1.0..=doubts::EVEN_SPACING).contains(&(late_ns / mean_ns));
    is_spread.then(doubts::the_path)
}

/// A window that is closed for most of its time is its reader's.
fn is_shut(summary: &ConnectionSummary, side: usize) -> bool {
    let limited_ns = summary.limits(side).map_or(0, |limits| limits.shares[Factor::ReceiverWindow].time_ns);
    summary.directions[side].extras.zero_time_ns * 2 > limited_ns
}
