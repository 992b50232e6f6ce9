//! Sun snoop files (RFC 1761): big-endian records with a padded length and a running count of drops.

use crate::link_type;
use crate::read::endian::{Big, array_at, u32_at};
use crate::read::ledger::InputLedger;
use crate::read::records::layout::{Declared, Header, Layout};
use crate::read::records::record_walk::RecordWalk;
use crate::read::walk::Walk;

/// The first bytes of the file.
pub(in crate::read) const MAGIC: &[u8; 8] = b"snoop\0\0\0";

/// Bytes of the file header: magic, version, datalink type.
pub(in crate::read) const FILE_HEADER_BYTES: usize = 16;

const RECORD_HEADER_BYTES: usize = 24;

struct Snoop;

impl Layout for Snoop {
    const HEADER_BYTES: usize = RECORD_HEADER_BYTES;

    #[inline(always)]
    fn header_at(&self, bytes: &[u8], at: usize) -> Option<Header> {
        let raw: &[u8; RECORD_HEADER_BYTES] = array_at(bytes, at)?;
        Some(Header {
            original: u32_at::<Big>(raw, 0)?,
            captured: u32_at::<Big>(raw, 4)?,
            record_bytes: u32_at::<Big>(raw, 8)? as usize,
            seconds: u32_at::<Big>(raw, 16)?,
            fraction: u32_at::<Big>(raw, 20)?,
        })
    }
}

/// Reads the file header; an error says in one sentence what cannot be read.
pub(in crate::read) fn open(header: &[u8], input: u16, ledger: &mut InputLedger) -> Result<Box<dyn Walk>, String> {
    let (Some(version), Some(datalink)) = (u32_at::<Big>(header, 8), u32_at::<Big>(header, 12)) else {
        return Err("a snoop file that is cut short in its file header".to_owned());
    };
    // RFC 1761 section 3 numbers datalinks in its own way.
    let number = match datalink {
        // IEEE 802.3 and Ethernet.
        0 | 4 => link_type::ETHERNET,
        2 => link_type::TOKEN_RING,
        8 => link_type::FDDI,
        _ => {
            return Err(format!("a snoop file (version {version}) of datalink type {datalink}, which is not read"));
        }
    };
    ledger.facts.format = "snoop";
    ledger.interface(number, None, 1e-6);
    let declared = Declared { link_type: number, fcs_length: 0, snap_length: 0, units_per_second: 1_000_000 };
    Ok(Box::new(RecordWalk::new(Snoop, declared, input)))
}
