//! ICMP and ICMPv6 echoes among other frames: paired, timed, in order, the same on one thread and on several.
//!
//! Subjects: `analysis/echoes.rs`, `decode/echo.rs`, `output/echoes.rs`.

use crate::playbook::captures::Frame;
use crate::playbook::*;
use vmtrace_core::analysis::Options;
use vmtrace_core::output::echoes;

/// A message behind Ethernet and IPv4: `from` asks `to`, or replies.
fn v4(time_ms: f64, is_reply: bool, from: u8, to: u8, sequence: u16) -> Frame {
    let message = [if is_reply { 0 } else { 8 }, 0, 0, 0, 0, 77];
    let mut bytes = vec![0u8; 12];
    bytes.extend([8, 0, 0x45, 0, 0, 36, 0, 1, 0, 0, 60, 1, 0, 0, 198, 18, 0, from, 198, 18, 0, to]);
    bytes.extend(message);
    bytes.extend(sequence.to_be_bytes());
    bytes.extend([0; 8]);
    frame(time_ms, bytes)
}

/// The same of ICMPv6.
fn v6(time_ms: f64, is_reply: bool, from: u8, to: u8, sequence: u16) -> Frame {
    let address = |last: u8| [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last];
    let mut bytes = vec![0u8; 12];
    bytes.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 16, 58, 64]);
    bytes.extend(address(from));
    bytes.extend(address(to));
    bytes.extend([if is_reply { 129 } else { 128 }, 0, 0, 0, 0, 77]);
    bytes.extend(sequence.to_be_bytes());
    bytes.extend([0; 8]);
    frame(time_ms, bytes)
}

fn frame(time_ms: f64, bytes: Vec<u8>) -> Frame {
    Frame { time_ns: START_NS + ms(time_ms), original_length: bytes.len() as u32, bytes }
}

#[test]
fn requests_of_both_versions_find_their_replies() {
    let frames = [
        v4(0.0, false, 1, 2, 1),
        v6(1.0, false, 1, 2, 1),
        v4(20.0, true, 2, 1, 1),
        v4(1000.0, false, 1, 2, 2),
        v6(91.0, true, 2, 1, 1),
    ];
    let mut frames = frames.to_vec();
    frames.sort_by_key(|frame| frame.time_ns);
    for threads in [1, 4] {
        let analysis = analysis_of(&frames, &Options { threads, ..Options::default() });
        let list = analysis.echoes.list();
        let found: Vec<_> = list.iter().map(|one| (one.request.to.to_string(), one.round_trip_ns())).collect();
        let wanted = [("198.18.0.2", Some(ms(20.0))), ("fd00::2", Some(ms(90.0))), ("198.18.0.2", None)];
        assert_eq!(found, wanted.map(|(address, round_trip_ns)| (address.to_owned(), round_trip_ns)));
        assert_eq!(list[0].reply.map(|(_, frame)| frame), Some(3));
        assert_eq!(echoes::echo_columns(&analysis).len(), 10);
    }
}

#[test]
fn echoes_are_no_connections_and_a_cut_one_is_nothing() {
    let mut cut = v4(0.0, false, 1, 2, 1);
    cut.bytes.truncate(14 + 20 + 6);
    let analysis = analysis_of(&[cut, v4(1.0, false, 1, 2, 2)], &Options::default());
    assert!(analysis.connections.is_empty());
    assert_eq!(analysis.echoes.list().len(), 1);
    assert_eq!(analysis.inputs[0].undecoded.iter().map(|(_, count)| count).sum::<u64>(), 2);
}
