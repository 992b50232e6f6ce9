//! The packets of connections that an analysis before has found: the same as if they had been asked for by their numbers, from their
//! flows alone.
//!
//! Subjects: `tcp/flow/selection.rs`, `analysis/results.rs`.

use crate::playbook::captures::{Frame, cases, plain_pcap};
use crate::playbook::hostile::{file, frames, lines};
use crate::playbook::*;
use proptest::prelude::*;
use vmtrace_core::analysis::{Analysis, Options};
use vmtrace_core::output::packets;
use vmtrace_core::tcp::rows::rows::Field;

fn analysis(file: &[u8], options: &Options) -> Analysis {
    analysis_in_small_chunks(&[file.to_vec()], options)
}

fn rows_by_number(file: &[u8], numbers: &[u32], threads: usize) -> String {
    let options = Options { threads, detail_connections: numbers.to_vec(), ..Options::default() };
    format!("{:?}", packets::packet_columns(&analysis(file, &options)).collect::<Vec<_>>())
}

fn rows_of_known(file: &[u8], numbers: &[u32], threads: usize) -> (String, usize) {
    let (known_connections, lags) = analysis(file, &Options::default()).known(numbers, 0..1);
    assert_eq!(known_connections.len(), numbers.len());
    let found = analysis(file, &Options { threads, known_connections, lags, ..Options::default() });
    (format!("{:?}", packets::packet_columns(&found).collect::<Vec<_>>()), found.connections.len())
}

/// Four ports of a client, used again and again: over IPv4, over IPv6.
fn uses_of_ports() -> Vec<Frame> {
    let talk = |number: u32| {
        let base = Talk::new().between(1, 10_000 + (number % 4) as u16, 200, 443);
        let base = if number % 4 == 3 { base.over_ipv6() } else { base };
        let at = |time_ms: f64| 400.0 * f64::from(number) + time_ms;
        base.client(at(0.0), syn())
            .server(at(20.0), syn_ack())
            .client(at(20.1), ack(0))
            .each(0..4, |talk, n| talk.client(at(30.0 + f64::from(n)), data(i64::from(n) * 1000, 1000)))
            .server(at(60.0), ack(4000))
            .client(at(61.0), fin(4000))
            .server(at(81.0), fin(0).acking(4001))
            .client(at(81.1), ack(1))
    };
    merged(&(0..24).map(talk).collect::<Vec<_>>())
}

#[test]
fn packets_of_known_connections_are_those_of_their_numbers() {
    let file = plain_pcap(&uses_of_ports());
    for numbers in [&[1][..], &[2, 7, 24], &[4, 8]] {
        for threads in [1, 3] {
            assert!(rows_of_known(&file, numbers, threads).0 == rows_by_number(&file, numbers, threads), "{numbers:?}");
        }
    }
}

#[test]
fn a_connection_that_is_wanted_ends_where_it_would_without() {
    // Of the first no SYN is known that the second could repeat.
    let file = plain_pcap(Talk::new().client(0.0, rst()).client(10.0, syn()).server(30.0, syn_ack()).frames());
    assert_eq!(analysis(&file, &Options::default()).connections.len(), 2);
    for number in [1, 2] {
        assert!(rows_of_known(&file, &[number], 1).0 == rows_by_number(&file, &[number], 1));
        let options = Options { detail_connections: vec![number], ..Options::default() };
        let rows = analysis(&file, &options).rows;
        let frames: Vec<i64> = rows.values(Field::Frame).into_iter().flatten().collect();
        assert_eq!(frames, if number == 1 { vec![1] } else { vec![2, 3] });
    }
}

#[test]
fn nothing_but_their_flows_is_analysed() {
    assert_eq!(rows_of_known(&plain_pcap(&uses_of_ports()), &[2], 1).1, 6);
}

#[test]
fn what_there_is_not_is_not_known() {
    let file = plain_pcap(&uses_of_ports());
    let first = analysis(&file, &Options::default());
    assert_eq!(first.known(&[0, 25, 1000], 0..1).0, []);
    assert_eq!(first.known(&[1], 1..2).0, []);
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn of_any_packets(lines in lines(150), every in 1usize..5) {
        let file = file(&frames(&lines));
        let first = analysis(&file, &Options::default());
        let numbers: Vec<u32> = first.connections.iter().map(|connection| connection.id).step_by(every).collect();
        prop_assume!(!numbers.is_empty());
        // A connection whose packets are wanted waits for what comes after its end, which may once in ten thousand such captures make it seem
        // another: then the numbers that it is asked for by are others.
        let options = Options { detail_connections: numbers.clone(), ..Options::default() };
        let orders = |found: &Analysis| found.connections.iter().map(|one| one.order).collect::<Vec<_>>();
        prop_assume!(orders(&analysis(&file, &options)) == orders(&first));
        prop_assert!(rows_of_known(&file, &numbers, 1).0 == rows_by_number(&file, &numbers, 1));
    }
}
