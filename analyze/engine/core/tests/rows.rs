//! Rows of single packets, of which so many are packed together that a transfer begins in one pack and ends in another.
//!
//! Subjects: `tcp/rows/rows.rs`, `tcp/rows/recorder.rs`, `tcp/connection/packet_row.rs`, `tcp/events/sent.rs`.

use crate::playbook::*;
use vmtrace_core::analysis::Options;
use vmtrace_core::tcp::rows::rows::{Field, Rows};

const IN_SEVERAL_PACKS: i64 = 5000;

fn rows(talk: &Talk) -> Rows {
    talk.analysis_with(&Options { detail_connections: vec![1], ..Options::default() }).rows
}

#[test]
fn each_packet_of_a_long_transfer_has_its_row_in_order() {
    let talk = Talk::new()
        .open(40.0, 0.1)
        .each(0..IN_SEVERAL_PACKS, |talk, n| talk.client(50.0 + n as f64, data(n * 1000, 1000)));
    let rows = rows(&talk);
    assert_eq!(rows.len(), 3 + IN_SEVERAL_PACKS as usize);
    let expected: Vec<Option<i64>> = (0..IN_SEVERAL_PACKS).map(|n| Some(n * 1000)).collect();
    assert_eq!(rows.values(Field::Sequence)[3..], expected);
    assert_eq!(rows.values(Field::Frame)[3..], (4..IN_SEVERAL_PACKS + 4).map(Some).collect::<Vec<_>>());
}

#[test]
fn acknowledgements_seen_long_before_any_data_count_from_its_first_byte() {
    let first_byte = IN_SEVERAL_PACKS * 1000 + 7000;
    let talk = Talk::new()
        .each(0..IN_SEVERAL_PACKS, |talk, n| talk.server(n as f64, ack(n * 1000)))
        .client(IN_SEVERAL_PACKS as f64, data(first_byte, 1000))
        .server(IN_SEVERAL_PACKS as f64 + 40.0, ack(first_byte + 1000));
    let acknowledgements = rows(&talk).values(Field::Acknowledgement);
    let before: Vec<Option<i64>> = (0..IN_SEVERAL_PACKS).map(|n| Some(n * 1000 - first_byte)).collect();
    assert_eq!(acknowledgements[..IN_SEVERAL_PACKS as usize], before);
    assert_eq!(acknowledgements.last(), Some(&Some(1000)));
}
