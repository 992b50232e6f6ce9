//! Silences of a host that owes acknowledgements: a scheduler's rhythm is found, that of an application is none.
//!
//! Subjects: `tcp/connection/standstills.rs`.

mod playbook;

use playbook::*;

const ROUND_TRIP_MS: f64 = 20.0;

/// A download seen at the client: a segment each millisecond for three seconds, the second of two acknowledged at `heard_ms` of its time.
fn download(heard_ms: impl Fn(f64) -> f64) -> Talk {
    let opened = Talk::new()
        .client(0.0, syn())
        .server(ROUND_TRIP_MS, syn_ack())
        .client(ROUND_TRIP_MS + 0.1, ack(0))
        .client(ROUND_TRIP_MS + 1.0, data(0, 300))
        .server(2.0 * ROUND_TRIP_MS + 1.0, ack(300));
    let mut events: Vec<(f64, bool, i64)> = (0..3000)
        .flat_map(|number| {
            let at_ms = 50.0 + number as f64;
            let answer = (number % 2 == 1).then(|| (heard_ms(at_ms) + 0.05, false, number + 1));
            [Some((at_ms, true, number)), answer].into_iter().flatten()
        })
        .collect();
    events.sort_by(|one, other| one.0.total_cmp(&other.0));
    events.into_iter().fold(opened, |talk, (at_ms, is_data, number)| {
        let offset = number * i64::from(FULL);
        if is_data {
            talk.server(at_ms, data(offset, FULL).acking(300))
        } else {
            talk.client(at_ms, Segment { start: Some(300), ..ack(offset) })
        }
    })
}

fn stall_period_ns(talk: &Talk) -> Option<u64> {
    talk.summary().limits(1).and_then(|limits| limits.stall_period_ns)
}

#[test]
fn a_client_that_runs_a_fifth_of_each_period_stands_still_at_it() {
    // Awake for 20 of 100 ms; what comes later is heard when the next period begins.
    let quota = |at_ms: f64| if at_ms % 100.0 < 20.0 { at_ms } else { (at_ms / 100.0).floor() * 100.0 + 100.0 };
    assert_eq!(stall_period_ns(&download(quota)), Some(100_000_000));
}

#[test]
fn a_client_that_acknowledges_at_once_never_stands_still() {
    assert_eq!(stall_period_ns(&download(|at_ms| at_ms)), None);
}
