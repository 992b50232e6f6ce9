//! A path that becomes longer in the middle of a connection, and a queue that looks like one (docs/verdict.md,
//! `bottleneck_bandwidth` and `congestion_window`): rounds written down, most of a window that grows by a segment in two
//! rounds.
//!
//! Subjects: `tcp/verdict/factors/bottleneck_bandwidth.rs`.

use crate::playbook::*;
use vmtrace_core::tcp::events::factor::Factor;
use vmtrace_core::tcp::summary::summary::ConnectionSummary;

/// When the first round begins, ms.
const FIRST_MS: f64 = 100.0;
/// Between two segments, ms.
const STEP_MS: f64 = 0.1;
const SHORT_MS: f64 = 20.0;
const LONG_MS: f64 = 60.0;
/// Rounds before the path becomes longer, two seconds, and with those after it, another thirty.
const BEFORE: usize = 100;
const ROUNDS: usize = 600;
/// What the path takes for a segment where it is what limits, ms.
const SEGMENT_MS: f64 = 0.4;

/// Segments of a round.
fn growing(round: usize) -> usize {
    10 + round / 2
}

/// Round trips of so many ms, by the round.
fn rounds(round_trip_ms: impl Fn(usize) -> f64, window: impl Fn(usize) -> usize) -> (ConnectionSummary, f64) {
    let mut lines: Vec<(f64, usize, Segment)> = Vec::new();
    let (mut begins_ms, mut sent, mut change_ms) = (FIRST_MS, 0i64, 0.0);
    for round in 0..ROUNDS {
        if round == BEFORE {
            change_ms = begins_ms;
        }
        let count = window(round);
        let trip_ms = round_trip_ms(round);
        for segment in 0..count {
            let at_ms = begins_ms + STEP_MS * segment as f64;
            lines.push((at_ms + 0.001, CLIENT, data(sent, FULL)));
            sent += i64::from(FULL);
            lines.push((at_ms + trip_ms, SERVER, ack(sent).window(60_000)));
        }
        begins_ms += trip_ms;
    }
    lines.sort_by(|one, other| one.0.total_cmp(&other.0));
    let talk =
        Talk::seen_at_client(SHORT_MS).each(lines, |talk, (time_ms, side, segment)| talk.line(side, time_ms, segment));
    (talk.summary(), change_ms)
}

/// Share of the time from one moment to another (ms) in which a factor limited.
fn share(summary: &ConnectionSummary, factor: Factor, from_ms: f64, to_ms: f64) -> f64 {
    let [from_ns, to_ns] = [from_ms, to_ms].map(|at_ms| START_NS + ms(at_ms));
    let runs = &summary.limits(CLIENT).expect("long enough").runs;
    let within = runs.iter().filter(|run| run.factor == factor);
    let within_ns: i64 = within.map(|run| (run.end_ns.min(to_ns) - run.start_ns.max(from_ns)).max(0)).sum();
    within_ns as f64 / (to_ns - from_ns) as f64
}

#[test]
fn a_path_that_becomes_longer_is_no_queue_once_ten_seconds_have_shown_it() {
    let (summary, change_ms) = rounds(|round| if round < BEFORE { SHORT_MS } else { LONG_MS }, growing);
    let (told_ms, end_ms) = (change_ms + 12_000.0, change_ms + 29_000.0);
    let growing_share = share(&summary, Factor::CongestionWindow, told_ms, end_ms);
    assert!(growing_share > 0.95, "{growing_share}: {:?}", summary.limits(CLIENT).map(|limits| &limits.runs));
    assert_eq!(share(&summary, Factor::BottleneckBandwidth, told_ms, end_ms), 0.0);
    // It may as well be a queue of others' that stands.
    let verdict = summary.verdict().expect("long enough");
    assert!(verdict.confidence <= 0.75, "{verdict:?}");
}

#[test]
fn a_queue_that_grows_with_the_flight_stays_one() {
    // From 24 ms at the change to 124 ms in the end.
    let trip_ms = |round: usize| f64::max(SHORT_MS, SEGMENT_MS * growing(round) as f64);
    let (summary, change_ms) = rounds(trip_ms, growing);
    let end_ms = FIRST_MS + (0..ROUNDS).map(trip_ms).sum::<f64>();
    assert!(share(&summary, Factor::BottleneckBandwidth, change_ms + 1000.0, end_ms - 1000.0) > 0.95);
}

#[test]
fn a_flight_that_stays_the_same_on_a_longer_path_is_no_token_bucket() {
    // In bursts, and spread over the shorter round trip.
    for segments in [20, 190] {
        let (summary, _) = rounds(|round| if round < BEFORE { SHORT_MS } else { LONG_MS }, |_| segments);
        assert_eq!(summary.directions[CLIENT].extras.token_bucket, None, "{segments} segments");
    }
}
