//! Packets after the end of a connection: what becomes of them hangs neither on other connections nor on the threads.
//!
//! Subjects: `tcp/flow/table.rs`,
//! `tcp/summary/stragglers.rs`, `tcp/flow/slot.rs`.

use crate::playbook::captures::{Frame, plain_pcap};
use crate::playbook::*;
use vmtrace_core::analysis::{Analysis, Options};

fn closed(number: u32) -> Talk {
    let (host, port) = ((number % 100) as u8, 10_000 + (number / 100) as u16);
    Talk::new()
        .between(host, port, 200, 443)
        .open(1.0, 0.1)
        .client(5.0, data(0, 1000))
        .server(6.0, ack(1000))
        .client(7.0, fin(1000))
        .server(8.0, fin(0).acking(1001))
        .client(8.1, ack(1))
}

fn reset(number: u32) -> Talk {
    let (host, port) = ((number % 100) as u8, 10_000 + (number / 100) as u16);
    Talk::new().between(host, port, 201, 443).open(1.0, 0.1).client(5.0, data(0, 1000)).server(6.0, rst())
}

/// All of them at once, each followed later by what `more` adds.
fn many(one: fn(u32) -> Talk, more: impl Fn(Talk) -> Talk) -> Vec<Frame> {
    merged(&(0..300).map(|number| more(one(number))).collect::<Vec<_>>())
}

fn run(frames: &[Frame], threads: usize) -> Analysis {
    analysis_in_small_chunks(&[plain_pcap(frames)], &Options { threads, ..Options::default() })
}

fn assert_same(frames: &[Frame]) {
    let of = |threads: usize| {
        let analysis = run(frames, threads);
        check_consistency(&analysis);
        format!("{}{:?}", json_of(&analysis), analysis.syn_columns())
    };
    let serial = of(1);
    for threads in [2, 4, 8] {
        assert!(serial == of(threads), "{threads} threads");
    }
}

fn refused(number: u32) -> Talk {
    let (host, port) = ((number % 100) as u8, 10_000 + (number / 100) as u16);
    Talk::new().between(host, port, 202, 443).client(1.0, syn()).server(2.0, rst())
}

#[test]
fn many_refused_connections_are_tried_again() {
    let frames = many(refused, |talk| talk.client(502.0, syn()).server(503.0, syn_ack()).client(503.1, ack(0)));
    assert_same(&frames);
    let analysis = run(&frames, 1);
    assert_eq!(analysis.connections.len(), 300);
    assert!(analysis.connections.iter().all(|connection| connection.directions[CLIENT].loss.syn == 1));
    let [opened, repeated, established]: [u32; 3] = [
        analysis.openings.iter().map(|(_, counts)| counts.syn).sum(),
        analysis.openings.iter().map(|(_, counts)| counts.syn_retransmissions).sum(),
        analysis.openings.iter().map(|(_, counts)| counts.established).sum(),
    ];
    assert_eq!((opened, repeated, established), (600, 300, 300));
}

#[test]
fn resets_after_the_close_of_many_connections() {
    let frames = many(closed, |talk| talk.client(1_000.0, rst()));
    assert_same(&frames);
    let analysis = run(&frames, 1);
    let resets: u32 = analysis.openings.iter().map(|(_, counts)| counts.reset).sum();
    assert_eq!((resets, analysis.connections.len()), (300, 300));
}

#[test]
fn repeated_fins_after_the_close_of_many_connections() {
    let frames = many(closed, |talk| talk.server(500.0, fin(0)).client(501.0, ack(1)));
    assert_same(&frames);
    assert!(run(&frames, 1).connections.iter().all(|connection| connection.directions[SERVER].loss.fin == 1));
}

#[test]
fn the_last_acknowledgement_captured_twice_in_many_connections() {
    let frames = many(closed, |talk| talk.again(8.2));
    assert_same(&frames);
    let analysis = run(&frames, 1);
    assert_eq!(analysis.inputs[0].duplicates, 300);
    assert!(analysis.connections.iter().all(|connection| connection.directions[CLIENT].packets == 5));
}

#[test]
fn data_under_way_when_many_connections_were_reset() {
    for seconds in [0.1, 6.0, 60.0] {
        let frames = many(reset, |talk| talk.client(seconds * 1000.0, data(1000, 1000)).client(70_000.0, fin(2000)));
        assert_same(&frames);
        for connection in run(&frames, 1).connections {
            let client = &connection.directions[CLIENT];
            assert_eq!((client.unique_payload_bytes, client.loss.retransmitted), (2000, 0), "after {seconds} s");
        }
    }
}

#[test]
fn times_that_run_backwards() {
    let frames = many(reset, |talk| talk.client(9_000.0, data(1000, 1000)).client(5_500.0, data(2000, 1000)));
    assert_same(&frames);
}

/// An upload of a hundred segments, closed.
fn uploaded() -> Talk {
    let talk = Talk::new().open(20.0, 0.1);
    let talk = talk.each(0..100, |talk, number| {
        let at_ms = 50.0 + 30.0 * f64::from(number);
        talk.client(at_ms, data(i64::from(number) * 1000, 1000))
            .server(at_ms + 20.0, ack(i64::from(number) * 1000 + 1000))
    });
    talk.client(3100.0, fin(100_000)).server(3120.0, fin(0).acking(100_001)).client(3120.1, ack(1))
}

#[test]
fn limits_last_as_long_as_a_connection_with_stragglers() {
    let late = [
        uploaded(),
        uploaded().client(9_000.0, data(99_000, 1000)),
        uploaded().server(5_000.0, fin(0)).client(5_000.1, ack(1)),
        uploaded().client(4_000.0, rst()),
    ];
    for talk in late {
        let summary = talk.summary();
        let limits = summary.limits(CLIENT).expect("it is judged");
        let last_ns = limits.runs.last().map(|run| run.end_ns);
        assert_eq!((limits.time_ns() as i64, last_ns), (summary.end_ns - summary.start_ns, Some(summary.end_ns)));
        let runs_ns: u64 = limits.runs.iter().map(|run| run.duration_ns()).sum();
        assert_eq!(runs_ns, limits.time_ns());
    }
}
