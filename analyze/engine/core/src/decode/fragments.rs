//! IP fragments to datagrams (RFC 791 section 3.2, RFC 8200 section 4.5), within bounds of memory and age.
//!
//! TCP avoids fragments, so they are rare and this need not be fast. What must hold: each frame is counted once; a
//! datagram's length comes from its fragments' headers, so that fragments which the snap length cut still give their
//! segment; no input makes it hold more than the bounds below.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;

use crate::decode::ip_header::{Fragment, FragmentKey, LONGEST_DATAGRAM};
use crate::decode::numbers::protocol;
use crate::decode::other::Other;
use crate::decode::reason::{CountsByInput, Undecoded};
use crate::decode::walk;
use crate::decode::walk::WalkEnd;
use crate::link_type;
use crate::packet::{Packet, tcp_flags};
use crate::read::record::Record;

/// Age at which a datagram is given up, nanoseconds: what Linux allows by default (ipfrag_time).
const MAXIMUM_AGE_NS: i64 = 30_000_000_000;

/// Datagrams collected at a time.
const MAXIMUM_DATAGRAMS: usize = 4096;

/// Memory held for all of them, bytes.
const MAXIMUM_BYTES: usize = 16 << 20;

/// What a piece takes apart from its captured bytes: itself and the allocator's share, rounded up.
const PIECE_BYTES: usize = 64;

/// Pieces of one datagram; the smallest MTU of IPv4, 68 bytes, makes 1366 of a full one.
const MAXIMUM_PIECES: usize = 2048;

/// Fragmented datagrams within fragmented datagrams that are followed.
const MAXIMUM_NESTING: usize = 8;

/// UDP datagrams given up whose beginnings are kept.
const MAXIMUM_BEGINNINGS: usize = 1024;

/// Bytes that are kept of each.
const BEGINNING_BYTES: usize = 320;

/// What came of a UDP datagram of which other fragments did not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beginning {
    /// Number of the input file.
    pub input: u16,
    /// Source and destination.
    pub addresses: [IpAddr; 2],
    /// Header and content of UDP.
    pub bytes: Vec<u8>,
}

/// A stretch of a datagram's payload.
#[derive(Debug, Clone)]
struct FragmentPiece {
    start: u32,
    /// Just behind the last byte on the wire.
    end: u32,
    /// The captured bytes, from `start` on.
    data: Vec<u8>,
}

/// Frames that went into something, and their length on the wire.
#[derive(Debug, Clone, Copy)]
struct FragmentFrames {
    count: u64,
    wire_length: u32,
}

/// A datagram being collected.
#[derive(Debug, Clone)]
struct Partial {
    /// Tells it from an earlier one of the same key.
    serial: u64,
    frames: FragmentFrames,
    /// IP header with the fields of an unfragmented datagram still to be set; empty until the first fragment came.
    header: Vec<u8>,
    next_header_at: usize,
    protocol: u8,
    version: u8,
    /// Sorted, without overlap.
    pieces: Vec<FragmentPiece>,
    /// Payload length, once the last fragment came.
    end: Option<u32>,
    held_bytes: usize,
}

impl Partial {
    /// Takes what the fragment brings that was not there before; `true` if it contradicts earlier ones.
    fn insert(&mut self, fragment: &Fragment<'_>) -> bool {
        let (start, end) = (fragment.start, fragment.end());
        let seen_end = self.pieces.last().map_or(0, |piece| piece.end);
        let beyond = self.end.is_some_and(|known| end > known || (!fragment.more && end != known));
        if beyond || (!fragment.more && end < seen_end) {
            return true;
        }
        if !fragment.more {
            self.end = Some(end);
        }
        if start == 0 && self.header.is_empty() {
            self.header = fragment.header.to_vec();
            self.next_header_at = fragment.next_header_at;
            self.protocol = fragment.protocol;
        }
        let repeated = self.pieces.iter().any(|piece| (piece.start, piece.end) == (start, end));
        let gaps = self.gaps(start, end);
        let overlap = !repeated && gaps != [(start, end)];
        for (from, to) in gaps {
            let (skip, length) = ((from - start) as usize, (to - from) as usize);
            let data = fragment.payload.data.get(skip..).unwrap_or_default();
            let data = data.get(..length).unwrap_or(data).to_vec();
            self.held_bytes += data.len() + PIECE_BYTES;
            self.pieces.push(FragmentPiece { start: from, end: to, data });
        }
        self.pieces.sort_by_key(|piece| piece.start);
        overlap
    }

    /// The parts of `start..end` that no piece covers.
    fn gaps(&self, start: u32, end: u32) -> Vec<(u32, u32)> {
        let mut gaps = Vec::new();
        let mut at = start;
        for piece in self.pieces.iter().filter(|piece| piece.end > start && piece.start < end) {
            if at < piece.start {
                gaps.push((at, piece.start));
            }
            at = at.max(piece.end);
        }
        if at < end {
            gaps.push((at, end));
        }
        gaps
    }

    /// Of UDP, if the first fragment came.
    fn beginning(&self, input: u16) -> Option<Beginning> {
        let first = self.pieces.first().filter(|piece| piece.start == 0 && self.protocol == protocol::UDP)?;
        let addresses = match self.version {
            4 => [12, 16].map(|at| Some(IpAddr::from(*self.header.get(at..)?.first_chunk::<4>()?))),
            _ => [8, 24].map(|at| Some(IpAddr::from(*self.header.get(at..)?.first_chunk::<16>()?))),
        };
        let [source, destination] = addresses;
        let bytes = first.data.get(..BEGINNING_BYTES).unwrap_or(&first.data).to_vec();
        Some(Beginning { input, addresses: [source?, destination?], bytes })
    }

    fn complete(&self) -> bool {
        self.end.is_some_and(|end| !self.header.is_empty() && self.gaps(0, end).is_empty())
    }

    /// Appends the datagram to `bytes` as if it had never been fragmented, as far as it was captured without a hole.
    /// Returns its length on the wire, or none where that is impossible.
    fn append(&self, bytes: &mut Vec<u8>) -> Option<u32> {
        let payload_length = self.end?;
        let header_length = u32::try_from(self.header.len()).ok()?;
        let total = header_length + payload_length;
        if total > LONGEST_DATAGRAM || bytes.len() + total as usize > u32::MAX as usize {
            return None;
        }
        let at = bytes.len();
        bytes.extend_from_slice(&self.header);
        let header = bytes.get_mut(at..)?;
        *header.get_mut(self.next_header_at)? = self.protocol;
        if self.version == 4 {
            header.get_mut(2..4)?.copy_from_slice(&(total as u16).to_be_bytes());
            header.get_mut(6..8)?.fill(0);
        } else {
            let length = total.checked_sub(40)? as u16;
            header.get_mut(4..6)?.copy_from_slice(&length.to_be_bytes());
        }
        for piece in &self.pieces {
            bytes.extend_from_slice(&piece.data);
            if piece.data.len() < (piece.end - piece.start) as usize {
                break;
            }
        }
        Some(total)
    }
}

impl FragmentFrames {
    fn joined(self, other: Other) -> Joined {
        Joined::Other { other, frames: self.count, wire_bytes: u64::from(self.wire_length) }
    }
}

/// What fragments gave together.
#[derive(Debug)]
pub enum Joined {
    /// A TCP segment.
    Tcp(Packet),
    /// Anything else.
    Other {
        /// What it is.
        other: Other,
        /// Fragments that it came in.
        frames: u64,
        /// Their length on the wire.
        wire_bytes: u64,
    },
}

/// What became of a fragment.
enum Insertion {
    Waiting,
    Complete(Partial),
}

/// Collects fragments over all chunks, in the order of reading. Each input has datagrams of its own.
#[derive(Debug, Clone, Default)]
pub struct Reassembler {
    partials: HashMap<FragmentKey, Partial>,
    /// Keys by age, with the serial number and the time of the first fragment seen.
    queue: VecDeque<(FragmentKey, u64, i64)>,
    serial: u64,
    held_bytes: usize,
    overlaps: u64,
    joined: u64,
    given_up_frames: u64,
    given_up_bytes: u64,
    beginnings: Vec<Beginning>,
}

impl Reassembler {
    /// A reassembler that holds nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Fragments that overlapped earlier ones or contradicted them; what came first was kept (RFC 5722 calls such
    /// datagrams an attack).
    #[must_use]
    pub fn overlaps(&self) -> u64 {
        self.overlaps
    }

    /// Datagrams that were put together.
    #[must_use]
    pub fn joined(&self) -> u64 {
        self.joined
    }

    /// Fragments of datagrams that never were complete, and their bytes on the wire.
    #[must_use]
    pub fn given_up(&self) -> [u64; 2] {
        [self.given_up_frames, self.given_up_bytes]
    }

    /// Beginnings of UDP datagrams that never were complete, the first of them.
    #[must_use]
    pub fn beginnings(&self) -> &[Beginning] {
        &self.beginnings
    }

    /// Datagrams that wait for more fragments.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.partials.len() as u64
    }

    /// Takes the frame of a record that decoding called a fragment. The packet, once its datagram is complete, has the
    /// time and frame number of this record and the wire length of all fragment frames together; `bytes` then have the
    /// datagram at their end. All other frames go into `counts`, where it is known what became of them.
    pub fn push(&mut self, bytes: &mut Vec<u8>, record: &Record, counts: &mut CountsByInput) -> Option<Joined> {
        let mut record = *record;
        let mut frames = FragmentFrames { count: 1, wire_length: record.original_length.max(record.captured_length) };
        // Where the latest datagram's IPv6 source address stands, and the identification its fragments had.
        let mut joined_v6 = None;
        // More than once only where a tunnel was fragmented and its content, too.
        for _ in 0..MAXIMUM_NESTING {
            let fragment = match walk::frame(bytes, &record) {
                Ok(WalkEnd::Fragment(fragment)) => fragment,
                Ok(WalkEnd::Readdressed(ends)) => {
                    ends.write(bytes);
                    continue;
                }
                Ok(WalkEnd::Tcp(mut packet, _)) => {
                    counts.add(record.input, Undecoded::FragmentJoined, frames.count - 1);
                    packet.wire_length = frames.wire_length;
                    if frames.count > 1 {
                        packet.flags |= tcp_flags::IN_FRAGMENTS;
                    }
                    if let Some((address_offset, identification)) = joined_v6
                        && address_offset == packet.address_offset
                    {
                        packet.ip_id = identification;
                    }
                    return Some(Joined::Tcp(packet));
                }
                Ok(WalkEnd::Other(other)) => {
                    counts.add(record.input, other.reason, frames.count);
                    return Some(frames.joined(other));
                }
                Err(reason) => {
                    counts.add(record.input, reason, frames.count);
                    return Some(frames.joined(Other::unread(reason)));
                }
            };
            let identification = fragment.identification;
            let Insertion::Complete(whole) = self.insert(&fragment, &record, frames, counts) else { return None };
            frames = whole.frames;
            let at = bytes.len();
            let Some(total) = whole.append(bytes) else {
                bytes.truncate(at);
                counts.add(record.input, Undecoded::BadIpHeader, frames.count);
                return Some(frames.joined(Other::unread(Undecoded::BadIpHeader)));
            };
            record.offset = at as u32;
            record.captured_length = (bytes.len() - at) as u32;
            record.original_length = total;
            record.link_type = link_type::RAW;
            record.fcs_length = 0;
            self.joined += 1;
            joined_v6 = (whole.version == 6).then(|| (record.offset.wrapping_add(8), identification as u16));
        }
        counts.add(record.input, Undecoded::TunnelTooDeep, frames.count);
        Some(frames.joined(Other::unread(Undecoded::TunnelTooDeep)))
    }

    /// Gives up what is still incomplete, at the end of all inputs.
    pub fn finish(&mut self, counts: &mut CountsByInput) {
        let keys: Vec<FragmentKey> = self.partials.keys().copied().collect();
        keys.iter().for_each(|key| self.give_up(key, counts));
        self.queue.clear();
        self.held_bytes = 0;
    }

    fn insert(
        &mut self,
        fragment: &Fragment<'_>,
        record: &Record,
        frames: FragmentFrames,
        counts: &mut CountsByInput,
    ) -> Insertion {
        self.expire(record.time_ns, counts);
        let key = fragment.key(record.input);
        if !self.partials.contains_key(&key) {
            self.start(key, fragment, record.time_ns, counts);
        }
        let Some(partial) = self.partials.get_mut(&key) else { return Insertion::Waiting };
        partial.frames.count += frames.count;
        partial.frames.wire_length = partial.frames.wire_length.saturating_add(frames.wire_length);
        let held_before = partial.held_bytes;
        self.overlaps += u64::from(partial.insert(fragment));
        self.held_bytes += partial.held_bytes - held_before;
        let too_many = partial.pieces.len() > MAXIMUM_PIECES;
        if partial.complete() {
            return self.remove(&key).map_or(Insertion::Waiting, Insertion::Complete);
        }
        if too_many {
            self.give_up(&key, counts);
        }
        while self.held_bytes > MAXIMUM_BYTES && self.give_up_oldest(counts) {}
        Insertion::Waiting
    }

    fn start(&mut self, key: FragmentKey, fragment: &Fragment<'_>, time_ns: i64, counts: &mut CountsByInput) {
        while self.partials.len() >= MAXIMUM_DATAGRAMS && self.give_up_oldest(counts) {}
        self.serial += 1;
        self.queue.push_back((key, self.serial, time_ns));
        let partial = Partial {
            serial: self.serial,
            frames: FragmentFrames { count: 0, wire_length: 0 },
            header: Vec::new(),
            next_header_at: 0,
            protocol: fragment.protocol,
            version: key.version,
            pieces: Vec::new(),
            end: None,
            held_bytes: 0,
        };
        self.partials.insert(key, partial);
    }

    fn expire(&mut self, now_ns: i64, counts: &mut CountsByInput) {
        while let Some(&(key, serial, time_ns)) = self.queue.front() {
            let current = self.partials.get(&key).is_some_and(|partial| partial.serial == serial);
            if current && now_ns.saturating_sub(time_ns) <= MAXIMUM_AGE_NS {
                return;
            }
            self.queue.pop_front();
            if current {
                self.give_up(&key, counts);
            }
        }
    }

    /// Makes room; `false` if there is nothing left to give up.
    fn give_up_oldest(&mut self, counts: &mut CountsByInput) -> bool {
        let Some((key, serial, _)) = self.queue.pop_front() else { return false };
        if self.partials.get(&key).is_some_and(|partial| partial.serial == serial) {
            self.give_up(&key, counts);
        }
        true
    }

    fn give_up(&mut self, key: &FragmentKey, counts: &mut CountsByInput) {
        if let Some(partial) = self.remove(key) {
            let FragmentFrames { count, wire_length } = partial.frames;
            counts.add(key.input, Undecoded::FragmentIncomplete, count);
            self.given_up_frames += count;
            self.given_up_bytes += u64::from(wire_length);
            if self.beginnings.len() < MAXIMUM_BEGINNINGS {
                self.beginnings.extend(partial.beginning(key.input));
            }
        }
    }

    fn remove(&mut self, key: &FragmentKey) -> Option<Partial> {
        let partial = self.partials.remove(key)?;
        self.held_bytes = self.held_bytes.saturating_sub(partial.held_bytes);
        Some(partial)
    }
}
