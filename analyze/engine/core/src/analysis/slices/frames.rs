//! Frames without a TCP segment on their way to another run: a piece is a header, then frames one behind the other, each with its
//! addresses and its payload. What came of datagrams whose fragments are not all there stands with them.
//!
//! All numbers are little-endian. A piece is whole or refused, as those of packets are.

use std::io::Read;
use std::net::IpAddr;

use crate::analysis::slices::piece::{broken, put_header, read_header, read_whole};
use crate::analysis::tunnels::{put_path, read_path};
use crate::decode::batch::{Batch, OtherAt};
use crate::decode::entered::TunnelPath;
use crate::decode::fragments::Beginning;
use crate::decode::other::{Other, OtherKind};
use crate::flows::flow::FiveTuple;
use crate::flows::table::MOST_FLOWS;
use crate::keyed::KeyedSet;
use crate::read::record::{Chunk, Record};
use crate::tcp::stats::packed::Packed;

/// What a piece begins with; the last letter is the version of the format.
const MAGIC: [u8; 4] = *b"vmb2";

/// Magic, frames, bytes behind the header.
const HEADER_BYTES: usize = 12;

/// Numbers of a frame, before its bytes.
const FRAME_BYTES: usize = 38;

/// What a frame is, in its numbers.
const IP: u8 = 0;
const ETHER_TYPE: u8 = 1;
const BEGINNING: u8 = 2;
/// None: the tunnels of the frame that follows.
const TUNNELS: u8 = 3;

/// A piece that grows.
#[derive(Default)]
pub(super) struct FramesWriter {
    bytes: Vec<u8>,
    frames: u32,
    /// Flows in tunnels, of which the first packet was written.
    tunnelled: KeyedSet<FiveTuple>,
}

impl FramesWriter {
    /// Bytes so far.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Adds one of a batch's frames; of what could not be read nothing is kept.
    pub(super) fn push(&mut self, chunk: &Chunk, batch: &Batch, at: &OtherAt) {
        let Some(record) = chunk.records.get(at.record as usize) else { return };
        let bytes = &chunk.bytes;
        let (tag, number) = match at.other.kind {
            OtherKind::Ip(number) => (IP, u16::from(number)),
            OtherKind::EtherType(number) => (ETHER_TYPE, number),
            OtherKind::Unread => return,
        };
        self.push_tunnels(chunk, batch, at);
        let numbers = [at.frames as u32, record.frame, at.other.payload_length];
        let (addresses, version) = at.other.address_bytes(bytes);
        self.put([record.time_ns as u64, at.wire_bytes], numbers, [record.input, number], [tag, version]);
        self.put_bytes(addresses, at.other.payload(bytes));
    }

    /// Adds the tunnels of a flow before its first packet.
    fn push_tunnels(&mut self, chunk: &Chunk, batch: &Batch, at: &OtherAt) {
        if !at.other.is_tunnelled || self.tunnelled.len() >= MOST_FLOWS {
            return;
        }
        let key = FiveTuple::of_packet(&chunk.bytes, &at.other, at.other.udp(&chunk.bytes).as_ref())
            .filter(|key| self.tunnelled.insert(*key));
        if let Some(path) = key.and_then(|_| batch.tunnels_of(at, chunk)) {
            let mut bytes = Vec::new();
            put_path(&mut bytes, &path.list);
            self.put([0; 2], [0; 3], [0; 2], [TUNNELS, 0]);
            self.put_bytes(&[], &bytes);
        }
    }

    /// Adds what came of a datagram that is not whole.
    pub(super) fn push_beginning(&mut self, beginning: &Beginning) {
        let (addresses, version) = match beginning.addresses {
            [IpAddr::V4(from), IpAddr::V4(to)] => ([from.octets(), to.octets()].concat(), 4),
            ends => {
                let octets = ends.map(|end| match end {
                    IpAddr::V4(end) => end.to_ipv6_mapped().octets(),
                    IpAddr::V6(end) => end.octets(),
                });
                (octets.concat(), 6)
            }
        };
        self.put([0; 2], [0; 3], [beginning.input, 0], [BEGINNING, version]);
        self.put_bytes(&addresses, &beginning.bytes);
    }

    fn put(&mut self, long: [u64; 2], numbers: [u32; 3], short: [u16; 2], last: [u8; 2]) {
        if self.bytes.is_empty() {
            self.bytes.extend_from_slice(&[0; HEADER_BYTES]);
        }
        self.frames += 1;
        long.iter().for_each(|value| self.bytes.extend_from_slice(&value.to_le_bytes()));
        numbers.iter().for_each(|value| self.bytes.extend_from_slice(&value.to_le_bytes()));
        short.iter().for_each(|value| self.bytes.extend_from_slice(&value.to_le_bytes()));
        self.bytes.extend_from_slice(&last);
    }

    /// How much of the payload there is, and both.
    fn put_bytes(&mut self, addresses: &[u8], payload: &[u8]) {
        self.bytes.extend_from_slice(&(payload.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(addresses);
        self.bytes.extend_from_slice(payload);
    }

    /// The whole piece; nothing is left of it here. Empty if nothing was added.
    pub(super) fn take(&mut self) -> Vec<u8> {
        let mut piece = std::mem::take(&mut self.bytes);
        let frames = std::mem::take(&mut self.frames);
        let length = piece.len().saturating_sub(HEADER_BYTES) as u32;
        put_header(&mut piece, MAGIC, [frames, length]);
        piece
    }
}

/// The frames of a piece, as decoding gives those of a chunk.
#[derive(Default)]
pub(super) struct FramesPiece {
    /// What they point into, and when each passed.
    pub(super) chunk: Chunk,
    /// What each is.
    pub(super) batch: Batch,
    /// Of datagrams that are not whole.
    pub(super) beginnings: Vec<Beginning>,
}

impl FramesPiece {
    /// Reads the next piece in place of this one; false at the end. Inputs get the numbers that `inputs` has for those of their run.
    ///
    /// # Errors
    /// What the reader says, and [`std::io::ErrorKind::InvalidData`] for what is no piece or a part of one.
    pub(super) fn read(&mut self, reader: &mut dyn Read, inputs: &[u16]) -> std::io::Result<bool> {
        self.chunk.clear();
        self.batch.clear();
        self.beginnings.clear();
        let Some((count, [length])) = read_header(reader, MAGIC)? else { return Ok(false) };
        read_whole(reader, &mut self.chunk.bytes, length)?;
        let mut at = 0;
        for _ in 0..count {
            at = self.take(at, inputs).ok_or_else(|| broken("its frames do not fit together"))?;
        }
        if at == length { Ok(true) } else { Err(broken("it holds more than its frames")) }
    }

    /// Takes the frame that stands at a place; where the next one stands.
    fn take(&mut self, at: usize, inputs: &[u16]) -> Option<usize> {
        let bytes = &self.chunk.bytes;
        let mut numbers = Packed::new(bytes.get(at..at + FRAME_BYTES)?);
        let (time_ns, wire_bytes) = (numbers.i64()?, numbers.u64()?);
        let (frames, frame, payload_length) = (u64::from(numbers.u32()?), numbers.u32()?, numbers.u32()?);
        let (input, number) = (numbers.u16()?, numbers.u16()?);
        let [tag, version] = numbers.bytes()?;
        let captured = numbers.u32()?;
        let input = inputs.get(usize::from(input)).copied().unwrap_or(input);
        let address_offset = (at + FRAME_BYTES) as u32;
        let start = match version {
            4 => address_offset + 8,
            6 => address_offset + 32,
            _ => address_offset,
        };
        let end = start.checked_add(captured)?;
        let payload = bytes.get(start as usize..end as usize)?;
        let kind = match tag {
            IP => OtherKind::Ip(number as u8),
            ETHER_TYPE => OtherKind::EtherType(number),
            BEGINNING => {
                let placed = Other::placed(OtherKind::Unread, version, address_offset, start..end, 0);
                let addresses = placed.addresses(bytes)?;
                self.beginnings.push(Beginning { input, addresses, bytes: payload.to_vec() });
                return Some(end as usize);
            }
            TUNNELS => {
                let path = TunnelPath { list: read_path(&mut Packed::new(payload))? };
                self.batch.known_tunnels.push((self.chunk.records.len() as u32, path));
                return Some(end as usize);
            }
            _ => return None,
        };
        let record = self.chunk.records.len() as u32;
        let is_tunnelled = self.batch.known_tunnels.last().is_some_and(|(of, _)| *of == record);
        let placed = Other::placed(kind, version, address_offset, start..end, payload_length);
        let other = placed.tunnelled(is_tunnelled);
        self.batch.others.push(OtherAt { record, frames, wire_bytes, other });
        let original_length = wire_bytes as u32;
        let (offset, captured_length) = (start, captured);
        let placed = Record { time_ns, frame, input, offset, captured_length, original_length, ..Record::default() };
        self.chunk.records.push(placed);
        Some(end as usize)
    }
}
