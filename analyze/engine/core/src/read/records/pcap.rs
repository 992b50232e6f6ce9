//! The classic pcap file: its header and its record headers (draft-ietf-opsawg-pcap). Walking and damage are
//! `records`'.
//!
//! Patched libpcaps of the 1990s made record headers longer, some without another magic number: Red Hat 6.1 (24 bytes) and
//! Nokia's firewalls (20) wrote the standard one, SuSE 6.3 (28) that of the others with 24. What was added stands behind the
//! usual four numbers, so that the first record tells nothing: a layout is taken by where it finds those after it.
//!
//! Rule: docs/methods.md, "Length of record headers".

use std::marker::PhantomData;

use crate::read::endian::{Big, Endian, Little, array_at, u16_at, u32_at};
use crate::read::ledger::InputLedger;
use crate::read::records::layout::{Declared, Header, Layout};
use crate::read::records::record_walk::RecordWalk;
use crate::read::walk::{BytesAtHand, Walk};

/// Bytes of the file header.
pub(in crate::read) const FILE_HEADER_BYTES: usize = 24;

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

    fn file_header_at(&self, bytes: &[u8], at: usize) -> Result<Option<(Declared, usize)>, usize> {
        // The longer record headers of the 1990s are left out: nobody strings such files together any more.
        let known = |magic| HEADER == 16 && matches!(magic, MICROSECONDS | NANOSECONDS);
        if self.lengths != Lengths::Usual || !u32_at::<E>(bytes, at).is_some_and(known) {
            return Ok(None);
        }
        // What follows must be known, too: whether there is a record does not depend on where the window ends.
        let header = array_at(bytes, at).filter(|_| bytes.len() >= at + FILE_HEADER_BYTES + HEADER);
        let header = header.ok_or(FILE_HEADER_BYTES + HEADER)?;
        // Version, and two fields that are always 0: with the magic number no accident.
        let is_usual = (u16_at::<E>(header, 4), u16_at::<E>(header, 6)) == (Some(2), Some(4))
            && header.get(8..16).is_some_and(|rest| rest == [0; 8]);
        Ok(file_header::<E>(header).filter(|_| is_usual).map(|(_, _, declared)| (declared, FILE_HEADER_BYTES)))
    }
}

/// True if a file that starts with these bytes is a classic pcap file.
pub(in crate::read) fn is_magic(head: &[u8]) -> bool {
    let known = |magic| matches!(magic, MICROSECONDS | NANOSECONDS | MODIFIED);
    u32_at::<Little>(head, 0).is_some_and(known) || u32_at::<Big>(head, 0).is_some_and(known)
}

/// Reads the file header of a file with the right magic, and enough of the first records to tell how long their headers
/// are; an error says how many bytes from the start of the file that takes, if it has not ended before.
pub(in crate::read) fn open(
    head: &[u8],
    at_end: bool,
    input: u16,
    ledger: &mut InputLedger,
) -> Result<Box<dyn Walk>, usize> {
    match u32_at::<Little>(head, 0) {
        Some(MICROSECONDS | NANOSECONDS | MODIFIED) => open_ordered::<Little>(head, at_end, input, ledger),
        _ => open_ordered::<Big>(head, at_end, input, ledger),
    }
}

fn open_ordered<E: Endian + 'static>(
    head: &[u8],
    at_end: bool,
    input: u16,
    ledger: &mut InputLedger,
) -> Result<Box<dyn Walk>, usize> {
    let (header, records) = head.split_first_chunk::<FILE_HEADER_BYTES>().ok_or(FILE_HEADER_BYTES)?;
    let (magic, lengths, declared) = file_header::<E>(header).ok_or(FILE_HEADER_BYTES)?;
    let window = BytesAtHand { bytes: records, base: FILE_HEADER_BYTES as u64, at_end };
    let start = Start { lengths, declared, input, window };
    let walk = match magic {
        MODIFIED => start.first_sound(&[Start::laid_out::<E, 24>, Start::laid_out::<E, 28>]),
        MICROSECONDS => {
            start.first_sound(&[Start::laid_out::<E, 16>, Start::laid_out::<E, 24>, Start::laid_out::<E, 20>])
        }
        _ => Ok(start.laid_out::<E, 16>().0),
    };
    let walk = walk.map_err(|needed| FILE_HEADER_BYTES + needed)?;
    ledger.facts.format = "pcap";
    declared.tell(ledger);
    Ok(walk)
}

/// Magic number, order of the lengths, and what the file header says of all records.
fn file_header<E: Endian>(header: &[u8; FILE_HEADER_BYTES]) -> Option<(u32, Lengths, Declared)> {
    let magic = u32_at::<E>(header, 0)?;
    let lengths = match (u16_at::<E>(header, 4)?, u16_at::<E>(header, 6)?) {
        (2, 0..=2) | (543, _) => Lengths::Swapped,
        (2, 3) => Lengths::SmallerIsCaptured,
        // Other versions have never been written; whether the file is read right shows in its records.
        _ => Lengths::Usual,
    };
    let network = u32_at::<E>(header, 20)?;
    let declared = Declared {
        // Bits 16..26 held a "class" once, bits 26..32 hold the length of the frame check sequence in 16-bit words.
        link_type: (network & 0xffff) as u16,
        fcs_length: if network & FCS_PRESENT != 0 { (network >> 28) as u8 * 2 } else { 0 },
        snap_length: u32_at::<E>(header, 16)?,
        units_per_second: if magic == NANOSECONDS { 1_000_000_000 } else { 1_000_000 },
    };
    Some((magic, lengths, declared))
}

/// A walk by one layout, and whether the first records make sense under it; an error says how many bytes that takes.
type Try = (Box<dyn Walk>, Result<bool, usize>);

/// The start of the records, before it is known how they lie.
struct Start<'a> {
    lengths: Lengths,
    declared: Declared,
    input: u16,
    window: BytesAtHand<'a>,
}

impl Start<'_> {
    fn laid_out<E: Endian + 'static, const HEADER: usize>(&self) -> Try {
        let layout = Classic::<E, HEADER> { lengths: self.lengths, order: PhantomData };
        let walk = RecordWalk::new(layout, self.declared, self.input);
        let sound = walk.starts_soundly(self.window);
        (Box::new(walk), sound)
    }

    /// The first of the layouts that makes sense. If none does, the file is damaged, and as likely as not of the first.
    fn first_sound(&self, layouts: &[fn(&Self) -> Try]) -> Result<Box<dyn Walk>, usize> {
        let mut usual = None;
        for layout in layouts {
            let (walk, sound) = layout(self);
            if sound? {
                return Ok(walk);
            }
            usual = usual.or(Some(walk));
        }
        usual.ok_or(0)
    }
}
