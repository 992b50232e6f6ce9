//! Packets of a connection from the stretches that hold them: those of reading everything, with the same numbers.
//!
//! Subjects: `analysis/flow_index.rs`, `analysis/indexed.rs`.

use std::io::Cursor;

use crate::playbook::captures::{Frame, plain_pcap};
use crate::playbook::*;
use vmtrace_core::analysis::flow_index::FlowIndex;
use vmtrace_core::analysis::indexed::{Stretches, packets_of_stretches};
use vmtrace_core::analysis::slices::split::split;
use vmtrace_core::analysis::{Analysis, NoObserver, Options, analyze};
use vmtrace_core::output::packets::packet_columns;
use vmtrace_core::read::{self, Input, InputPart};

fn opened(file: &[u8]) -> Vec<Input> {
    vec![Box::new(Cursor::new(file.to_vec()))]
}

/// Transfers of a quarter of a megabyte, one behind the other: several stretches.
fn transfers() -> Vec<Frame> {
    let transfer = |number: u32| {
        let base = Talk::new().between(1 + (number % 7) as u8, 10_000 + number as u16, 200, 443);
        let base = if number.is_multiple_of(3) { base.over_ipv6() } else { base };
        let at = |time_ms: f64| 500.0 * f64::from(number) + time_ms;
        base.client(at(0.0), syn())
            .server(at(40.0), syn_ack())
            .client(at(40.1), ack(0))
            .each(0..180, |talk, n| talk.client(at(50.0 + n as f64), data(n * 1400, 1400)))
            .server(at(300.0), ack(180 * 1400))
    };
    merged(&(0..40).map(transfer).collect::<Vec<_>>())
}

fn index(file: &[u8]) -> FlowIndex {
    let found = split(read::open(opened(file)), 0, 1, &Options::default(), &NoObserver, &mut |_, _| true).unwrap();
    found.indexes.into_iter().next().unwrap()
}

fn rows(analysis: &Analysis) -> String {
    format!("{:?}", packet_columns(analysis).collect::<Vec<_>>())
}

#[test]
fn packets_of_a_connection_are_in_few_stretches() {
    let file = plain_pcap(&transfers());
    let index = index(&file);
    assert_eq!(index.obstacle, None);
    let first = analyze(opened(&file), &Options::default(), &NoObserver).unwrap();
    for number in [1, 17, 40] {
        let (known_connections, _) = first.known(&[number], 0..1);
        let hash = known_connections.first().unwrap().flow_hash();
        let ends = index.stretches.iter().skip(1).map(|one| one.offset).chain([file.len() as u64]);
        let wanted = index.stretches.iter().zip(ends).filter(|(one, _)| one.is_needed || one.flows.contains(&hash));
        let parts: Vec<(InputPart, u64)> = wanted
            .map(|(one, end)| {
                (InputPart { offset: one.offset, length: end - one.offset, frame: one.frame }, one.packets_before)
            })
            .collect();
        let bytes: Vec<u8> = parts
            .iter()
            .flat_map(|(part, _)| file[part.offset as usize..(part.offset + part.length) as usize].to_vec())
            .collect();
        assert!(2 * bytes.len() < file.len(), "{} of {}", bytes.len(), file.len());
        let stretches = Stretches { reader: Box::new(Cursor::new(bytes)), input: 0, first_place: 0, parts };
        let options = Options { known_connections: known_connections.clone(), ..Options::default() };
        let found = packets_of_stretches(vec![stretches], &options, &NoObserver).unwrap();
        let options = Options { known_connections, ..Options::default() };
        let expected = analyze(opened(&file), &options, &NoObserver).unwrap();
        assert_eq!(rows(&found), rows(&expected));
        assert!(rows(&found).len() > 1000);
    }
}

#[test]
fn records_that_are_put_into_order_have_no_index() {
    let mut frames = transfers();
    frames.swap(500, 504);
    assert!(index(&plain_pcap(&frames)).obstacle.is_some());
}
