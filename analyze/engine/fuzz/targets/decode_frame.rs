//! Frames of every link type, several of them, so that fragments meet.
//!
//! Byte 0 chooses the link type, byte 1 how many bytes of each frame the snap length cut off; then frames, each behind
//! its length in two bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use vmtrace_core::read::{Chunk, Record};

const LINK_TYPES: [u16; 30] =
    [1, 0, 6, 9, 10, 12, 14, 50, 51, 101, 104, 105, 108, 113, 119, 127, 163, 204, 219, 228, 229, 276, 277, u16::MAX, 7, 129, 192, 197, 242, 258];

fuzz_target!(|data: &[u8]| {
    let [link, cut, rest @ ..] = data else { return };
    let link_type = LINK_TYPES[usize::from(*link) % LINK_TYPES.len()];
    vmtrace_fuzz::decode_chunk(chunk(link_type, u32::from(*cut), rest));
});

fn chunk(link_type: u16, cut: u32, mut rest: &[u8]) -> Chunk {
    let mut chunk = Chunk::default();
    while let Some((length, after)) = rest.split_first_chunk() {
        let (frame, next) = after.split_at(usize::from(u16::from_le_bytes(*length)).min(after.len()));
        let number = chunk.records.len() as u32;
        chunk.records.push(Record {
            time_ns: i64::from(number) * 1_000_000,
            offset: chunk.bytes.len() as u32,
            captured_length: frame.len() as u32,
            original_length: frame.len() as u32 + cut,
            frame: number + 1,
            link_type,
            fcs_length: if cut == 4 { 4 } else { 0 },
            ..Record::default()
        });
        chunk.bytes.extend_from_slice(frame);
        rest = next;
    }
    chunk
}
