//! Addresses and ports that another connection uses, whose SYN the capture does not have.
//!
//! Subjects: `tcp/flow/taken_over.rs`, `tcp/connection/elsewhere.rs`, `tcp/connection/doubtful.rs`.

use crate::captures::Frame;
use crate::playbook::*;
use vmtrace_core::analysis::{Analysis, Options};

/// A request and its response without anything else, behind so much time, with these first numbers.
fn exchange(ipv6: bool, at_ms: f64, isn: [u32; 2]) -> Talk {
    let talk = if ipv6 { Talk::new().over_ipv6() } else { Talk::new() };
    talk.with_isn(isn[0], isn[1]).client(at_ms, data(0, 371)).server(at_ms + 2.0, data(0, 85).acking(371))
}

fn together(talks: &[Talk]) -> Analysis {
    let frames: Vec<Frame> = merged(talks);
    analysis_of(&frames, &Options::default())
}

const NUMBERS: [[u32; 2]; 3] =
    [[1_750_475_257, 2_063_080_528], [1_182_215_992, 1_140_043_004], [2_623_454_533, 280_773_963]];

#[test]
fn both_number_spaces_that_jump_behind_a_silence_are_another_connection() {
    for ipv6 in [false, true] {
        let exchanges = [0, 1, 2].map(|n| exchange(ipv6, 250_000.0 * n as f64, NUMBERS[n]));
        let analysis = together(&exchanges);
        assert_eq!(analysis.connections.len(), 3);
        for connection in analysis.connections.iter() {
            let [client, server] = &connection.directions;
            assert_eq!([client.unique_payload_bytes, server.unique_payload_bytes], [371, 85]);
            assert_eq!([client.packets, server.packets], [1, 1]);
            for direction in [client, server] {
                let loss = &direction.loss;
                assert_eq!([loss.retransmitted, loss.reordered, loss.unacceptable, loss.spurious], [0; 4]);
            }
            assert_eq!(connection.end_ns - connection.start_ns, ms(2.0));
        }
        assert_eq!(analysis.inputs[0].unseen_acked_bytes.unwrap_or(0), 0);
    }
}

#[test]
fn a_request_of_several_segments_goes_with_its_response() {
    let long = |at_ms: f64, isn: [u32; 2]| {
        let talk = Talk::new().with_isn(isn[0], isn[1]);
        let talk = talk.each(0..4_i64, |talk, n| talk.client(at_ms + n as f64, data(n * 1000, 1000)));
        talk.server(at_ms + 20.0, data(0, 85).acking(4000))
    };
    let analysis = together(&[long(0.0, NUMBERS[0]), long(60_000.0, NUMBERS[1])]);
    let of = |index: usize| analysis.connections[index].directions.each_ref().map(|one| one.unique_payload_bytes);
    assert_eq!((analysis.connections.len(), of(0), of(1)), (2, [4000, 85], [4000, 85]));
}

#[test]
fn a_stray_behind_a_silence_begins_nothing() {
    let stray = Talk::new().with_isn(NUMBERS[2][0], NUMBERS[2][1]).client(30_000.0, data(0, 10));
    let goes_on = exchange(false, 0.0, NUMBERS[0])
        .client(60_000.0, data(371, 300).acking(85))
        .server(60_002.0, data(85, 50).acking(671));
    let analysis = together(&[goes_on, stray]);
    assert_eq!(analysis.connections.len(), 1);
    let [client, server] = &analysis.connections[0].directions;
    assert_eq!([client.unique_payload_bytes, server.unique_payload_bytes], [671, 135]);
    assert_eq!([client.loss.unacceptable, server.loss.unacceptable], [1, 0]);
}

#[test]
fn without_a_silence_the_capture_has_missed_what_lies_between() {
    let analysis = together(&[exchange(false, 0.0, NUMBERS[0]), exchange(false, 300.0, NUMBERS[1])]);
    assert_eq!(analysis.connections.len(), 1);
}
