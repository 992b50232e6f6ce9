//! When a bucket was empty. It runs empty at the switch; what the application then leaves unused fills it again, up to its depth,
//! and what passes beyond its rate after that takes tokens until none are left.
//!
//! While the network sets the rate an empty bucket stays empty, whatever is delivered: that a sender which has lost packets
//! gets less than the rate for a while is the bucket's doing.
//!
//! Rule: docs/methods.md, "When a bucket is empty".

use crate::tcp::token_bucket::bucket::{LEAST_ROUND_TRIPS, LimiterKind, TokenBucket};
use crate::tcp::token_bucket::fit::BinSpan;
use crate::tcp::token_bucket::policer::FEWEST_BURST_SEGMENTS;
use crate::tcp::token_bucket::shaper::FEWEST_WINDOWS;

/// Share of a bin that the application rested for, from which on it fills the bucket.
const RESTS: f64 = 0.5;

/// A rate this near the sustained one is that of an empty bucket, if it lasts.
const AT_RATE: f64 = 0.05;

/// A policer that drops has so many round trips' tokens at most; what is lost while it has more is lost elsewhere.
const LEVEL_ON_LOSS: f64 = 2.0;

/// The bins in which it was empty, from one up to another; `switch` is the first.
pub fn empty_bins(stretch: &BinSpan, bucket: &TokenBucket, switch: usize) -> Vec<(usize, usize)> {
    let per_bin = |bps: f64| bps * stretch.bin_ns / 8e9;
    let rate = per_bin(bucket.sustained_bps);
    let fills = bucket.refill_bps.map_or(rate, |bps| per_bin(bps).min(rate));
    let least = FEWEST_BURST_SEGMENTS * stretch.segment_bytes;
    let on_loss = LEVEL_ON_LOSS * rate * (stretch.min_rtt_ns / stretch.bin_ns).max(1.0);
    let (mut tokens, mut empty_from, mut found) = (0.0f64, Some(switch), Vec::new());
    // The last bin was not over.
    for bin in switch..stretch.len().saturating_sub(1) {
        let resting = stretch.resting[bin] >= RESTS;
        let gained = if resting { fills } else { rate } - stretch.delivered[bin];
        match empty_from {
            Some(from) => {
                tokens = (tokens + if resting { gained } else { gained.min(0.0) }).clamp(0.0, bucket.burst_bytes);
                if tokens >= least.min(bucket.burst_bytes) && bin > from {
                    found.push((from, bin));
                    empty_from = None;
                }
            }
            None => {
                tokens = (tokens + gained).min(bucket.burst_bytes);
                let drops = bucket.kind == LimiterKind::Policer && stretch.lost[bin] > 0.0 && tokens <= on_loss;
                if tokens <= 0.0 || drops || (!resting && keeps_to(stretch, rate, bin)) {
                    (tokens, empty_from) = (0.0, Some(bin));
                }
            }
        }
    }
    found.extend(empty_from.map(|from| (from, stretch.len())));
    found
}

/// From this bin on, as long as a rate must last to be one, all that is delivered keeps to it.
fn keeps_to(stretch: &BinSpan, rate: f64, start: usize) -> bool {
    let window = stretch.window(rate);
    let by_time = (LEAST_ROUND_TRIPS * stretch.min_rtt_ns / stretch.bin_ns).ceil() as usize;
    let number = by_time.div_ceil(window).max(FEWEST_WINDOWS);
    let end = start.saturating_add(number.saturating_mul(window));
    if end > stretch.len() {
        return false;
    }
    let windows = stretch.windows(start, end, window);
    windows.len() == number && windows.iter().all(|one| (one / rate - 1.0).abs() <= AT_RATE)
}
