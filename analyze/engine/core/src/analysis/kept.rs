//! The last packets of a stream, as blocks of a pcapng file: those of so many bytes, or of so much time.

use std::collections::VecDeque;

use crate::read::record::{Chunk, Record};

/// A piece is dropped as a whole: so much of it at most.
const PIECE_BYTES: usize = 256 << 10;

/// What is kept.
#[derive(Debug, Clone, Copy, Default)]
pub struct Keep {
    /// So many bytes at most; 0: nothing.
    pub bytes: usize,
    /// Of them what passed in this time, nanoseconds; none: all.
    pub time_ns: Option<i64>,
}

#[derive(Debug, Clone)]
struct KeptPiece {
    last_ns: i64,
    blocks: Vec<u8>,
}

/// See the module.
#[derive(Debug, Clone)]
pub(super) struct KeptRecords {
    keep: Keep,
    pieces: VecDeque<KeptPiece>,
    bytes: usize,
    /// Link types in the order of their interfaces in the file.
    link_types: Vec<u16>,
}

impl KeptRecords {
    pub(super) fn new(keep: Keep) -> Self {
        Self { keep, pieces: VecDeque::new(), bytes: 0, link_types: Vec::new() }
    }

    /// Keeps the packets of a chunk.
    pub(super) fn chunk(&mut self, chunk: &Chunk) {
        if self.keep.bytes == 0 {
            return;
        }
        for record in &chunk.records {
            let start = record.offset as usize;
            let frame = chunk.bytes.get(start..start + record.captured_length as usize).unwrap_or(&[]);
            let interface = self.interface(record.link_type);
            if self.pieces.back().is_none_or(|piece| piece.blocks.len() >= PIECE_BYTES) {
                self.pieces.push_back(KeptPiece { last_ns: i64::MIN, blocks: Vec::new() });
            }
            if let Some(piece) = self.pieces.back_mut() {
                let before = piece.blocks.len();
                put_packet(&mut piece.blocks, interface, record, frame);
                piece.last_ns = piece.last_ns.max(record.time_ns);
                self.bytes += piece.blocks.len() - before;
            }
        }
        let newest_ns = self.pieces.back().map_or(i64::MIN, |piece| piece.last_ns);
        let first_ns = self.keep.time_ns.map_or(i64::MIN, |time_ns| newest_ns.saturating_sub(time_ns));
        while self.pieces.len() > 1
            && let Some(piece) = self.pieces.front()
            && (self.bytes > self.keep.bytes || piece.last_ns < first_ns)
        {
            self.bytes -= piece.blocks.len();
            self.pieces.pop_front();
        }
    }

    fn interface(&mut self, link_type: u16) -> u32 {
        let known = self.link_types.iter().position(|known| *known == link_type);
        known.unwrap_or_else(|| {
            self.link_types.push(link_type);
            self.link_types.len() - 1
        }) as u32
    }

    /// The file.
    pub(super) fn file(&self) -> Vec<u8> {
        let mut file = Vec::with_capacity(self.bytes + 64 * (self.link_types.len() + 1));
        let mut section = Vec::new();
        section.extend(BYTE_ORDER.to_le_bytes());
        section.extend([1, 0, 0, 0]);
        section.extend(u64::MAX.to_le_bytes());
        put_block(&mut file, SECTION, &[&section]);
        for link_type in &self.link_types {
            let mut interface = Vec::new();
            interface.extend(u32::from(*link_type).to_le_bytes());
            interface.extend(0u32.to_le_bytes());
            // Times in nanoseconds; end of the options.
            interface.extend([9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
            put_block(&mut file, INTERFACE, &[&interface]);
        }
        self.pieces.iter().for_each(|piece| file.extend(&piece.blocks));
        file
    }
}

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;

fn put_packet(out: &mut Vec<u8>, interface: u32, record: &Record, frame: &[u8]) {
    let time_ns = record.time_ns.max(0) as u64;
    let mut head = [0; 20];
    let words = [interface, (time_ns >> 32) as u32, time_ns as u32, frame.len() as u32, record.original_length];
    for (place, word) in head.as_chunks_mut::<4>().0.iter_mut().zip(words) {
        *place = word.to_le_bytes();
    }
    put_block(out, PACKET, &[&head, frame]);
}

fn put_block(out: &mut Vec<u8>, kind: u32, parts: &[&[u8]]) {
    let length = parts.iter().map(|part| part.len()).sum::<usize>();
    let padded = length.next_multiple_of(4);
    let total = (padded as u32 + 12).to_le_bytes();
    out.extend(kind.to_le_bytes());
    out.extend(total);
    parts.iter().for_each(|part| out.extend(*part));
    out.resize(out.len() + padded - length, 0);
    out.extend(total);
}
