//! What a block is, and what the rarer ones hold (draft-ietf-opsawg-pcapng section 4): interfaces with their clocks, drop
//! counters, options. The walk over blocks is its parent module's.

use crate::read::endian::{Endian, u16_at, u32_at, u64_at};
use crate::read::ledger::InputLedger;
use crate::read::record::Record;

/// Block type numbers.
pub(super) mod block_type {
    pub const SECTION_HEADER: u32 = 0x0a0d_0d0a;
    pub const INTERFACE: u32 = 1;
    pub const PACKET: u32 = 2;
    pub const SIMPLE_PACKET: u32 = 3;
    pub const NAME_RESOLUTION: u32 = 4;
    pub const STATISTICS: u32 = 5;
    pub const ENHANCED_PACKET: u32 = 6;
    /// systemd journal entry.
    pub const JOURNAL: u32 = 9;
    pub const SECRETS: u32 = 10;
    pub const CUSTOM: u32 = 0x0bad;
    pub const CUSTOM_NOT_COPIED: u32 = 0x4000_0bad;
}

/// A block of sound framing.
#[derive(Clone, Copy)]
pub(super) struct Block<'a> {
    /// Where it starts in the window.
    pub at: usize,
    /// Where it starts in the file.
    pub offset: u64,
    /// Its bytes without the length at its end.
    pub body: &'a [u8],
}

impl Block<'_> {
    /// Notes as damage that what it holds cannot be used.
    #[cold]
    pub(super) fn report_unusable(&self, what: &str, ledger: &mut InputLedger) {
        ledger.damage(self.offset, self.body.len() as u64 + TRAILER_BYTES, what);
    }

    /// Notes as damage that one of its options goes on beyond it. What stands before that counts.
    #[cold]
    pub(super) fn report_malformed_option(&self, ledger: &mut InputLedger) {
        ledger.damage(self.offset, 0, MALFORMED_OPTION);
    }
}

/// The length at the end of a block.
const TRAILER_BYTES: u64 = 4;

/// What is said of a block with a malformed option.
pub(super) const MALFORMED_OPTION: &str = "an option that goes on beyond its block";

/// `secrets_type` of a TLS key log.
pub(super) const TLS_KEY_LOG: u32 = 0x544c_534b;

const IF_TSRESOL: u16 = 9;

const IF_FCSLEN: u16 = 13;

const IF_TSOFFSET: u16 = 14;

const ISB_IFDROP: u16 = 5;

const ISB_FILTERACCEPT: u16 = 6;

const ISB_OSDROP: u16 = 7;

const ISB_USRDELIV: u16 = 8;

const EPB_FLAGS: u16 = 2;

const EPB_DROPCOUNT: u16 = 4;

/// Calls `each` for every option up to the end mark; `false` if one goes on beyond the block.
pub(super) fn options<E: Endian>(mut bytes: &[u8], mut each: impl FnMut(u16, &[u8])) -> bool {
    while let (Some(code), Some(length)) = (u16_at::<E>(bytes, 0), u16_at::<E>(bytes, 2)) {
        if code == 0 {
            return true;
        }
        let length = usize::from(length);
        let Some(value) = bytes.get(4..4 + length) else {
            return false;
        };
        each(code, value);
        bytes = bytes.get(4 + length.next_multiple_of(4)..).unwrap_or(&[]);
    }
    true
}

/// Time between neighbours that is ordinary: as for classic pcap, 48 days.
const JUMP_NS: i64 = 1_000_000_000 << 22;

/// True if two times are ordinary neighbours.
#[inline(always)]
pub(super) fn near(a_ns: i64, b_ns: i64) -> bool {
    a_ns.wrapping_sub(b_ns).wrapping_add(JUMP_NS) as u64 <= 2 * JUMP_NS as u64
}

/// How a time stamp of an interface becomes nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scale {
    /// Coarser than a nanosecond, or as fine.
    Times(u64),
    /// Finer.
    Over(u64),
    /// Units of 2^-n seconds.
    Binary(u32),
}

/// What an interface description block says.
#[derive(Debug, Clone)]
pub(super) struct Interface {
    pub link_type: u16,
    /// 0 for unlimited.
    pub snap_length: u32,
    pub fcs_length: u8,
    scale: Scale,
    offset_ns: i64,
    pub drops: Drops,
}

impl Interface {
    /// Reads an interface description block, trailer left off; the flag is `false` if its options are malformed.
    pub(super) fn parse<E: Endian>(body: &[u8]) -> Option<(Self, bool)> {
        let mut interface = Self {
            link_type: u16_at::<E>(body, 8)?,
            snap_length: u32_at::<E>(body, 12)?,
            fcs_length: 0,
            scale: Scale::Times(1000),
            offset_ns: 0,
            drops: Drops::default(),
        };
        let well_formed = options::<E>(body.get(16..)?, |code, value| match (code, value) {
            (IF_TSRESOL, [resolution, ..]) => interface.scale = Scale::new(*resolution),
            (IF_FCSLEN, [length, ..]) => interface.fcs_length = fcs_bytes(*length),
            (IF_TSOFFSET, _) => {
                let offset_s = u64_at::<E>(value, 0).unwrap_or(0) as i64;
                interface.offset_ns = offset_s.saturating_mul(1_000_000_000);
            }
            _ => {}
        });
        Some((interface, well_formed))
    }

    /// Unix nanoseconds of a time stamp; no time where it lies beyond [`Record::FARTHEST_TIME_NS`].
    #[inline]
    pub(super) fn time_ns(&self, stamp: u64) -> i64 {
        let since_offset_ns = match self.scale {
            Scale::Times(factor) => stamp.checked_mul(factor),
            Scale::Over(divisor) => Some(stamp / divisor),
            Scale::Binary(bits) => u64::try_from((u128::from(stamp) * 1_000_000_000) >> bits).ok(),
        };
        since_offset_ns
            .and_then(|time_ns| i64::try_from(time_ns).ok())
            .and_then(|time_ns| time_ns.checked_add(self.offset_ns))
            .filter(|time_ns| (-Record::FARTHEST_TIME_NS..Record::FARTHEST_TIME_NS).contains(time_ns))
            .unwrap_or(Record::NO_TIME)
    }

    /// As [`Self::time_ns`], of a stamp that is an ordinary neighbour of `last_ns`; none for any other.
    #[inline]
    pub(super) fn time_near(&self, stamp: u64, last_ns: i64) -> Option<i64> {
        let time_ns = match self.scale {
            Scale::Times(factor) => stamp.checked_mul(factor)?.wrapping_add_signed(self.offset_ns) as i64,
            Scale::Over(_) | Scale::Binary(_) => self.time_ns(stamp),
        };
        // Neighbours of neighbours, and sums that wrapped, must not leave the times that are.
        let is_a_time = time_ns.wrapping_add(Record::FARTHEST_TIME_NS) >= 0;
        (near(time_ns, last_ns) && is_a_time).then_some(time_ns)
    }

    /// Seconds of one unit of time.
    pub(super) fn resolution_s(&self) -> f64 {
        match self.scale {
            Scale::Times(factor) => factor as f64 / 1e9,
            Scale::Over(divisor) => 1.0 / (divisor as f64 * 1e9),
            Scale::Binary(bits) => 0.5_f64.powi(bits as i32),
        }
    }
}

impl Scale {
    /// From the value of `if_tsresol`: the high bit chooses between powers of ten and of two.
    fn new(resolution: u8) -> Self {
        let exponent = u32::from(resolution & 0x7f);
        if resolution & 0x80 != 0 {
            return Self::Binary(exponent);
        }
        match exponent {
            0..=9 => Self::Times(10_u64.pow(9 - exponent)),
            // Beyond 10^-28 every stamp of 64 bits is less than a nanosecond.
            _ => Self::Over(10_u64.checked_pow(exponent - 9).unwrap_or(u64::MAX)),
        }
    }
}

/// Bytes of frame check sequence: writers give `if_fcslen` in bytes (4) or in bits (32).
fn fcs_bytes(length: u8) -> u8 {
    if length > 8 { length / 8 } else { length }
}

/// What interface statistics blocks say was lost; each block replaces the one before, for the counters run on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Drops {
    pub by_kernel: Option<u64>,
    pub by_interface: Option<u64>,
}

impl Drops {
    /// Reads an interface statistics block, trailer left off: the interface, its drops, and if the options are sound.
    pub(super) fn parse<E: Endian>(body: &[u8]) -> Option<(u32, Self, bool)> {
        let mut drops = Self::default();
        let (mut accepted, mut delivered) = (None, None);
        let well_formed = options::<E>(body.get(20..)?, |code, value| {
            let number = u64_at::<E>(value, 0);
            match code {
                ISB_IFDROP => drops.by_interface = number,
                ISB_OSDROP => drops.by_kernel = number,
                ISB_FILTERACCEPT => accepted = number,
                ISB_USRDELIV => delivered = number,
                _ => {}
            }
        });
        if let (None, Some(accepted), Some(delivered)) = (drops.by_kernel, accepted, delivered) {
            // Section 4.6: what the filter accepted and the user was not given, the operating system dropped.
            drops.by_kernel = Some(accepted.saturating_sub(delivered));
        }
        Some((u32_at::<E>(body, 8)?, drops, well_formed))
    }
}

/// Drops of all interfaces together, kept as each of them changes: there may be thousands, and a count in every block.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct DropsOfAll {
    by_kernel: DropSum,
    by_interface: DropSum,
}

impl DropsOfAll {
    /// An interface's drops become others.
    pub(super) fn replace(&mut self, before: Drops, after: Drops) {
        self.by_kernel.replace(before.by_kernel, after.by_kernel);
        self.by_interface.replace(before.by_interface, after.by_interface);
    }

    pub(super) fn together(&self) -> Drops {
        Drops { by_kernel: self.by_kernel.get(), by_interface: self.by_interface.get() }
    }
}

/// The sum of the numbers that are known.
#[derive(Debug, Clone, Copy, Default)]
struct DropSum {
    known: u64,
    sum: u128,
}

impl DropSum {
    fn replace(&mut self, before: Option<u64>, after: Option<u64>) {
        self.known = self.known + u64::from(after.is_some()) - u64::from(before.is_some());
        self.sum = self.sum + u128::from(after.unwrap_or(0)) - u128::from(before.unwrap_or(0));
    }

    fn get(self) -> Option<u64> {
        (self.known > 0).then(|| u64::try_from(self.sum).unwrap_or(u64::MAX))
    }
}

/// What the options of a packet say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct PacketOptions {
    /// Bytes of frame check sequence, if the flags tell.
    pub fcs_length: Option<u8>,
    /// Packets lost between the one before and this one.
    pub dropped: Option<u64>,
}

impl PacketOptions {
    pub(super) fn parse<E: Endian>(bytes: &[u8]) -> Self {
        let mut found = Self::default();
        options::<E>(bytes, |code, value| match code {
            EPB_FLAGS => {
                // Bits 5..9 hold the length in bytes, 0 for "not known".
                let length = u32_at::<E>(value, 0).map_or(0, |flags| (flags >> 5) & 0xf);
                found.fcs_length = (length > 0).then_some(length as u8);
            }
            EPB_DROPCOUNT => found.dropped = u64_at::<E>(value, 0),
            _ => {}
        });
        found
    }
}
