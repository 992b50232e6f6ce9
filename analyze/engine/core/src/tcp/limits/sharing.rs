//! What a limit that a connection shares with others means for it: what the others left is all that it could have had.
//!
//! Rule: docs/verdict.md, "What others leave".

use crate::tcp::events::factor::Factor;
use crate::tcp::events::sharing::Sharing;
use crate::tcp::limits::bucket::network_sets_the_rate;
use crate::tcp::limits::moves::take_time;
use crate::tcp::limits::second_stage::Reassignment;
use crate::tcp::limits::summary::LimitsSummary;

/// What no factor declares: a limit that others share is one of several, and an allowance takes no time.
pub(crate) static OF_OTHERS: [Reassignment; 2] = [
    Reassignment {
        turn: 170,
        heading: "What others leave",
        apply: |limits, facts| {
            if let Some((shared, left_bytes_s)) = facts.sharing {
                take_sharing(limits, shared, left_bytes_s);
            }
        },
    },
    Reassignment {
        turn: 180,
        heading: "Allowance",
        apply: |limits, facts| facts.allowed_bytes_s.into_iter().for_each(|allowed| allow_at_most(limits, allowed)),
    },
];

/// Its rate was that of all together less what the others had; `left_bytes_s` of payload was there for it.
pub(crate) fn take_sharing(summary: &mut LimitsSummary, sharing: Sharing, left_bytes_s: f64) {
    // What one of them waits for its timers, the others send: it is lost to nobody but it.
    let is_shadow = |factor: Factor| network_sets_the_rate(factor) || factor.holder().ends_with_a_timer();
    take_time(summary, sharing.factor, is_shadow, &[sharing.between_ns]);
    let bound = summary.allowed_bytes_s.map_or(left_bytes_s, |allowed| allowed.min(left_bytes_s));
    allow_at_most(summary, bound);
    summary.sharing = Some(Box::new(sharing));
}

/// It may carry so much payload at most. What the whole transfer reached was possible, whatever is said to be allowed.
pub(crate) fn allow_at_most(summary: &mut LimitsSummary, allowed_bytes_s: f64) {
    let bytes: u64 = summary.shares.iter().map(|(_, share)| share.bytes).sum();
    let reached_bytes_s = bytes as f64 * 1e9 / summary.time_ns().saturating_sub(summary.after_data_ns).max(1) as f64;
    let allowed_bytes_s = allowed_bytes_s.max(reached_bytes_s);
    summary.allowed_bytes_s = Some(allowed_bytes_s);
    summary.reference_bytes_s = summary.reference_bytes_s.map(|reference| reference.min(allowed_bytes_s));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::limits::runs::FactorRun;
    use crate::tcp::limits::share::Share;

    fn limits(parts: &[(Factor, i64, u64)]) -> LimitsSummary {
        let mut limits = LimitsSummary::default();
        let mut at_ns = 0;
        for &(factor, seconds, bytes) in parts {
            let end_ns = at_ns + seconds * 1_000_000_000;
            limits.runs.push(FactorRun { start_ns: at_ns, end_ns, factor, bytes, frames: [1, 2] });
            for shares in [&mut limits.shares, &mut limits.underlying] {
                shares[factor].add(Share { time_ns: (end_ns - at_ns) as u64, bytes });
            }
            at_ns = end_ns;
        }
        limits.reference_bytes_s = Some(1e6);
        limits
    }

    fn sharing(to_s: i64) -> Sharing {
        let between_ns = [0, to_s * 1_000_000_000];
        Sharing { factor: Factor::BottleneckBandwidth, rate_bps: 8e6, connections: 8, between_ns, confidence: 0.9 }
    }

    #[test]
    fn losses_behind_a_shared_limit_are_its_doing_and_no_more_was_possible_than_others_left() {
        let [window, repairs] = [(Factor::CongestionWindow, 6, 600_000), (Factor::LossRecovery, 2, 400_000)];
        let mut limits = limits(&[window, repairs, (Factor::TimeoutWait, 2, 0)]);
        take_sharing(&mut limits, sharing(10), 125_000.0);
        assert_eq!(limits.shares[Factor::BottleneckBandwidth].bytes, 1_000_000);
        assert_eq!([Factor::LossRecovery, Factor::TimeoutWait].map(|factor| limits.shares[factor].time_ns), [0; 2]);
        assert_eq!(limits.reference_bytes_s, Some(125_000.0));
    }

    #[test]
    fn what_the_application_left_unused_is_not_taken_from_it() {
        let mut limits = limits(&[(Factor::CongestionWindow, 6, 600_000), (Factor::Application, 4, 0)]);
        take_sharing(&mut limits, sharing(10), 125_000.0);
        assert_eq!(limits.shares[Factor::Application].time_ns, 4_000_000_000);
    }

    #[test]
    fn what_it_reached_was_possible_whatever_others_seem_to_leave() {
        let mut limits = limits(&[(Factor::CongestionWindow, 10, 1_000_000)]);
        take_sharing(&mut limits, sharing(10), 10.0);
        assert_eq!(limits.reference_bytes_s, Some(100_000.0));
    }
}
