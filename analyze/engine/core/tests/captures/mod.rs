//! Builds capture files byte by byte, and reads them back.

use std::io::Read;

use proptest::prelude::ProptestConfig;
use vmtrace_core::read::{Chunk, ChunkSource, FileSource, InputFacts, ReadError, Record};

/// How often a property is tried; `VMTRACE_PROPERTY_TIMES` multiplies it (`make test-long`).
pub fn cases(cases: u32) -> ProptestConfig {
    let times = std::env::var("VMTRACE_PROPERTY_TIMES").map_or(1, |times| times.parse().unwrap());
    ProptestConfig { cases: cases * times, failure_persistence: None, ..ProptestConfig::default() }
}

/// A frame as it goes in and must come out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub time_ns: i64,
    pub original_length: u32,
    pub bytes: Vec<u8>,
}

pub fn frame(time_ns: i64, original_length: u32, bytes: &[u8]) -> Frame {
    Frame { time_ns, original_length, bytes: bytes.to_vec() }
}

/// Some frames of different lengths, 1 ms apart.
pub fn frames(count: usize) -> Vec<Frame> {
    (0..count)
        .map(|n| {
            let captured = 60 + n * 37 % 900;
            let bytes: Vec<u8> = (0..captured).map(|at| (at * 7 + n * 13 + at * at / 5) as u8 | 0x80).collect();
            frame(1_700_000_000_000_000_000 + n as i64 * 1_000_000, captured as u32, &bytes)
        })
        .collect()
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    Little,
    Big,
}

impl Order {
    pub fn u16(self, number: u16) -> [u8; 2] {
        if self == Self::Little { number.to_le_bytes() } else { number.to_be_bytes() }
    }
    pub fn u32(self, number: u32) -> [u8; 4] {
        if self == Self::Little { number.to_le_bytes() } else { number.to_be_bytes() }
    }
    pub fn u64(self, number: u64) -> [u8; 8] {
        if self == Self::Little { number.to_le_bytes() } else { number.to_be_bytes() }
    }
    pub fn words(self, words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| self.u32(*word)).collect()
    }
}

pub const MICROSECONDS: u32 = 0xa1b2_c3d4;
pub const NANOSECONDS: u32 = 0xa1b2_3c4d;
pub const MODIFIED: u32 = 0xa1b2_cd34;

/// A pcap file header of version 2.4.
pub fn pcap_header(order: Order, magic: u32, snap: u32, network: u32) -> Vec<u8> {
    pcap_header_version(order, magic, (2, 4), snap, network)
}

pub fn pcap_header_version(order: Order, magic: u32, version: (u16, u16), snap: u32, network: u32) -> Vec<u8> {
    let mut file = order.u32(magic).to_vec();
    file.extend(order.u16(version.0));
    file.extend(order.u16(version.1));
    file.extend(order.words(&[0, 0, snap, network]));
    file
}

/// A pcap record.
pub fn pcap_record(order: Order, magic: u32, frame: &Frame) -> Vec<u8> {
    let unit_ns = if magic == NANOSECONDS { 1 } else { 1000 };
    let seconds = (frame.time_ns / 1_000_000_000) as u32;
    let fraction = (frame.time_ns % 1_000_000_000 / unit_ns) as u32;
    let mut record = order.words(&[seconds, fraction, frame.bytes.len() as u32, frame.original_length]);
    if magic == MODIFIED {
        record.extend([0; 8]);
    }
    record.extend(&frame.bytes);
    record
}

pub fn pcap(order: Order, magic: u32, frames: &[Frame]) -> Vec<u8> {
    let mut file = pcap_header(order, magic, 262_144, 1);
    for frame in frames {
        file.extend(pcap_record(order, magic, frame));
    }
    file
}

/// The usual: little-endian, nanoseconds.
pub fn plain_pcap(frames: &[Frame]) -> Vec<u8> {
    pcap(Order::Little, NANOSECONDS, frames)
}

/// A pcapng block around a body.
pub fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let length = padded as u32 + 12;
    let mut block = order.words(&[kind, length]);
    block.extend(body);
    block.resize(8 + padded, 0);
    block.extend(order.u32(length));
    block
}

pub fn option(order: Order, code: u16, value: &[u8]) -> Vec<u8> {
    let mut option = order.u16(code).to_vec();
    option.extend(order.u16(value.len() as u16));
    option.extend(value);
    option.resize(4 + value.len().next_multiple_of(4), 0);
    option
}

pub fn section(order: Order) -> Vec<u8> {
    block(
        order,
        0x0a0d_0d0a,
        &[order.words(&[0x1a2b_3c4d]), order.u16(1).to_vec(), order.u16(0).to_vec(), vec![0xff; 8]].concat(),
    )
}

pub fn interface(order: Order, link_type: u16, snap: u32, options: &[u8]) -> Vec<u8> {
    let mut body = order.u16(link_type).to_vec();
    body.extend([0; 2]);
    body.extend(order.u32(snap));
    body.extend(options);
    block(order, 1, &body)
}

/// An enhanced packet block with a raw time stamp.
pub fn enhanced(order: Order, interface: u32, stamp: u64, frame: &Frame, options: &[u8]) -> Vec<u8> {
    let captured = frame.bytes.len() as u32;
    let mut body = order.words(&[interface, (stamp >> 32) as u32, stamp as u32, captured, frame.original_length]);
    body.extend(&frame.bytes);
    body.resize(20 + frame.bytes.len().next_multiple_of(4), 0);
    body.extend(options);
    block(order, 6, &body)
}

/// A pcapng file of one Ethernet interface with nanoseconds.
pub fn pcapng(order: Order, frames: &[Frame]) -> Vec<u8> {
    let mut file = section(order);
    file.extend(interface(order, 1, 0, &option(order, 9, &[9])));
    for frame in frames {
        file.extend(enhanced(order, 0, frame.time_ns as u64, frame, &[]));
    }
    file
}

/// A snoop file of Ethernet frames.
pub fn snoop(frames: &[Frame]) -> Vec<u8> {
    let order = Order::Big;
    let mut file = b"snoop\0\0\0".to_vec();
    file.extend(order.words(&[2, 4]));
    for frame in frames {
        let padded = frame.bytes.len().next_multiple_of(4);
        let micros = frame.time_ns / 1000;
        let (seconds, fraction) = ((micros / 1_000_000) as u32, (micros % 1_000_000) as u32);
        let captured = frame.bytes.len() as u32;
        file.extend(order.words(&[frame.original_length, captured, padded as u32 + 24, 0, seconds, fraction]));
        file.extend(&frame.bytes);
        file.resize(file.len() + padded - frame.bytes.len(), 0);
    }
    file
}

/// What reading gave.
#[derive(Debug)]
pub struct Outcome {
    pub frames: Vec<Frame>,
    pub records: Vec<Record>,
    pub inputs: Vec<InputFacts>,
    pub error: Option<ReadError>,
}

impl Outcome {
    pub fn facts(&self) -> &InputFacts {
        &self.inputs[0]
    }

    /// The complaints about damage.
    pub fn complaints(&self) -> Vec<&str> {
        self.facts().damage.iter().map(|damage| damage.what.as_str()).collect()
    }
}

/// Reads a source to its end. Errors do not end it: they are reported once.
pub fn drain(source: &mut dyn ChunkSource) -> Outcome {
    let mut outcome = Outcome { frames: Vec::new(), records: Vec::new(), inputs: Vec::new(), error: None };
    let mut chunk = Chunk::default();
    loop {
        match source.next_chunk(&mut chunk) {
            Ok(false) => break,
            Ok(true) => assert!(!chunk.records.is_empty(), "a chunk without records"),
            Err(error) => outcome.error = Some(error),
        }
        for record in &chunk.records {
            let start = record.offset as usize;
            let bytes = &chunk.bytes[start..start + record.captured_length as usize];
            outcome.frames.push(frame(record.time_ns, record.original_length, bytes));
            outcome.records.push(*record);
        }
    }
    assert!(!source.next_chunk(&mut chunk).unwrap(), "the end stays the end");
    outcome.inputs = source.inputs();
    outcome
}

pub fn read(file: &[u8]) -> Outcome {
    drain(&mut FileSource::new(Box::new(std::io::Cursor::new(file.to_vec())), 0))
}

/// Reads through reads of at most `step` bytes, as from a slow pipe.
pub fn read_slowly(file: &[u8], step: usize) -> Outcome {
    drain(&mut FileSource::new(Box::new(Slow { file: file.to_vec(), at: 0, step }), 0))
}

pub struct Slow {
    pub file: Vec<u8>,
    pub at: usize,
    pub step: usize,
}

impl Read for Slow {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.step.min(buffer.len()).min(self.file.len() - self.at);
        buffer[..count].copy_from_slice(&self.file[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}
