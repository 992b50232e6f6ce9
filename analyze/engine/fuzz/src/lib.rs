//! What the fuzz targets share: inputs made of raw bytes, and what must hold of everything that was read.

use std::io::{Cursor, Read};

use vmtrace_core::decode::Batch;
use vmtrace_core::decode::fragments::Reassembler;
use vmtrace_core::decode::options::Options;
use vmtrace_core::packet::Packet;
use vmtrace_core::read::{Chunk, ChunkSource, FileSource, Input, ReadError};

/// A record as it was read, with its own bytes: comparable between ways of reading.
pub type Seen = (i64, u32, u32, u16, Vec<u8>);

/// Reads a capture as a whole and in small pieces, and checks that both ways see the same.
pub fn read_both_ways(file: &[u8]) {
    let whole = read_all(Box::new(Cursor::new(file.to_vec())));
    let trickled = read_all(Box::new(Trickle { bytes: Cursor::new(file.to_vec()), turn: 0 }));
    match (&whole, &trickled) {
        (Ok(whole), Ok(trickled)) => assert_eq!(whole, trickled, "the sizes of reads change what is read"),
        (Err(_), Err(_)) => {}
        _ => panic!("the sizes of reads decide whether it is a capture: {whole:?} / {trickled:?}"),
    }
}

/// Reads a capture to its end, checking each chunk.
///
/// # Errors
/// What the reader gives.
pub fn read_all(input: Input) -> Result<Vec<Seen>, ReadError> {
    let mut source = FileSource::new(input, 0);
    let mut chunk = Chunk::default();
    let mut seen = Vec::new();
    while source.next_chunk(&mut chunk)? {
        assert!(!chunk.records.is_empty(), "a chunk without records");
        for record in &chunk.records {
            let start = record.offset as usize;
            let bytes = chunk.bytes.get(start..start + record.captured_length as usize);
            let bytes = bytes.expect("a record points beyond its chunk").to_vec();
            // Not always by one: blocks that Wireshark shows as frames have numbers, too.
            let before = seen.last().map_or(0, |(_, _, frame, ..): &Seen| *frame);
            assert!(record.frame > before, "frame numbers do not rise");
            seen.push((record.time_ns, record.original_length, record.frame, record.link_type, bytes));
        }
    }
    let packets: u64 = source.inputs().iter().map(|facts| facts.packets).sum();
    assert_eq!(packets, seen.len() as u64, "the count of packets is not that of the records");
    Ok(seen)
}

/// Decodes a chunk and checks that every packet points to bytes that are there.
pub fn decode_chunk(mut chunk: Chunk) {
    let mut batch = Batch::default();
    batch.decode(&mut chunk);
    let frames = batch.packets().len() as u64 + batch.fragments.len() as u64 + batch.counts.together().total();
    assert_eq!(frames, chunk.records.len() as u64, "a frame was lost in decoding");
    batch.join_fragments(&mut chunk, &mut Reassembler::new());
    for packet in batch.packets() {
        check_packet(packet, &chunk.bytes);
        let _ = Options::of_packet(packet, &chunk.bytes);
    }
}

fn check_packet(packet: &Packet, bytes: &[u8]) {
    let within = |offset: u32, length: usize| offset as usize + length <= bytes.len();
    assert!(packet.payload_captured <= packet.payload_length);
    assert!(within(packet.payload_offset, packet.payload_captured as usize));
    assert!(within(packet.options_offset, packet.options_captured.into()));
    assert!((20..=60).contains(&packet.tcp_header_length));
    assert!(packet.options_captured <= packet.tcp_header_length - 20);
    let addresses = match packet.ip_version {
        4 => 8,
        6 => 32,
        other => panic!("IP version {other}"),
    };
    assert!(within(packet.address_offset, addresses));
}

/// A reader that gives one to seven bytes at a time.
struct Trickle {
    bytes: Cursor<Vec<u8>>,
    turn: usize,
}

impl Read for Trickle {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.turn += 1;
        let length = buffer.len().min(1 + self.turn % 7);
        self.bytes.read(&mut buffer[..length])
    }
}
