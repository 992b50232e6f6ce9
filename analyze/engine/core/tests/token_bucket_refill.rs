//! A token bucket that an idle time fills again (docs/methods.md, section 8): what limited the transfer when
//! (docs/verdict.md), on conversations written down.
//!
//! Subjects: `tcp/token_bucket/level.rs`, `tcp/limits/bucket.rs`, `tcp/limits/moves.rs`, `tcp/direction/sampling.rs`,
//! `tcp/rates/rates.rs`.

use crate::playbook::*;
use vmtrace_core::tcp::events::factor::Factor;
use vmtrace_core::tcp::rates::series::{Bin, Series};
use vmtrace_core::tcp::summary::summary::ConnectionSummary;
use vmtrace_core::tcp::token_bucket::bucket::{BucketTerms, CountedBytes, LimiterKind, TokenBucket};
use vmtrace_core::tcp::token_bucket::empty_times;

/// Packets a millisecond that pass as long as there are tokens, and from then on.
const LINE: f64 = 2.0;
const SUSTAINED: f64 = 0.5;
/// Packets that the bucket holds.
const DEPTH: f64 = 1500.0;
/// Packets that the sender keeps in flight.
const FLIGHT: usize = 80;
/// Round trip without a queue, ms.
const ROUND_TRIP_MS: f64 = 39.0;

/// The application gives so many packets at these times (ms); a shaper with a bucket lets them pass, as seen at the sender.
fn shaped(writes: &[(f64, usize)]) -> ConnectionSummary {
    let mut lines: Vec<(f64, bool, i64)> = Vec::new();
    let mut acknowledged_ms: Vec<f64> = Vec::new();
    let (mut tokens, mut passed_ms) = (DEPTH, 0.0f64);
    for &(given_ms, packets) in writes {
        for _ in 0..packets {
            let number = acknowledged_ms.len();
            let room_ms = number.checked_sub(FLIGHT).map_or(0.0, |before| acknowledged_ms[before] + 0.001);
            let sent_ms = f64::max(given_ms, room_ms);
            let reached_ms = f64::max(sent_ms, passed_ms + 1.0 / LINE);
            tokens = f64::min(tokens + (reached_ms - passed_ms) * SUSTAINED, DEPTH);
            let waits_ms = f64::max(1.0 - tokens, 0.0) / SUSTAINED;
            tokens = f64::max(tokens - 1.0, 0.0);
            passed_ms = reached_ms + waits_ms;
            lines.push((sent_ms, true, number as i64));
            lines.push((passed_ms + ROUND_TRIP_MS, false, number as i64));
            acknowledged_ms.push(passed_ms + ROUND_TRIP_MS);
        }
    }
    lines.sort_by(|one, other| one.0.total_cmp(&other.0));
    let talk = Talk::seen_at_client(ROUND_TRIP_MS).each(lines, |talk, (time_ms, sent, at)| {
        if sent { talk.client(time_ms, data(at * 1000, 1000)) } else { talk.server(time_ms, ack((at + 1) * 1000)) }
    });
    talk.summary()
}

/// Share of the time from one moment to another (ms) in which the bucket limited.
fn share_of_bucket(summary: &ConnectionSummary, from_ms: f64, to_ms: f64) -> f64 {
    let [from_ns, to_ns] = [from_ms, to_ms].map(|at_ms| START_NS + ms(at_ms));
    let runs = &summary.limits(CLIENT).unwrap().runs;
    let bucket = runs.iter().filter(|run| run.factor == Factor::TokenBucket);
    let within = bucket.map(|run| (run.end_ns.min(to_ns) - run.start_ns.max(from_ns)).max(0));
    within.sum::<i64>() as f64 / (to_ns - from_ns) as f64
}

#[test]
fn a_bucket_that_an_idle_time_filled_limits_nothing_until_it_is_empty_again() {
    // 1500 tokens last for a second at 2 packets a millisecond; 4 s later the transfer rests for two seconds, which fill
    // 1000 tokens: another 667 ms.
    let summary = shaped(&[(50.0, 3500), (6050.0, 3000)]);
    let bucket = summary.directions[CLIENT].extras.token_bucket.as_deref().unwrap();
    assert_eq!(bucket.kind, LimiterKind::Shaper);
    let last_ms = |from: f64, tokens: f64| from + tokens / (LINE - SUSTAINED) + ROUND_TRIP_MS;
    let first_ms = last_ms(50.0, DEPTH);
    let idle_from_ms = 50.0 + (3500.0 - DEPTH) / SUSTAINED;
    assert!(share_of_bucket(&summary, 50.0, first_ms - 50.0) == 0.0, "before it was empty");
    assert!(share_of_bucket(&summary, first_ms + 50.0, idle_from_ms) > 0.95, "while it was");
    let filled = (6050.0 - idle_from_ms) * SUSTAINED;
    let second_ms = last_ms(6050.0, f64::min(filled, DEPTH));
    assert!(
        share_of_bucket(&summary, 6050.0, second_ms - 50.0) < 0.05,
        "filled again: {:?}",
        summary.limits(CLIENT).unwrap().runs
    );
    assert!(share_of_bucket(&summary, second_ms + 50.0, second_ms + 1000.0) > 0.95, "empty again");
}

#[test]
fn a_burst_that_the_idle_time_had_filled_tokens_for_is_not_the_buckets() {
    // 900 packets need no more than the 1000 tokens of each two seconds and what comes meanwhile.
    let writes: Vec<(f64, usize)> =
        [(50.0, 3500)].into_iter().chain((0..4).map(|burst| (6050.0 + 2500.0 * f64::from(burst), 900))).collect();
    let summary = shaped(&writes);
    assert!(summary.directions[CLIENT].extras.token_bucket.is_some());
    let runs = &summary.limits(CLIENT).unwrap().runs;
    assert!(share_of_bucket(&summary, 6050.0, 16_000.0) == 0.0, "{runs:?}");
    assert!(share_of_bucket(&summary, 1200.0, 4000.0) > 0.95, "{runs:?}");
}

/// Bins of 10 ms, as many as said, of so many bytes each: some lost in the first of them, and what the application left unused.
fn empty_bins(kind: LimiterKind, parts: &[(usize, u32, u32, bool)]) -> Vec<[i64; 2]> {
    let (mut bins, mut resting) = (Vec::new(), Vec::new());
    for &(number, acknowledged_bytes, lost_bytes, rests) in parts {
        let bin = Bin { acknowledged_bytes, receiver_loop_us: 20_000, ..Bin::default() };
        bins.push(Bin { lost_bytes, ..bin });
        bins.extend(std::iter::repeat_n(bin, number - 1));
        resting.extend(std::iter::repeat_n(if rests { 1.0 } else { 0.0 }, number));
    }
    let series = Series { start_ns: 0, bin_ns: 10_000_000, bins };
    // 10,000 bytes in a bin.
    let bucket = TokenBucket {
        kind,
        burst_bytes: 400_000.0,
        rate_before_bps: 40e6,
        sustained_bps: 8e6,
        switch_ns: 0,
        refill_bps: None,
        confidence: 0.9,
    };
    let terms = BucketTerms {
        delivered: CountedBytes::Acknowledged,
        overhead: 1.0,
        segment_bytes: 1500.0,
        beside_sender: true,
        min_rtt_ns: Some(20e6),
        path_full: &[],
        resting: &resting,
        spacing: &[],
        frame_bytes: 0.0,
    };
    let in_bins = |ns: i64| if ns == i64::MAX { ns } else { ns / 10_000_000 };
    empty_times(&series, &[], &terms, &bucket).into_iter().map(|times| times.map(in_bins)).collect()
}

/// Hundred bins at its rate, fifty of rest.
const RESTED: [(usize, u32, u32, bool); 2] = [(100, 10_000, 0, false), (50, 0, 0, true)];

#[test]
fn what_the_application_leaves_unused_fills_the_bucket_up_to_its_depth() {
    // A rest of fifty bins would fill 500,000 bytes, of which 400,000 are held: they last for 20 bins at thrice the rate.
    let full = [&RESTED[..], &[(30, 30_000, 0, false)]].concat();
    assert_eq!(empty_bins(LimiterKind::Shaper, &full), [[0, 101], [169, i64::MAX]]);
    // Half of the rate for as long leaves half as much.
    let direction = [RESTED[0], (50, 5_000, 0, true), (30, 30_000, 0, false)];
    assert_eq!(empty_bins(LimiterKind::Shaper, &direction), [[0, 102], [162, i64::MAX]]);
}

#[test]
fn an_empty_bucket_stays_empty_while_the_network_sets_the_rate() {
    let after_losses = [RESTED[0], (50, 5_000, 3_000, false), (30, 10_000, 0, false)];
    assert_eq!(empty_bins(LimiterKind::Policer, &after_losses), [[0, i64::MAX]]);
}

#[test]
fn a_policer_is_empty_when_it_drops_and_not_by_a_loss_while_it_holds_tokens() {
    let parts = |lost_early: u32| {
        [&RESTED[..], &[(10, 30_000, lost_early, false), (9, 30_000, 0, false), (11, 10_500, 3_000, false)]].concat()
    };
    for lost_early in [0, 1_500] {
        assert_eq!(empty_bins(LimiterKind::Policer, &parts(lost_early)), [[0, 101], [169, i64::MAX]]);
    }
}

#[test]
fn a_rate_that_keeps_to_the_sustained_one_shows_an_empty_bucket_however_much_was_filled() {
    let at_the_rate = [&RESTED[..], &[(10, 30_000, 0, false), (60, 10_200, 0, false)]].concat();
    assert_eq!(empty_bins(LimiterKind::Shaper, &at_the_rate), [[0, 101], [160, i64::MAX]]);
}
