//! What must hold of every connection, whatever was captured: its account is its time, and says what its verdict says.
//!
//! The fuzz targets ask the same.

use std::collections::HashMap;

use vmtrace_core::analysis::Analysis;
use vmtrace_core::tcp::account::account as account_of;
use vmtrace_core::tcp::account::entry::Entry;
use vmtrace_core::tcp::events::factor::Factor;
use vmtrace_core::tcp::summary::summary::ConnectionSummary;
use vmtrace_core::tcp::verdict::case::Verdict;

/// A verdict that is no more than a guess may name another factor than the one that saves most.
const SETTLED: f64 = 0.6;

/// A verdict as sure as this must agree with a shared limit that is as sure.
const SURE: f64 = 0.8;

/// Rounding.
const SLACK: f64 = 1.02;

/// Fails with the number of the connection.
pub fn check(analysis: &Analysis) {
    let mut sure = HashMap::new();
    for connection in &analysis.connections {
        let account = account_adds_up(connection);
        if let Some(verdict) = connection.verdict().filter(|verdict| verdict.confidence >= SETTLED) {
            verdict_saves_most(connection.id, &verdict, &account);
            sure.extend((verdict.confidence > SURE).then_some((connection.id, verdict.factor)));
        }
    }
    for limit in analysis.shared_limits.iter().filter(|limit| limit.confidence >= SURE) {
        for id in &limit.connections {
            let is_shadow = |factor: &Factor| {
                matches!(factor, Factor::LossRecovery | Factor::TimeoutWait | Factor::CongestionWindow)
            };
            assert_eq!(
                sure.get(id).filter(|factor| is_shadow(factor)),
                None,
                "{id} blames the shadow of a shared limit"
            );
        }
    }
}

fn account_adds_up(connection: &ConnectionSummary) -> Vec<Entry> {
    let account = account_of(connection);
    let all_ns = u64::try_from(connection.end_ns - connection.start_ns).unwrap_or(0);
    let sum_ns: u64 = account.iter().map(|entry| entry.time_ns).sum();
    assert_eq!(sum_ns, all_ns, "account of {}: {account:?}", connection.id);
    let is_possible = |entry: &Entry| entry.saves_ns.is_none_or(|saves_ns| saves_ns <= entry.time_ns);
    assert!(account.iter().all(is_possible), "savings of {}: {account:?}", connection.id);
    account
}

fn verdict_saves_most(id: u32, verdict: &Verdict, account: &[Entry]) {
    let most = account.iter().max_by_key(|entry| entry.saves_ns.unwrap_or(0));
    if let (Some(most), Some(saves_ns)) = (most.filter(|most| most.kind != verdict.factor), verdict.saves_ns) {
        let most_ns = most.saves_ns.unwrap_or(0);
        assert!(most_ns as f64 <= SLACK * saves_ns as f64, "{id}: {:?} {saves_ns}, {most:?}", verdict.factor);
    }
    for predicted in verdict.what_if.iter().filter_map(|what_if| what_if.predicted.as_ref().ok()) {
        let [low, middle, high] =
            [predicted.low_bps, predicted.goodput_bps, predicted.high_bps.unwrap_or(f64::INFINITY)];
        assert!(predicted.now_bps <= middle * SLACK && low <= middle && middle <= high, "{id}: {predicted:?}");
    }
}
