//! A capture that gives its packets no time: what was sent is reported, and nothing that takes a time to measure.
//!
//! Subjects: `analysis/reading.rs`.

use crate::playbook::captures::{Order, block, enhanced, interface, plain_pcap, section};
use crate::playbook::*;
use serde_json::Value;
use vmtrace_core::analysis::Options;

const ORDER: Order = Order::Little;

/// The frame as a simple packet block, which has no time.
fn simple(frame: &captures::Frame) -> Vec<u8> {
    block(ORDER, 3, &[ORDER.words(&[frame.original_length]), frame.bytes.clone()].concat())
}

fn simple_blocks(talk: &Talk) -> Vec<u8> {
    let blocks = talk.frames().iter().flat_map(simple);
    [section(ORDER), interface(ORDER, 1, 0, &[])].concat().into_iter().chain(blocks).collect()
}

/// Twelve segments, one of them twice.
fn transfer() -> Talk {
    Talk::seen_at_client(40.0)
        .each(0..12, |talk, n| {
            let at_ms = 50.0 + 50.0 * f64::from(n as i32);
            talk.client(at_ms, data(n * 1000, 1000)).server(at_ms + 40.0, ack(n * 1000 + 1000))
        })
        .client(700.0, data(11_000, 1000))
}

fn connection(files: Vec<Vec<u8>>) -> Value {
    let document: Value = serde_json::from_str(&json_of(&analysis_of_files(files, &Options::default()))).unwrap();
    document["connections"][0].clone()
}

#[test]
fn without_times_nothing_that_takes_one_is_told_and_the_reason_is() {
    let connection = connection(vec![simple_blocks(&transfer())]);
    let client = &connection["client_to_server"];
    assert_eq!((&client["payload_bytes"], &client["unique_payload_bytes"]), (&13_000.into(), &12_000.into()));
    assert_eq!(client["loss"]["retransmitted_segments"], 1);
    for (group, field) in [
        ("rtt", "min_s"),
        ("rtt", "median_s"),
        ("spacing", "mean_s"),
        ("spacing", "oversize"),
        ("window", "limited_time_s"),
        ("flight", "mean_bytes"),
    ] {
        assert_eq!(client[group][field], Value::Null, "{group}.{field}");
    }
    assert_eq!((&client["goodput_bps"], &client["data_time_s"]), (&Value::Null, &Value::Null));
    assert_eq!(connection["handshake"]["rtt_s"], Value::Null);
    assert_eq!((&connection["verdict"], &client["limits"]), (&Value::Null, &Value::Array(Vec::new())));
    for field in ["rtt", "spacing", "goodput_bps", "window.limited_time_s", "flight", "limits"] {
        assert_eq!(client["not_measured"][field], "no_time", "{field}");
    }
}

#[test]
fn beside_a_capture_with_times_they_count() {
    let talk = transfer();
    let connection = connection(vec![plain_pcap(talk.frames()), simple_blocks(&Talk::new())]);
    assert_eq!(connection["client_to_server"]["rtt"]["min_s"], 0.04);
}

#[test]
fn frames_before_the_first_time_take_that_one() {
    let talk = Talk::seen_at_client(40.0).client(50.0, data(0, 100));
    let (first, others) = talk.frames().split_first().unwrap();
    let timed = others.iter().flat_map(|frame| enhanced(ORDER, 0, frame.time_ns as u64 / 1000, frame, &[]));
    let start = [section(ORDER), interface(ORDER, 1, 0, &[]), simple(first)].concat();
    let file: Vec<u8> = start.into_iter().chain(timed).collect();
    for threads in [1, 2] {
        let analysis = analysis_of_files(vec![file.clone()], &Options { threads, ..Options::default() });
        assert_eq!(analysis.connections[0].start_ns, START_NS + ms(40.0));
        assert_eq!(analysis.inputs[0].facts.packets_without_time, 1);
    }
}
