//! Files of Endace's extensible record format: records alone, without a file header. Each is handed on whole, as within pcap
//! (LINKTYPE_ERF), since its own header says what the frame begins with.

use crate::link_type;
use crate::read::endian::{Little, array_at, u32_at};
use crate::read::ledger::InputLedger;
use crate::read::records::layout::{Declared, Header, Layout};
use crate::read::records::record_walk::RecordWalk;
use crate::read::walk::Walk;

/// Bytes with which a file can be told from others: three records of ordinary frames.
pub(in crate::read) const TELLING_BYTES: usize = 8 << 10;

const RECORD_HEADER_BYTES: usize = 16;

/// What a record header adds before the frame: itself, and two bytes before Ethernet.
const PADDED_HEADER_BYTES: u32 = 18;

/// Record types go up to here.
const LAST_TYPE: u8 = 48;

/// Times before 1990 are none of a card's.
const EARLIEST_S: u32 = 631_152_000;

struct Erf;

impl Layout for Erf {
    /// The record's header belongs to its frame.
    const HEADER_BYTES: usize = 0;

    #[inline(always)]
    fn header_at(&self, bytes: &[u8], at: usize) -> Option<Header> {
        let raw: &[u8; RECORD_HEADER_BYTES] = array_at(bytes, at)?;
        let record_bytes = u32::from(u16::from_be_bytes([raw[10], raw[11]]));
        let wire = u32::from(u16::from_be_bytes([raw[14], raw[15]]));
        // Little-endian fixed point: seconds above, 2^-32 s below.
        let fraction = (u64::from(u32_at::<Little>(raw, 0)?) * 1_000_000_000) >> 32;
        Some(Header {
            seconds: u32_at::<Little>(raw, 4)?,
            fraction: fraction as u32,
            captured: record_bytes,
            original: (wire + PADDED_HEADER_BYTES).max(record_bytes),
            record_bytes: record_bytes.max(1) as usize,
        })
    }
}

/// True if a file starts with records of this kind: three in a row, or as many as it has, that can be nothing else.
pub(in crate::read) fn is_erf(head: &[u8], at_end: bool) -> bool {
    let (mut at, mut last_s, mut found) = (0, EARLIEST_S, 0);
    while found < 3 {
        let Some(header) = Erf.header_at(head, at) else { break };
        let kind = head.get(at + 8).map_or(0, |kind| kind & 0x7f);
        let is_sound = (1..=LAST_TYPE).contains(&kind)
            && header.record_bytes > RECORD_HEADER_BYTES
            && header.record_bytes.is_multiple_of(4)
            && header.seconds >= last_s
            && (found == 0 || header.seconds - last_s < 1 << 22);
        if !is_sound {
            return false;
        }
        (at, last_s, found) = (at + header.record_bytes, header.seconds, found + 1);
    }
    found == 3 || found > 0 && at_end && at == head.len()
}

/// Starts to read.
pub(in crate::read) fn open(head: &[u8], at_end: bool, input: u16, ledger: &mut InputLedger) -> Option<Box<dyn Walk>> {
    if !is_erf(head, at_end) {
        return None;
    }
    ledger.facts.format = "erf";
    ledger.interface(link_type::ERF, None, 0.5_f64.powi(32));
    let declared =
        Declared { link_type: link_type::ERF, fcs_length: 0, snap_length: 65_535, units_per_second: 1_000_000_000 };
    Some(Box::new(RecordWalk::new(Erf, declared, input)))
}
