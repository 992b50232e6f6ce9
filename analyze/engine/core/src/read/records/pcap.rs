//! The classic pcap file: its header and its record headers (draft-ietf-opsawg-pcap). Walking and damage are
//! `records`'.

use super::super::endian::{Big, Endian, Little, array_at, u16_at, u32_at};
use super::super::ledger::Ledger;
use super::super::walk::{MAX_FRAME_BYTES, Walk};
use super::{Declared, Header, Layout, RecordWalk};
use std::marker::PhantomData;

/// Bytes of the file header.
pub(in super::super) const FILE_HEADER_BYTES: usize = 24;

const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;
/// Alexey Kuznetsov's libpcap of the 1990s: eight more bytes in each record header.
const MODIFIED: u32 = 0xa1b2_cd34;
/// `f` bit of the link type field: the upper four bits are valid.
const FCS_PRESENT: u32 = 1 << 26;

/// In which order a record header names its two lengths.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lengths {
    /// Captured, then original: as it should be.
    Usual,
    /// The other way round, as before version 2.3.
    Swapped,
    /// Version 2.3 was written both ways: captured is the smaller.
    SmallerIsCaptured,
}

struct Classic<E, const HEADER: usize> {
    lengths: Lengths,
    order: PhantomData<fn() -> E>,
}

impl<E: Endian, const HEADER: usize> Layout for Classic<E, HEADER> {
    const HEADER_BYTES: usize = HEADER;

    #[inline(always)]
    fn header_at(&self, bytes: &[u8], at: usize) -> Option<Header> {
        let raw: &[u8; HEADER] = array_at(bytes, at)?;
        let (mut captured, mut original) = (u32_at::<E>(raw, 8)?, u32_at::<E>(raw, 12)?);
        if self.lengths != Lengths::Usual && (self.lengths == Lengths::Swapped || captured > original) {
            (captured, original) = (original, captured);
        }
        Some(Header {
            seconds: u32_at::<E>(raw, 0)?,
            fraction: u32_at::<E>(raw, 4)?,
            captured,
            original,
            record_bytes: HEADER + captured as usize,
        })
    }
}

/// True if a file that starts with these bytes is a classic pcap file.
pub(in super::super) fn is_magic(head: &[u8]) -> bool {
    let known = |magic| matches!(magic, MICROSECONDS | NANOSECONDS | MODIFIED);
    u32_at::<Little>(head, 0).is_some_and(known) || u32_at::<Big>(head, 0).is_some_and(known)
}

/// Reads the file header of a file with the right magic; none if it is cut short.
pub(in super::super) fn open(header: &[u8], input: u16, ledger: &mut Ledger) -> Option<Box<dyn Walk>> {
    match u32_at::<Little>(header, 0)? {
        MICROSECONDS | NANOSECONDS | MODIFIED => open_ordered::<Little>(header, input, ledger),
        _ => open_ordered::<Big>(header, input, ledger),
    }
}

fn open_ordered<E: Endian + 'static>(header: &[u8], input: u16, ledger: &mut Ledger) -> Option<Box<dyn Walk>> {
    let magic = u32_at::<E>(header, 0)?;
    let lengths = match (u16_at::<E>(header, 4)?, u16_at::<E>(header, 6)?) {
        (2, 0..=2) | (543, _) => Lengths::Swapped,
        (2, 3) => Lengths::SmallerIsCaptured,
        // Other versions have never been written; whether the file is read right shows in its records.
        _ => Lengths::Usual,
    };
    let snap_length = u32_at::<E>(header, 16)?;
    let network = u32_at::<E>(header, 20)?;
    let declared = Declared {
        // Bits 16..26 held a "class" once, bits 26..32 tell of the frame check sequence in 16-bit words.
        link_type: (network & 0xffff) as u16,
        fcs_length: if network & FCS_PRESENT != 0 { (network >> 28) as u8 * 2 } else { 0 },
        snap_length,
        units_per_second: if magic == NANOSECONDS { 1_000_000_000 } else { 1_000_000 },
    };
    let unlimited = snap_length == 0 || snap_length > MAX_FRAME_BYTES;
    let resolution_ns = 1_000_000_000 / u64::from(declared.units_per_second);
    ledger.facts.format = "pcap";
    ledger.interface(declared.link_type, (!unlimited).then_some(snap_length), resolution_ns);
    let order = PhantomData;
    Some(if magic == MODIFIED {
        Box::new(RecordWalk::new(Classic::<E, 24> { lengths, order }, declared, input))
    } else {
        Box::new(RecordWalk::new(Classic::<E, 16> { lengths, order }, declared, input))
    })
}
