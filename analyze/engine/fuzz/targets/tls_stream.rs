//! TLS of one connection: two byte streams, cut into segments, some cut short by the snap length, some swapped.
//!
//! Byte 0 splits the rest into the two streams, byte 1 and 2 are dice for the segments.
#![no_main]

use libfuzzer_sys::fuzz_target;
use vmtrace_core::tls::{StreamDirection, TlsTracker};

const DIRECTIONS: [StreamDirection; 2] = [StreamDirection::ClientToServer, StreamDirection::ServerToClient];

/// Offset, captured bytes, length on the wire.
type Segment<'a> = (u64, &'a [u8], u32);

fuzz_target!(|data: &[u8]| {
    let [split, size, dice, rest @ ..] = data else { return };
    let (client, server) = rest.split_at(rest.len() * usize::from(*split) / 256);
    let mut tracker = TlsTracker::new();
    let lanes = [segments(client, *size, *dice), segments(server, *size, dice.rotate_left(3))];
    for turn in 0..lanes[0].len().max(lanes[1].len()) {
        for (direction, lane) in DIRECTIONS.into_iter().zip(&lanes) {
            if let Some((offset, captured, length)) = lane.get(turn) {
                tracker.segment(direction, *offset, captured, *length, turn as i64, false);
            }
        }
    }
    tracker.facts();
    for (direction, bytes) in DIRECTIONS.into_iter().zip([client, server]) {
        let found = tracker.stream_bytes(direction);
        let sum = found.tls_handshake + found.tls_record + found.application;
        assert_eq!(sum, bytes.len() as u64, "the classes do not sum to the bytes: {found:?}");
    }
});

/// Cuts a stream into segments; each bit of `dice` says what befalls every eighth of them.
fn segments(stream: &[u8], size: u8, dice: u8) -> Vec<Segment<'_>> {
    let size = 1 + usize::from(size);
    let mut segments: Vec<Segment<'_>> = Vec::new();
    for (number, bytes) in stream.chunks(size).enumerate() {
        let befalls = dice >> (number % 8) & 1 == 1;
        let captured = if befalls && number % 3 == 2 { &bytes[..bytes.len() / 2] } else { bytes };
        segments.push(((number * size) as u64, captured, bytes.len() as u32));
        if befalls && number % 3 == 1 {
            segments.swap(number - 1, number);
        }
    }
    segments
}
