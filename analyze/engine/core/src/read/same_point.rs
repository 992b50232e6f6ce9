//! A look ahead at two captures that overlap in time: do they hold the same frames? Then they are one traffic captured
//! at two points, to be analysed apart; else they are two interfaces of one run, to be merged.
//!
//! Frames are identified by what no router changes: addresses, IP identification, ports, sequence and acknowledgement
//! numbers. TTL, checksums and lengths are left out, because routers and offloads rewrite them. Only a rough eye for
//! link layers is needed here; real decoding is `decode`'s.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::link_type;
use crate::read::chunk_source::{ChunkSource, Input};
use crate::read::endian::{Big, u16_at};
use crate::read::file_source::FileSource;
use crate::read::read_error::ReadError;
use crate::read::record::{Chunk, Record};

/// IP frames of each capture that are compared.
const SAMPLE_FRAMES: usize = 20_000;

/// Records that are passed over at most to reach the time where both captures run.
const MAX_SKIPPED: u64 = 5_000_000;

/// Two hosts' clocks may differ by so much and their captures still be compared from the right place.
const CLOCK_SLACK_NS: i64 = 2_000_000_000;

/// How much of two captures is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Overlap {
    /// IP frames looked at in each.
    pub frames: [usize; 2],
    /// Frames that both hold.
    pub shared: usize,
}

impl Overlap {
    /// Shared frames as a share (0..1) of the smaller sample; none if one has no IP frame.
    pub fn share(&self) -> Option<f64> {
        let smaller = self.frames[0].min(self.frames[1]);
        (smaller > 0).then(|| self.shared as f64 / smaller as f64)
    }
}

/// Compares the first frames of two captures from the time on at which both run. The readers are used up: open the
/// files again to analyse them.
///
/// # Errors
/// [`ReadError`] (with input 0 or 1) if one of them cannot be read.
pub fn shared_frames(readers: [Input; 2]) -> Result<Overlap, ReadError> {
    let [first, second] = readers;
    let mut cursors = [Cursor::new(first, 0), Cursor::new(second, 1)];
    let mut start_ns = i64::MIN;
    for cursor in &mut cursors {
        start_ns = start_ns.max(cursor.time_ns()?.unwrap_or(i64::MIN));
    }
    let [a, b] = &mut cursors;
    let from_ns = start_ns.saturating_sub(CLOCK_SLACK_NS);
    let keys = |frames: Vec<(i64, u64)>| frames.into_iter().map(|(_, key)| key);
    Ok(shared(keys(a.sample(from_ns)?.0), keys(b.sample(from_ns)?.0)))
}

fn shared(ours: impl Iterator<Item = u64>, theirs: impl Iterator<Item = u64>) -> Overlap {
    let mut overlap = Overlap::default();
    let mut counts: HashMap<u64, usize> = HashMap::new();
    for key in ours {
        overlap.frames[0] += 1;
        *counts.entry(key).or_default() += 1;
    }
    for key in theirs {
        overlap.frames[1] += 1;
        if let Some(left @ 1..) = counts.get_mut(&key) {
            *left -= 1;
            overlap.shared += 1;
        }
    }
    overlap
}

/// The first IP frames of a capture, kept to be compared with those of many others.
#[derive(Debug)]
pub struct FirstFrames {
    start_ns: i64,
    /// Time and key.
    frames: Vec<(i64, u64)>,
    /// These are all that the capture has.
    are_all: bool,
}

impl FirstFrames {
    /// Reads them. The reader is used up.
    ///
    /// # Errors
    /// [`ReadError`] if it cannot be read.
    pub fn of(reader: Input) -> Result<Self, ReadError> {
        let mut cursor = Cursor::new(reader, 0);
        let start_ns = cursor.time_ns()?.unwrap_or(i64::MIN);
        let (frames, are_all) = cursor.sample(i64::MIN)?;
        Ok(Self { start_ns, frames, are_all })
    }

    /// As [`shared_frames`]; none if one of them has to be read further, to where both run.
    pub fn overlap(&self, other: &Self) -> Option<Overlap> {
        let from_ns = self.start_ns.max(other.start_ns).saturating_sub(CLOCK_SLACK_NS);
        let both = [self, other];
        let may_be_compared = |of: &Self| of.are_all || of.frames.iter().all(|frame| !is_early(frame.0, from_ns));
        if !both.into_iter().all(may_be_compared) {
            return None;
        }
        let [ours, theirs] = both.map(|of| of.frames.iter().filter(|frame| !is_early(frame.0, from_ns)));
        Some(shared(ours.map(|frame| frame.1), theirs.map(|frame| frame.1)))
    }
}

fn is_early(time_ns: i64, from_ns: i64) -> bool {
    time_ns != Record::NO_TIME && time_ns < from_ns
}

/// A capture read record by record.
struct Cursor {
    source: FileSource,
    chunk: Chunk,
    next: usize,
}

impl Cursor {
    fn new(reader: Input, input: u16) -> Self {
        Self { source: FileSource::new(reader, input), chunk: Chunk::default(), next: 0 }
    }

    /// The next record with the bytes of its frame; none at the end.
    fn peek(&mut self) -> Result<Option<(Record, &[u8])>, ReadError> {
        if self.next >= self.chunk.records.len() {
            self.next = 0;
            if !self.source.next_chunk(&mut self.chunk)? {
                return Ok(None);
            }
        }
        let frame = |record: &Record| {
            let start = record.offset as usize;
            self.chunk.bytes.get(start..start + record.captured_length as usize).unwrap_or(&[])
        };
        Ok(self.chunk.records.get(self.next).map(|record| (*record, frame(record))))
    }

    fn time_ns(&mut self) -> Result<Option<i64>, ReadError> {
        Ok(self.peek()?.map(|(record, _)| record.time_ns))
    }

    /// Time and key of the first IP frames from a time on, and whether there are no more.
    fn sample(&mut self, from_ns: i64) -> Result<(Vec<(i64, u64)>, bool), ReadError> {
        let (mut frames, mut skipped) = (Vec::new(), 0);
        while let Some((record, frame)) = self.peek()? {
            if is_early(record.time_ns, from_ns) && skipped < MAX_SKIPPED {
                skipped += 1;
            } else if frames.len() == SAMPLE_FRAMES {
                return Ok((frames, false));
            } else if let Some(key) = frame_key(frame, record.link_type) {
                frames.push((record.time_ns, key));
            }
            self.next += 1;
        }
        Ok((frames, true))
    }
}

/// Hash of what stays the same of an IP packet on its way.
fn frame_key(frame: &[u8], link_type: u16) -> Option<u64> {
    let ip = ip_packet(frame, link_type)?;
    let mut hasher = DefaultHasher::new();
    let (protocol, transport) = match ip.first()? >> 4 {
        4 => {
            // Identification and fragment offset, then both addresses (RFC 791 section 3.1).
            ip.get(4..8)?.hash(&mut hasher);
            ip.get(12..20)?.hash(&mut hasher);
            (*ip.get(9)?, ip.get(usize::from(ip.first()? & 0xf) * 4..)?)
        }
        6 => {
            ip.get(8..40)?.hash(&mut hasher);
            (*ip.get(6)?, ip.get(40..)?)
        }
        _ => return None,
    };
    protocol.hash(&mut hasher);
    match protocol {
        // Ports, sequence and acknowledgement numbers; the window tells pure acknowledgements apart.
        6 => (transport.get(..12)?, transport.get(14..16)?).hash(&mut hasher),
        // Ports, then the start of the payload: lengths and checksums are left out.
        17 => (transport.get(..4)?, transport.get(8..24)).hash(&mut hasher),
        _ => transport.get(..8)?.hash(&mut hasher),
    }
    Some(hasher.finish())
}

/// Where the IP packet starts, for the common link types.
fn ip_packet(frame: &[u8], number: u16) -> Option<&[u8]> {
    match number {
        link_type::ETHERNET => behind_ethertype(frame, 12),
        link_type::LINUX_SLL => behind_ethertype(frame, 14),
        link_type::LINUX_SLL2 => frame.get(20..),
        link_type::NULL | link_type::LOOP => frame.get(4..),
        link_type::RAW | link_type::RAW_BSD | link_type::RAW_OPENBSD => Some(frame),
        link_type::IPV4 | link_type::IPV6 => Some(frame),
        _ => None,
    }
}

/// Skips VLAN tags from the EtherType on.
fn behind_ethertype(frame: &[u8], mut at: usize) -> Option<&[u8]> {
    for _ in 0..4 {
        match u16_at::<Big>(frame, at)? {
            0x0800 | 0x86dd => return frame.get(at + 2..),
            0x8100 | 0x88a8 | 0x9100 => at += 4,
            _ => return None,
        }
    }
    None
}
