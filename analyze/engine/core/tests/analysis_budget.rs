//! Where all connections together may take so much memory: SYNs without a reply become sums, and what is beyond that is not read.
//!
//! Subjects: `tcp/flow/weighing.rs`, `tcp/flow/unanswered.rs`, `tcp/flow/memory_budget.rs`,
//! `output/describe/unanswered.rs`.

use std::io::Cursor;

use crate::playbook::captures::{Frame, plain_pcap};
use crate::playbook::*;
use vmtrace_core::analysis::{Analysis, NoObserver, Options, analyze, analyze_in_parts};
use vmtrace_core::read::Input;

/// SYNs from elsewhere each, so many milliseconds apart, and some connections among them that are answered.
fn flood(syns: u32, apart_ms: f64) -> Vec<Frame> {
    let syn_of = |number: u32| {
        let from = Talk::new().between(1 + (number % 5) as u8, 10_000 + number as u16, 200, 443);
        from.client(f64::from(number) * apart_ms, syn())
    };
    let answered = |number: u32| {
        let at = |time_ms: f64| f64::from(number) * 700.0 + time_ms;
        Talk::new()
            .between(100, 40_000 + number as u16, 200, 80)
            .client(at(0.0), syn())
            .server(at(20.0), syn_ack())
            .client(at(20.1), ack(0))
            .client(at(21.0), data(0, 100))
            .server(at(41.0), rst())
    };
    merged(&(0..syns).map(syn_of).chain((0..10).map(answered)).collect::<Vec<_>>())
}

fn analysed(file: &[u8], options: &Options, is_read_again: bool) -> Analysis {
    let open = || vec![Box::new(Cursor::new(file.to_vec())) as Input];
    if !is_read_again {
        return analyze(open(), options, &NoObserver).unwrap();
    }
    analyze_in_parts(open(), &|| Ok(open()), options, &NoObserver).unwrap()
}

fn answered(analysis: &Analysis) -> usize {
    analysis.connections.iter().filter(|one| one.directions[1].packets > 0).count()
}

#[test]
fn unanswered_syns_beyond_the_budget_are_sums() {
    for apart_ms in [0.5, 20.0] {
        let file = plain_pcap(&flood(3000, apart_ms));
        for (threads, is_read_again) in [(1, true), (1, false), (3, true), (3, false)] {
            let options = Options { threads, budget_bytes: Some(1_000_000), ..Options::default() };
            let found = analysed(&file, &options, is_read_again);
            let all = found.unanswered.all;
            assert_eq!((found.is_exhausted, answered(&found)), (false, 10), "{apart_ms} {threads} {is_read_again}");
            assert_eq!((all.attempts, all.syns, found.connections.len()), (3000, 3000, 10));
            let (sources, rest) = found.unanswered.sources.largest(2);
            assert_eq!((sources[0].1.attempts, sources[1].1.attempts, rest.attempts), (600, 600, 1800));
            let (servers, _) = found.unanswered.servers.largest(2);
            assert_eq!((servers.len(), servers[0].0.2, servers[0].1), (1, 443, all));
            assert!(json_of(&found).contains("\"unanswered_syns\":{\"attempts\":3000,\"syns\":3000,"));
        }
    }
}

#[test]
fn within_the_budget_each_syn_is_a_connection() {
    let file = plain_pcap(&flood(3000, 2.0));
    let whole = json_of(&analysed(&file, &Options::default(), true));
    for threads in [1, 3] {
        let options = Options { threads, budget_bytes: Some(1 << 30), ..Options::default() };
        let found = analysed(&file, &options, true);
        assert_eq!((found.unanswered.is_empty(), found.connections.len()), (true, 3010));
        assert_eq!(json_of(&found), whole);
    }
}

#[test]
fn what_no_sums_help_is_read_as_far_as_memory_goes() {
    let over = |number: u32| {
        let at = |time_ms: f64| 5.0 * f64::from(number) + time_ms;
        let talk = Talk::new().between(1 + (number % 5) as u8, 10_000 + number as u16, 200, 443);
        let opened = talk.client(at(0.0), syn()).server(at(1.0), syn_ack()).client(at(2.0), ack(0));
        opened.client(at(3.0), data(0, 10)).server(at(4.0), rst())
    };
    // Chunks of half a megabyte: what is over is weighed between them.
    let file = plain_pcap(&merged(&(0..20_000).map(over).collect::<Vec<_>>()));
    for (threads, is_read_again) in [(1, true), (1, false), (3, true)] {
        let options = Options { threads, budget_bytes: Some(4_000_000), ..Options::default() };
        let found = analysed(&file, &options, is_read_again);
        assert!(found.is_exhausted && found.interrupted, "{threads} {is_read_again}");
        assert!((500..19_000).contains(&found.connections.len()), "{}", found.connections.len());
        assert!(json_of(&found).contains("\"memory_exhausted\":true"));
    }
}
