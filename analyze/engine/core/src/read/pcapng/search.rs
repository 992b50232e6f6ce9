//! The way back after damage: the search for the next sound block.

use crate::read::endian::{Big, Endian, Little, u32_at};
use crate::read::ledger::InputLedger;
use crate::read::pcapng::blocks::block_type;
use crate::read::pcapng::packets::PACKET_HEADER_BYTES;
use crate::read::pcapng::{FRAMING_BYTES, MAGIC, Order, PcapngWalk, SECTION_HEADER_BYTES, section_order};
use crate::read::walk::{BytesAtHand, CUT_SHORT, Resync, Walked};

/// Largest block at which a search stops.
const MAX_FOUND_BLOCK_BYTES: u32 = 512 << 10;

/// What is said when blocks follow within the last, incomplete one after all.
const BEYOND_END: &str = "a block that claims to go on beyond the end of the file";

impl PcapngWalk {
    /// Whether a sound block starts at `at`: `Err` tells how many bytes it takes to say.
    fn block_starts<E: Endian>(window: BytesAtHand<'_>, at: usize) -> Result<bool, usize> {
        let unless_more_comes = |needed| {
            if window.at_end { Ok(false) } else { Err(needed) }
        };
        let Some(kind) = u32_at::<E>(window.bytes, at) else {
            return unless_more_comes(FRAMING_BYTES);
        };
        let least = match kind {
            block_type::SECTION_HEADER => SECTION_HEADER_BYTES,
            block_type::ENHANCED_PACKET | block_type::PACKET => PACKET_HEADER_BYTES + 4,
            block_type::INTERFACE => 20,
            block_type::SIMPLE_PACKET => 16,
            block_type::NAME_RESOLUTION | block_type::STATISTICS | block_type::SECRETS => FRAMING_BYTES,
            block_type::CUSTOM | block_type::CUSTOM_NOT_COPIED => FRAMING_BYTES,
            _ => return Ok(false),
        };
        let Some(length) = u32_at::<E>(window.bytes, at + 4) else {
            return unless_more_comes(FRAMING_BYTES);
        };
        if (length as usize) < least || length > MAX_FOUND_BLOCK_BYTES {
            return Ok(false);
        }
        match u32_at::<E>(window.bytes, at + length as usize - 4) {
            Some(trailer) => Ok(trailer == length),
            None => unless_more_comes(length as usize),
        }
    }

    fn search(&self, window: BytesAtHand<'_>, from: usize) -> Resync {
        for at in from..window.bytes.len() {
            let rest = window.bytes.get(at..).unwrap_or(&[]);
            let order = match section_order(rest) {
                Some(order) if rest.starts_with(MAGIC) => order,
                None if rest.starts_with(MAGIC) && rest.len() < FRAMING_BYTES && !window.at_end => {
                    return Resync::Undecided(at, FRAMING_BYTES);
                }
                _ => self.order,
            };
            let starts = match order {
                Order::Little => Self::block_starts::<Little>(window, at),
                Order::Big => Self::block_starts::<Big>(window, at),
            };
            match starts {
                Ok(true) => return Resync::At(at),
                Ok(false) => {}
                Err(needed) => return Resync::Undecided(at, needed),
            }
        }
        if window.at_end { Resync::Nowhere } else { Resync::Undecided(window.bytes.len().max(from), FRAMING_BYTES) }
    }

    /// Looks for the next sound block if the last one was not; the position to walk on from, or where to pause.
    pub(super) fn recover(
        &mut self,
        window: BytesAtHand<'_>,
        from: usize,
        ledger: &mut InputLedger,
    ) -> Result<usize, Walked> {
        let Some((since, what)) = self.lost.take() else {
            return Ok(from);
        };
        match self.search(window, from) {
            Resync::At(at) => {
                let skipped = (window.base + at as u64).saturating_sub(since);
                let what = if what == CUT_SHORT { BEYOND_END } else { &what };
                ledger.damage(since, skipped, what);
                Ok(at)
            }
            Resync::Undecided(at, needed) => {
                self.lost = Some((since, what));
                Err(Walked { consumed: at.min(window.bytes.len()), needed })
            }
            Resync::Nowhere => {
                let end = window.base + window.bytes.len() as u64;
                ledger.damage(since, end.saturating_sub(since), &what);
                Err(Walked { consumed: window.bytes.len(), needed: 0 })
            }
        }
    }
}
