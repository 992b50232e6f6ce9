//! What has passed one of two capture points, until the other shows it, too.
//!
//! What its sender says in a packet (TSval, numbers, identification) is the same at both points. Between them frames may be cut, or
//! segments joined: a frame is the copy of another as far as its bytes, and its identification, are those of the other's segments.
//!
//! [`crate::analysis::points_apart`] measures with it, [`crate::analysis::pairs`] says with it which frames are of which point.

use std::collections::VecDeque;

use crate::decode::hash::GOLDEN;
use crate::keyed::KeyedMap;
use crate::packet::{Packet, option_bits, tcp_flags};
use crate::read::record::Record;
use crate::tcp::stats::sequence::serial_difference;

/// Packets that are remembered to find their copies, at most.
const MOST_REMEMBERED: u64 = 1 << 20;

/// Of packets that say the same so many are compared, at most.
const MOST_COMPARED: usize = 512;

/// Data is looked for by sequence numbers without so many bits.
const STRETCH_BITS: u32 = 17;

/// No segment of several in one frame is smaller: hosts that know no better send such (RFC 9293 section 3.7.1).
const SMALLEST_SEGMENT: u32 = 512;

/// A capture point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Point {
    /// One of them.
    First,
    /// The other.
    Second,
}

impl Point {
    pub(crate) fn other(self) -> Self {
        if self == Self::First { Self::Second } else { Self::First }
    }
}

/// A packet, and where and when it passed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CopiedPacket {
    pub(crate) time_ns: i64,
    /// Its number among all packets.
    pub(crate) order: u64,
    /// What its sender says in it, but for numbers of data.
    voice: u64,
    pub(crate) frame: u32,
    pub(crate) sequence: u32,
    pub(crate) length: u32,
    /// So much of it has no copy yet.
    pub(crate) left: u32,
    pub(crate) input: u16,
    pub(crate) interface: u16,
    pub(crate) ip_id: u16,
    pub(crate) ttl: u8,
    pub(crate) has_timestamp: bool,
    /// It brings what had not passed before: data, or an acknowledgement.
    pub(crate) is_new: bool,
    /// Where it passed, if it was compared with another.
    pub(crate) point: Option<Point>,
}

impl CopiedPacket {
    pub(crate) fn of(record: &Record, packet: &Packet, bytes: &[u8], order: u64) -> Self {
        let Record { time_ns, input, interface, frame, .. } = *record;
        Self {
            time_ns,
            order,
            voice: voice_of(packet, bytes),
            frame,
            sequence: packet.sequence,
            length: packet.payload_length,
            left: packet.payload_length.max(1),
            input,
            interface,
            ip_id: packet.ip_id,
            ttl: packet.ttl,
            has_timestamp: packet.timestamp().is_some(),
            is_new: false,
            point: None,
        }
    }

    pub(crate) fn ns_before(&self, later: &Self) -> i64 {
        later.time_ns.saturating_sub(self.time_ns)
    }

    pub(crate) fn packets_before(&self, later: &Self) -> u64 {
        later.order.saturating_sub(self.order)
    }

    /// All that its sender says in it.
    pub(crate) fn identity(&self) -> u64 {
        mix(mix(self.voice, u64::from(self.sequence) << 32 | u64::from(self.length)), u64::from(self.ip_id))
    }

    /// It is of a share of all packets, and with it its copies, wherever they passed.
    pub(crate) fn is_one_of(&self, every: u64) -> bool {
        (mix(self.voice, u64::from(self.sequence >> STRETCH_BITS)) >> 32).is_multiple_of(every)
    }

    /// Where it is looked for.
    fn stretches(&self) -> impl Iterator<Item = u64> + use<> {
        let (voice, from) = (self.voice, self.sequence >> STRETCH_BITS);
        let to = self.sequence.wrapping_add(self.length.saturating_sub(1)) >> STRETCH_BITS;
        let number = if self.length == 0 { 0 } else { to.wrapping_sub(from) & (u32::MAX >> STRETCH_BITS) };
        (0..=number).map(move |index| mix(voice, u64::from(from.wrapping_add(index) & (u32::MAX >> STRETCH_BITS))))
    }

    /// Bytes that both carry, 1 for packets without data; 0 if the other is no copy of this.
    fn in_common(&self, other: &Self) -> u32 {
        if self.voice != other.voice {
            return 0;
        }
        let offset = serial_difference(other.sequence, self.sequence);
        if self.length == 0 || other.length == 0 {
            return u32::from(self.length == other.length && offset == 0 && self.ip_id == other.ip_id);
        }
        let (from, to) = (offset.max(0), (i64::from(offset) + i64::from(other.length)).min(i64::from(self.length)));
        let in_common = u32::try_from(to - i64::from(from)).unwrap_or(0);
        if is_number_of_segment(other.ip_id.wrapping_sub(self.ip_id) as i16, offset) { in_common } else { 0 }
    }
}

/// The sender counts its segments so.
fn is_number_of_segment(counted: i16, offset: i32) -> bool {
    let is_one_way = (offset > 0) == (counted > 0) && offset != 0;
    let (counted, offset) = (u32::from(counted.unsigned_abs()), offset.unsigned_abs());
    // All segments before the last are of one size.
    counted == 0 || is_one_way && offset.is_multiple_of(counted) && offset >= counted * SMALLEST_SEGMENT
}

fn mix(mixed: u64, word: u64) -> u64 {
    (mixed.rotate_left(23) ^ word).wrapping_mul(GOLDEN)
}

/// What a sender says in a packet that routers and offloads leave as it is.
fn voice_of(packet: &Packet, bytes: &[u8]) -> u64 {
    let has_data = packet.payload_length > 0;
    let told = if has_data { tcp_flags::RST } else { tcp_flags::SYN | tcp_flags::FIN | tcp_flags::RST };
    let stamps = packet.timestamp().map_or(0, |tsval| u64::from(tsval) << 32 | u64::from(packet.tsecr));
    let words = [
        packet.address_key,
        u64::from(packet.ports) << 32 | u64::from(packet.acknowledgement),
        u64::from(packet.window) << 32 | u64::from(packet.flags & told) << 1 | u64::from(has_data),
        stamps,
    ];
    let mixed = words.into_iter().fold(0, mix);
    if has_data || packet.options & option_bits::OTHERS == 0 {
        return mixed;
    }
    // Acknowledgements that report different blocks are different.
    let options = bytes.get(packet.options_offset as usize..).unwrap_or_default();
    let captured = options.get(..usize::from(packet.options_captured)).unwrap_or_default();
    captured.iter().fold(mixed, |mixed, byte| mix(mixed, u64::from(*byte)))
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    /// By order.
    ring: VecDeque<CopiedPacket>,
    /// Order of the first of them.
    oldest: u64,
    by_stretch: KeyedMap<u64, VecDeque<u64>>,
    /// A packet without a copy was forgotten.
    pub(crate) forgot: bool,
}

impl Copies {
    /// Remembers a packet of the next order.
    pub(crate) fn remember(&mut self, passed: CopiedPacket) {
        let index = self.oldest + self.ring.len() as u64;
        self.ring.push_back(passed);
        for stretch in passed.stretches() {
            let places = self.by_stretch.entry(stretch).or_default();
            places.push_back(index);
            if places.len() > MOST_COMPARED {
                places.pop_front();
                self.forgot = true;
            }
        }
        if self.ring.len() as u64 > MOST_REMEMBERED {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        let Some(oldest) = self.ring.pop_front() else { return };
        self.oldest += 1;
        self.forgot |= oldest.left > 0;
        for stretch in oldest.stretches() {
            let Some(places) = self.by_stretch.get_mut(&stretch) else { continue };
            while places.front().is_some_and(|index| *index < self.oldest) {
                places.pop_front();
            }
            if places.is_empty() {
                self.by_stretch.remove(&stretch);
            }
        }
    }

    /// The packet of which `passing` is a copy, or a part, or which is a part of it; of several the one for which `apart` is least. What they
    /// have in common is then no longer left in either.
    pub(crate) fn take(
        &mut self,
        passing: &mut CopiedPacket,
        apart: &dyn Fn(&CopiedPacket) -> Option<u64>,
    ) -> Option<CopiedPacket> {
        let mut best: Option<(u64, u64)> = None;
        for stretch in passing.stretches() {
            let Some(places) = self.by_stretch.get_mut(&stretch) else { continue };
            let (ring, oldest) = (&self.ring, self.oldest);
            let is_left = |index: &u64| {
                index.checked_sub(oldest).and_then(|at| ring.get(at as usize)).is_some_and(|passed| passed.left > 0)
            };
            places.retain(is_left);
            for &index in places.iter() {
                let passed = &ring[(index - oldest) as usize];
                if passed.in_common(passing) > 0
                    && let Some(apart) = apart(passed)
                    && best.is_none_or(|(least, _)| apart < least)
                {
                    best = Some((apart, index));
                }
            }
        }
        let passed = self.ring.get_mut(best?.1.checked_sub(self.oldest)? as usize)?;
        let in_common = passed.in_common(passing).min(passed.left).min(passing.left);
        passed.left -= in_common;
        passing.left -= in_common;
        Some(*passed)
    }
}

pub(crate) fn sorted(mut values: Vec<i64>) -> Vec<i64> {
    values.sort_unstable();
    values
}

/// The value that so many per cent of the sorted values do not exceed.
pub(crate) fn share_of(sorted_ns: &[i64], per_cent: usize) -> i64 {
    sorted_ns.get(sorted_ns.len().saturating_sub(1) * per_cent / 100).copied().unwrap_or(0)
}
