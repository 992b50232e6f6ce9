//! Columns: all of one length, and the values of the JSON document under the joined path.
//!
//! Subjects: `output/describe/visitor.rs`, `output/describe/connection.rs`, `output/describe/direction.rs`,
//! `output/key.rs`, `output/packets.rs`.

use std::collections::BTreeMap;

use crate::playbook::captures::{cases, plain_pcap};
use crate::playbook::hostile::{file, frames, lines};
use crate::playbook::*;
use proptest::prelude::*;
use serde_json::Value;
use vmtrace_core::analysis::{Analysis, Options};
use vmtrace_core::output::columns::{Column, ColumnValues};
use vmtrace_core::output::packets;
use vmtrace_core::output::packets::PacketChoice;

fn length(column: &Column) -> usize {
    match &column.values {
        ColumnValues::U64(values) => values.len(),
        ColumnValues::I64(values) => values.len(),
        ColumnValues::F64(values) => values.len(),
        ColumnValues::Bool(values) => values.len(),
        ColumnValues::Text(values) => values.len(),
        ColumnValues::Category { codes, .. } => codes.len(),
    }
}

/// The value of a row as JSON would have it.
fn value(column: &Column, row: usize) -> Value {
    match &column.values {
        ColumnValues::U64(values) => values[row].into(),
        ColumnValues::I64(values) => values[row].into(),
        ColumnValues::F64(values) => values[row].into(),
        ColumnValues::Bool(values) => values[row].into(),
        ColumnValues::Text(values) => values[row].clone().into(),
        ColumnValues::Category { codes, names } => codes[row].map(|code| names[usize::from(code)]).into(),
    }
}

/// Everything in a connection's object by joined path; lists of texts joined by commas.
fn flat(object: &Value) -> BTreeMap<String, Value> {
    fn add(flat: &mut BTreeMap<String, Value>, path: &str, value: &Value) {
        match value {
            Value::Object(members) => {
                let prefix = if path.is_empty() { String::new() } else { format!("{path}_") };
                members.iter().for_each(|(key, value)| add(flat, &format!("{prefix}{key}"), value));
            }
            // A column says how many there are; the document lists them.
            Value::Array(items) if path == "icmp_errors" => {
                flat.insert(path.to_owned(), items.len().into());
            }
            Value::Array(items) => {
                let texts: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
                flat.insert(path.to_owned(), if texts.is_empty() { Value::Null } else { texts.join(", ").into() });
            }
            other => {
                flat.insert(path.to_owned(), other.clone());
            }
        }
    }
    let mut all = BTreeMap::new();
    add(&mut all, "", object);
    all
}

/// Equal, numbers to the last printed digit.
fn same(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => (one - other).abs() <= 1e-9f64.max(1e-6 * one.abs()),
        _ => one == other,
    }
}

/// Fields that the document leaves out where they would be null, zero or false.
const LEFT_OUT: [&str; 33] = [
    "packets_in_fragments",
    "loss_bad_checksums",
    "requests_reason",
    "rtt_delayed_acknowledgements",
    "loss_events",
    "loss_event_rate",
    "lost_acknowledgements_ipid",
    "acknowledgement_loss_rate",
    "handshake_client_loop_s",
    "handshake_server_loop_s",
    "reset_by",
    "teardown_s",
    "segment_size_bytes",
    "reference_bps",
    "data_time_s",
    "loss_caveat",
    "rejected_retransmitted",
    "rejected_later_segment_covered",
    "rejected_held_back_by_hole",
    "rejected_not_all_seen",
    "rejected_acknowledged_before_data",
    "oversize_threshold_s",
    "oversize_rule",
    "spacing_stalls",
    "stalls_per_minute",
    "stalled_time_s",
    "longest_stall_s",
    "stall_period_s",
    "stall_lost_bytes",
    "tls_bytes_before_tls",
    "bounds_reached",
    "tls_padding_unknown",
    "server_name",
];

/// Objects that the document leaves out as a whole.
const OBJECTS_LEFT_OUT: [&str; 11] = [
    "outcome_",
    "request_totals_",
    "verdict_",
    "tls_",
    "_peak_rate_bps_",
    "_token_bucket_",
    "_rtt_recovery_",
    "_rtt_without_stalls_",
    "_loss_bursts_",
    "_nagle_waits_",
    "_ecn_",
];

fn assert_columns_match(analysis: &Analysis) {
    let columns = analysis.connection_columns(None);
    let document: Value = serde_json::from_str(&json_of(analysis)).unwrap();
    let connections = document["connections"].as_array().unwrap();
    assert!(columns.iter().all(|column| length(column) == connections.len()));
    for (row, connection) in connections.iter().enumerate() {
        let flat = flat(connection);
        for column in &columns {
            let found = value(column, row);
            let written = flat.contains_key(&column.name);
            let of_a_cause = column.name.contains("_spacing_by_cause_");
            let may_be_left_out = of_a_cause || LEFT_OUT.iter().any(|name| column.name.ends_with(name));
            let object_left_out = OBJECTS_LEFT_OUT.iter().any(|name| column.name.contains(name));
            assert!(written || may_be_left_out || object_left_out, "{}", column.name);
            let nothing = found.is_null() || found == 0 || found == 0.0 || found == false;
            let expected = if written || !nothing { flat.get(&column.name).unwrap_or(&Value::Null) } else { &found };
            assert!(same(&found, expected), "{} of {}: {found} for {expected}", column.name, connection["id"]);
        }
    }
}

fn talks() -> [Talk; 3] {
    [
        Talk::seen_at_client(40.0)
            .client(50.0, data(0, 1000))
            .client(50.2, data(1000, 1000))
            .server(90.0, ack(1000))
            .client(300.0, data(1000, 1000))
            .server(340.0, data(0, 500).acking(2000))
            .client(340.1, fin(2000)),
        Talk::new().over_ipv6().between(5, 999, 6, 80).client(7.0, syn()),
        Talk::new().between(8, 9_000, 6, 80).open(0.1, 30.0).client(60.0, data(0, 9_000)).server(60.3, rst()),
    ]
}

#[test]
fn columns_say_what_the_document_says() {
    let analysis = analysis_of(&merged(&talks()), &Options::default());
    assert_eq!(analysis.connections.len(), 3);
    assert_columns_match(&analysis);
}

#[test]
fn names_are_there_without_connections_and_never_twice() {
    let names = |analysis: &Analysis| -> Vec<String> {
        analysis.connection_columns(None).into_iter().map(|column| column.name).collect()
    };
    let empty = analysis_of_files(vec![plain_pcap(&[])], &Options::default());
    assert!(empty.connection_columns(None).iter().all(|column| length(column) == 0));
    let (without, with) = (names(&empty), names(&talks()[0].analysis()));
    assert_eq!(without, with);
    let mut once = with.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), with.len());
}

#[test]
fn packets_have_a_row_each_and_count_as_the_connection_does() {
    let options = Options { detail_connections: vec![1], ..Options::default() };
    let analysis = talks()[0].analysis_with(&options);
    let columns = packets::packet_columns(&analysis).collect::<Vec<_>>();
    let rows = talks()[0].frames().len();
    assert!(columns.iter().all(|column| length(column) == rows));
    let column = |name: &str| columns.iter().find(|column| column.name == name).unwrap();
    let texts = |name: &str| (0..rows).map(|row| value(column(name), row)).collect::<Vec<_>>();
    let kinds = ["syn", "syn", "pure_ack", "data", "data", "pure_ack", "retransmission", "data", "fin"];
    assert_eq!(texts("kind"), kinds);
    assert_eq!(texts("sequence")[3..5], [0, 1000]);
    assert_eq!(texts("acknowledgement")[5], 1000);
    assert_eq!((value(column("rtt_s"), 5), value(column("rtt_frame"), 5)), (0.04.into(), 4.into()));
    assert!(value(column("rtt_s"), 6).is_null() && value(column("trigger"), 5).is_null());
    assert!(value(column("trigger"), 6).is_string());
    assert_eq!(value(column("flight_bytes"), 4), 2000);
    assert_eq!(value(column("window_bytes"), 0), Value::Null, "a SYN's window is not scaled");
    assert_eq!((value(column("frame"), 8), value(column("time_ns"), 0)), (9.into(), START_NS.into()));
}

#[test]
fn connections_not_asked_for_have_no_rows() {
    let options = Options { detail_connections: vec![3], ..Options::default() };
    let analysis = analysis_of(&merged(&talks()), &options);
    let columns = packets::packet_columns(&analysis).collect::<Vec<_>>();
    assert!(columns.iter().all(|column| length(column) == 1));
    assert_eq!(value(&columns[0], 0), 3);
}

#[test]
fn seconds_have_a_row_each() {
    let analysis = Talk::new().client(0.0, syn()).client(1000.0, syn()).server(3000.0, rst()).analysis();
    let columns = analysis.syn_columns();
    assert!(columns.iter().all(|column| length(column) == 3));
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["second_ns", "syn", "syn_ack", "syn_retransmissions", "established", "reset"]);
    assert_eq!(value(&columns[0], 1), START_NS + 1_000_000_000);
    let counts: Vec<Value> = columns[1..].iter().map(|column| value(column, 1)).collect();
    assert_eq!(counts, [1, 0, 1, 0, 0]);
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn columns_of_any_packets_say_what_the_document_says(lines in lines(60)) {
        assert_columns_match(&analysis_of_files(vec![file(&frames(&lines))], &Options::default()));
    }
}

#[test]
fn only_the_columns_asked_for_are_made() {
    let analysis = analysis_of(&merged(&talks()), &Options::default());
    let wanted = ["client_to_server_loss_retransmitted_segments", "id", "no_such_column"];
    let some = analysis.connection_columns(Some(&wanted));
    let mut names: Vec<&str> = some.iter().map(|column| column.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, wanted[..2]);
    let all = analysis.connection_columns(None);
    assert!(some.iter().all(|column| all.contains(column)));
}

#[test]
fn rows_may_be_chosen_and_the_largest_come_first() {
    let analysis = analysis_of(&merged(&talks()), &Options::default());
    let ids = |rows: &[usize]| {
        let columns = analysis.connection_rows(rows, Some(&["id"]));
        (0..length(&columns[0])).map(|row| value(&columns[0], row)).collect::<Vec<_>>()
    };
    assert_eq!(ids(&[2, 0]), [3, 1]);
    assert_eq!(ids(&[9, 1]), [2], "places beyond the end are left out");
    assert_eq!(analysis.largest_connections(10), [1, 0, 2], "9000 bytes, 3500 bytes, a SYN");
    assert_eq!(analysis.largest_connections(1), [1]);
}

/// Packets of two of the three connections, in the order of the capture.
fn of_two_connections() -> Analysis {
    let options = Options { detail_connections: vec![1, 3], ..Options::default() };
    analysis_of(&merged(&talks()), &options)
}

fn chosen(analysis: &Analysis, choice: PacketChoice) -> Vec<Column> {
    packets::chosen_packet_columns(analysis, choice).collect()
}

/// These rows of all columns.
fn values(columns: &[Column], rows: impl Iterator<Item = usize> + Clone) -> Vec<Vec<Value>> {
    columns.iter().map(|column| rows.clone().map(|row| value(column, row)).collect()).collect()
}

#[test]
fn packets_of_some_connections_are_those_of_all_without_the_others() {
    let analysis = of_two_connections();
    let all: Vec<Column> = packets::packet_columns(&analysis).collect();
    for wanted in [1, 3] {
        let kept: Vec<usize> = (0..length(&all[0])).filter(|&row| value(&all[0], row) == wanted).collect();
        let some = chosen(&analysis, PacketChoice { connections: Some(&[wanted]), ..PacketChoice::default() });
        assert_eq!(length(&some[0]), kept.len());
        assert_eq!(values(&some, 0..kept.len()), values(&all, kept.iter().copied()));
    }
    let none = chosen(&analysis, PacketChoice { connections: Some(&[2]), ..PacketChoice::default() });
    assert!(none.iter().all(|column| length(column) == 0));
}

#[test]
fn packets_at_some_places_are_a_piece_of_the_table() {
    let analysis = of_two_connections();
    for connections in [None, Some(&[1][..])] {
        let whole = chosen(&analysis, PacketChoice { connections, ..PacketChoice::default() });
        let rows = length(&whole[0]);
        for (first, end) in [(0, 3), (2, 5), (4, rows), (3, rows + 9), (rows, rows + 1)] {
            let piece = chosen(&analysis, PacketChoice { connections, places: Some(first..end), names: None });
            let end = end.min(rows);
            assert_eq!(length(&piece[0]), end - first);
            assert_eq!(values(&piece, 0..end - first), values(&whole, first..end));
        }
    }
}

#[test]
fn only_the_columns_of_packets_that_are_asked_for_are_made() {
    let analysis = of_two_connections();
    let names = Some(&["rtt_s", "frame", "no_such_column"][..]);
    let some = chosen(&analysis, PacketChoice { names, ..PacketChoice::default() });
    assert_eq!(some.iter().map(|column| column.name.as_str()).collect::<Vec<_>>(), ["frame", "rtt_s"]);
    let all: Vec<Column> = packets::packet_columns(&analysis).collect();
    assert!(some.iter().all(|column| all.contains(column)));
}
