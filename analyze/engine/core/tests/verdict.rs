//! What the verdict says of transfers of a modelled sender: how sure it is, with which frames, and what would have helped.
//!
//! Subjects: `tcp/verdict/mod.rs`, `tcp/verdict/case.rs`, `tcp/verdict/decide.rs`, `tcp/verdict/evidence.rs`,
//! `tcp/verdict/what_if.rs`, `tcp/verdict/allowance.rs`, `tcp/limits/tally.rs`, `tcp/verdict/sentence.rs`,
//! `tcp/verdict/factors/rule.rs`, `tcp/verdict/factors/host_stall.rs`, `tcp/verdict/factors/loss_recovery.rs`,
//! `tcp/verdict/factors/timeout_wait.rs`.

use crate::playbook::modelled::*;
use crate::playbook::*;
use vmtrace_core::analysis::Options;
use vmtrace_core::tcp::events::factor::Factor;
use vmtrace_core::tcp::limits::runs::FactorRun;
use vmtrace_core::tcp::limits::share::{Share, Shares};
use vmtrace_core::tcp::summary::summary::ConnectionSummary;
use vmtrace_core::tcp::token_bucket::bucket::{LimiterKind, TokenBucket};

#[test]
fn of_a_host_that_stalled_half_of_the_doubt_of_its_surest_pause_is_left() {
    let stalls_ms: &[(f64, f64)] = &[(400.0, 400.0), (800.0, 500.0), (1200.0, 400.0)];
    let summary = Transfer { stalls_ms, ..window_limited() }.summary();
    let verdict = summary.verdict().expect("long enough");
    assert_eq!(verdict.factor, Factor::HostStall);
    let gaps = summary.directions[CLIENT].spacing.gaps();
    let surest = gaps.iter().filter(|gap| gap.cause.is_host_stall()).map(|gap| gap.confidence).reduce(f64::max);
    let most = surest.map(|surest| (1.0 + surest) / 2.0);
    assert!(most.is_some_and(|most| verdict.confidence <= most), "{surest:?} {}", verdict.confidence);
}

#[test]
fn a_verdict_names_frames_a_filter_and_what_would_help() {
    let verdict = window_limited().summary().verdict().expect("long enough");
    let evidence = &verdict.evidence[0];
    assert!((3..=10).contains(&evidence.frames.len()), "{:?}", evidence.frames);
    let list: Vec<String> = evidence.frames.iter().map(|place| place.frame.to_string()).collect();
    assert_eq!(evidence.display_filter(), format!("frame.number in {{{}}}", list.join(", ")));
    assert_eq!(verdict.what_if[0].change, "twice the receiver's window");
    let now_bps = window_limited().summary().directions[CLIENT].goodput_bps().expect("it took time");
    let predicted = verdict.what_if[0].predicted.as_ref().expect("a rate");
    let ratio = predicted.goodput_bps / now_bps;
    assert!((1.7..2.1).contains(&ratio), "{ratio}");
    assert!(verdict.confidence > 0.8 && verdict.undetermined_between.is_empty());
}

#[test]
fn an_unknown_window_scale_leaves_the_verdict_open() {
    let without_handshake = send_buffer_limited().talk().starting_at(3);
    let verdict = without_handshake.summary().verdict().expect("long enough");
    assert!(verdict.confidence < 0.6, "{}", verdict.confidence);
    assert!(!verdict.undetermined_between.is_empty());
    assert!(verdict.sentence.starts_with("Undecided"), "{}", verdict.sentence);
}

#[test]
fn ten_packets_are_too_few_for_a_verdict() {
    let short = Transfer { segments: 9, ..Transfer::default() };
    assert!(short.summary().verdict().is_none());
}

#[test]
fn the_verdict_on_timeouts_says_how_often_timers_sent_again() {
    let waited = |repeats: &[f64]| {
        let round = |talk: Talk, round: i32| {
            let at = |n: i32| 50.0 + 42.0 * f64::from(round) + 0.2 * f64::from(n);
            let start = |n: i32| i64::from(10 * round + n) * 1000;
            let sent = (0..10).fold(talk, |talk, n| talk.client(at(n), data(start(n), 1000)));
            (0..10).fold(sent, |talk, n| talk.server(at(n) + 40.0, ack(start(n + 1))))
        };
        let lost = 40 * 1000;
        let talk = (0..4).fold(Talk::seen_at_client(40.0), round).client(260.0, data(lost, 1000));
        let talk = repeats.iter().fold(talk, |talk, &at| talk.client(at, data(lost, 1000)));
        talk.server(repeats[repeats.len() - 1] + 40.0, ack(lost + 1000)).summary().verdict().expect("a verdict")
    };
    for (repeats, said) in [
        (&[500.0][..], "(1 segment retransmitted by a timer)"),
        (&[480.0, 700.0], "(2 segments retransmitted by timers)"),
    ] {
        let verdict = waited(repeats);
        assert_eq!(verdict.factor, Factor::TimeoutWait);
        assert!(verdict.sentence.contains(said), "{}", verdict.sentence);
    }
}

/// A transfer whose summary is given a policer that ran empty after a second, and what limited it since: the bucket at a third of the
/// rate that was possible, and waits for timeouts.
fn policed(kind: LimiterKind) -> ConnectionSummary {
    let mut summary = growing_slowly().summary();
    let second = |number: i64| START_NS + number * 1_000_000_000;
    let run = |from: i64, to: i64, factor: Factor, bytes: u64| FactorRun {
        start_ns: second(from),
        end_ns: second(to),
        factor,
        bytes,
        frames: [1, 2],
    };
    let runs = vec![
        run(0, 1, Factor::SlowStart, 3_000_000),
        run(1, 4, Factor::TokenBucket, 3_000_000),
        run(4, 7, Factor::TimeoutWait, 0),
    ];
    let bucket = TokenBucket {
        kind,
        burst_bytes: 2e6,
        rate_before_bps: 24e6,
        sustained_bps: 8e6,
        switch_ns: second(1),
        refill_bps: None,
        confidence: 0.9,
    };
    summary.directions[CLIENT].extras.token_bucket = Some(Box::new(bucket));
    let limits = summary.judgement.as_deref_mut().and_then(|judgement| judgement.limits[CLIENT].as_deref_mut());
    let limits = limits.expect("long enough to judge");
    limits.reference_bytes_s = Some(3e6);
    limits.shares = Shares::default();
    for run in &runs {
        limits.shares[run.factor] = Share { time_ns: run.duration_ns(), bytes: run.bytes };
    }
    limits.runs = runs;
    summary.decide();
    summary
}

#[test]
fn timeouts_for_what_a_policer_dropped_are_its_doing() {
    let verdict = |kind| policed(kind).verdict().expect("a verdict");
    let policer = verdict(LimiterKind::Policer);
    assert_eq!((policer.factor, policer.undetermined_between.len()), (Factor::TokenBucket, 0));
    assert!(policer.what_if.iter().all(|what_if| what_if.change != "no loss"), "{:?}", policer.what_if);
    // A shaper keeps what exceeds its rate: what was waited for was lost elsewhere.
    assert_eq!(verdict(LimiterKind::Shaper).factor, Factor::TimeoutWait);
}

#[test]
fn nothing_beyond_a_known_allowance_was_possible() {
    let [slow_start, window] = [over_in_slow_start(), window_limited()].map(|transfer| transfer.talk());
    for talk in [slow_start, window] {
        let free = talk.summary();
        let reference_bytes_s =
            |summary: &ConnectionSummary| summary.limits(CLIENT).and_then(|limits| limits.reference_bytes_s);
        let lost_bytes = |summary: &ConnectionSummary| -> u64 {
            summary.limits(CLIENT).expect("long enough").list().iter().filter_map(|limit| limit.lost_bytes).sum()
        };
        let goodput_bps = free.directions[CLIENT].goodput_bps().expect("it took time");
        let with = |allowed_bps: f64| {
            let options = Options { allowed_bps: Some(allowed_bps), ..Options::default() };
            let mut analysis = talk.analysis_with(&options);
            *analysis.connections.remove(0)
        };
        // 1000 bytes of payload are 1040 of IP.
        let allowed = with(1.3 * goodput_bps * 1.04);
        let most_bytes_s = 1.3 * goodput_bps / 8.0;
        let expected = reference_bytes_s(&free).map(|free| free.min(most_bytes_s)).expect("a reference");
        let capped = reference_bytes_s(&allowed).expect("a reference");
        assert!((capped / expected - 1.0).abs() < 0.05, "{capped} and {expected} bytes/s");
        assert!(lost_bytes(&allowed) <= lost_bytes(&free));
        let promised = |summary: &ConnectionSummary| {
            let what_if = summary.verdict().expect("long enough").what_if;
            let rates = what_if.iter().filter_map(|what_if| what_if.predicted.as_ref().ok());
            rates.map(|predicted| predicted.goodput_bps).fold(0.0, f64::max)
        };
        assert!(promised(&free) > 1.5 * goodput_bps, "{} of {goodput_bps} bit/s", promised(&free));
        assert!(promised(&allowed) < 1.05 * 8.0 * most_bytes_s, "{} of {goodput_bps} bit/s", promised(&allowed));
        // What the transfer reached was possible, whatever is said.
        let too_little = reference_bytes_s(&with(0.1 * goodput_bps)).expect("a reference");
        assert!(too_little > 0.8 * goodput_bps / 8.0, "{too_little} of {goodput_bps} bit/s");
    }
}
