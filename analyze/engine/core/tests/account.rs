//! Where a connection's time went, by owner and kind: it adds up, and waits are whose they are.
//!
//! Subjects: `output/describe/account.rs`, `tcp/account/mod.rs`, `tcp/account/short.rs`, `tcp/account/limited.rs`, `tcp/events/owner.rs`,
//! `tcp/verdict/factors/waits.rs`, `tcp/verdict/savings.rs`, `tcp/verdict/factors/server_wait.rs`, `tcp/verdict/factors/client_wait.rs`,
//! `tcp/verdict/factors/expect_continue.rs`, `tcp/verdict/factors/http2_window.rs` (real captures: tests/traces/test_field2.py).

use crate::playbook::*;
use vmtrace_core::tcp::account::account;
use vmtrace_core::tcp::account::entry::Entry;
use vmtrace_core::tcp::events::factor::Factor;
use vmtrace_core::tcp::events::owner::Owner;
use vmtrace_core::tcp::summary::summary::ConnectionSummary;

const RTT_MS: f64 = 20.0;

/// Six exchanges, at the client: the server waits before each response of so many segments, the client before each request.
fn turns(server_ms: f64, client_ms: f64, segments: i64) -> Talk {
    let (mut talk, mut at_ms, mut answered) = (Talk::seen_at_client(RTT_MS), RTT_MS + 1.0, 0);
    for asked in 1..=6 {
        talk = talk.client(at_ms, data(100 * (asked - 1), 100)).server(at_ms + RTT_MS, ack(100 * asked));
        at_ms += RTT_MS + server_ms;
        for _ in 0..segments {
            at_ms += 0.1;
            talk = talk.server(at_ms, data(answered, 1000).acking(100 * asked));
            answered += 1000;
            talk = talk.client(at_ms + 0.02, ack(answered));
        }
        at_ms += client_ms;
    }
    talk
}

fn milliseconds(summary: &ConnectionSummary, owner: Owner, kind: Factor) -> f64 {
    let of = |entry: &&Entry| entry.owner == owner && entry.kind == kind;
    account(summary).iter().filter(of).map(|entry| entry.time_ns as f64 / 1e6).sum()
}

fn assert_adds_up(summary: &ConnectionSummary) {
    let sum_ns: u64 = account(summary).iter().map(|entry| entry.time_ns).sum();
    assert_eq!(sum_ns as i64, summary.end_ns - summary.start_ns);
}

#[test]
fn waits_are_the_applications_that_let_time_pass_in_short_and_in_long_connections() {
    for segments in [1, 8] {
        let server = turns(300.0, 0.0, segments).summary();
        assert_adds_up(&server);
        let wait_ms = milliseconds(&server, Owner::ServerApplication, Factor::ServerWait);
        assert!((wait_ms - 1800.0).abs() < 10.0, "{segments}: {:?}", account(&server));
        let client = turns(0.0, 300.0, segments).summary();
        assert_adds_up(&client);
        let wait_ms = milliseconds(&client, Owner::ClientApplication, Factor::ClientWait);
        assert!((wait_ms - 1500.0).abs() < 10.0, "{segments}: {:?}", account(&client));
    }
}

#[test]
fn the_verdict_names_the_application_that_waited() {
    let sentence = |talk: Talk| {
        let verdict = talk.summary().verdict().expect("enough");
        (verdict.factor, verdict.sentence)
    };
    let (factor, words) = sentence(turns(300.0, 0.0, 8));
    assert_eq!(factor, Factor::ServerWait, "{words}");
    assert!(words.starts_with("The server's application took 1.8 s before 6 responses"), "{words}");
    let (factor, words) = sentence(turns(0.0, 300.0, 8));
    assert_eq!(factor, Factor::ClientWait, "{words}");
    assert!(words.contains("between the end of a response and 5 of its requests"), "{words}");
}

#[test]
fn a_syn_without_a_reply_is_nobodys_for_certain() {
    let summary = Talk::new().client(0.0, syn()).client(1000.0, syn()).client(3000.0, syn()).summary();
    assert_adds_up(&summary);
    assert_eq!(milliseconds(&summary, Owner::Unknown, Factor::Setup), 3000.0);
}
