//! A limiting factor that only the tests have: declared in one file, it is in the JSON.
//!
//! Subjects: `tcp/events/factor.rs`, `tcp/verdict/factors/made_up.rs`.

use std::io::Cursor;

use crate::analysis::options::{NoObserver, Options};
use crate::analysis::whole::analyze;
use crate::output::json::JsonHeader;
use crate::tcp::verdict::factors::made_up::{SEGMENT_SIZE, SYN_AGAIN_NS};

const SYN: u8 = 0x02;
const ACK: u8 = 0x10;
/// Milliseconds.
const ROUND_TRIP: u32 = 20;

/// A packet of raw IP: of the client or the server, with its numbers, flags, options and length of payload.
fn packet(from_client: bool, [sequence, acknowledged]: [u32; 2], flags: u8, options: &[u8], payload: usize) -> Vec<u8> {
    let [source, target, ports] = match from_client {
        true => [[192, 0, 2, 1], [192, 0, 2, 2], [0x9c, 0x40, 0, 80]],
        false => [[192, 0, 2, 2], [192, 0, 2, 1], [0, 80, 0x9c, 0x40]],
    };
    let length = 40 + options.len() + payload;
    let mut bytes = vec![0x45, 0, (length >> 8) as u8, length as u8, 0, 0, 0x40, 0, 64, 6, 0, 0];
    bytes.extend([source, target, ports].concat());
    bytes.extend([sequence.to_be_bytes(), acknowledged.to_be_bytes()].concat());
    bytes.extend([(20 + options.len() as u8) << 2, flags, 0xff, 0xff, 0, 0, 0, 0]);
    bytes.extend(options);
    bytes.resize(length, 0);
    bytes
}

/// A capture of a handshake and rounds of ten segments of that size; a SYN that got lost was sent so many milliseconds before.
fn capture(segment: u16, lost_before: Option<u32>) -> Vec<u8> {
    let mss = [2, 4, (segment >> 8) as u8, segment as u8];
    let size = u32::from(segment);
    let mut packets = vec![
        (0, packet(true, [0, 0], SYN, &mss, 0)),
        (ROUND_TRIP, packet(false, [0, 1], SYN | ACK, &mss, 0)),
        (ROUND_TRIP, packet(true, [1, 1], ACK, &[], 0)),
    ];
    for round in 1..30u32 {
        let first = 1 + (round - 1) * 10 * size;
        let sent = (0..10).map(|n| (round * ROUND_TRIP, packet(true, [first + n * size, 1], ACK, &[], segment.into())));
        packets.extend(sent);
        packets.push(((round + 1) * ROUND_TRIP, packet(false, [1, first + 10 * size], ACK, &[], 0)));
    }
    let header: [u32; 6] = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 101];
    let mut file: Vec<u8> = header.iter().flat_map(|word| word.to_le_bytes()).collect();
    let waited = lost_before.unwrap_or(0);
    packets.iter_mut().for_each(|(milliseconds, _)| *milliseconds += waited);
    packets.splice(0..0, lost_before.map(|_| (0, packet(true, [0, 0], SYN, &mss, 0))));
    for (milliseconds, bytes) in packets {
        let length = bytes.len() as u32;
        let record = [1 + milliseconds / 1000, milliseconds % 1000 * 1000, length, length];
        file.extend(record.iter().flat_map(|word| word.to_le_bytes()));
        file.extend(bytes);
    }
    file
}

fn json_of(capture: Vec<u8>) -> String {
    let analysis = analyze(vec![Box::new(Cursor::new(capture))], &Options::default(), &NoObserver);
    let mut out = Vec::new();
    let written = analysis.map(|analysis| analysis.write_json(&mut out, &JsonHeader::default()));
    assert!(matches!(written, Ok(Ok(()))));
    String::from_utf8_lossy(&out).into_owned()
}

#[test]
fn a_factor_of_one_file_is_in_limits_and_verdict() {
    let json = json_of(capture(SEGMENT_SIZE, None));
    assert!(json.contains(r#""limits":[{"factor":"made_up","#), "{json}");
    assert!(json.contains(r#""verdict":{"direction":"client_to_server","factor":"made_up""#), "{json}");
    assert!(json.contains("What was made up took 0.6 s") || json.contains("What was made up took 5"), "{json}");
    assert!(json.contains(r#""change":"less made up""#) || json.contains(r#""what_if":[]"#), "{json}");
    assert!(!json_of(capture(SEGMENT_SIZE + 1, None)).contains("made_up"));
}

#[test]
fn what_a_factor_takes_in_the_second_stage_is_its_time_in_limits_account_and_verdict() {
    let after = |milliseconds: u32| json_of(capture(SEGMENT_SIZE + 1, Some(milliseconds)));
    let again = (SYN_AGAIN_NS / 1_000_000) as u32;
    let json = after(again);
    assert!(json.contains(r#"{"factor":"made_up","time_s":1.3"#), "{json}");
    assert!(json.contains(r#""kind":"made_up","#), "{json}");
    assert!(json.contains(r#""verdict":{"direction":"client_to_server","factor":"made_up""#), "{json}");
    assert!(!after(again + 1).contains("made_up"));
}
