//! What an unusual record header can be: odd, or impossible. Where the walk is and what it does about it is the business of
//! `record_walk`; the bounds of what is ordinary are `layout`'s.

use crate::read::records::layout::{Header, JUMP_S, Layout, MAX_PADDING_BYTES, near};
use crate::read::records::record_walk::{Closer, RecordWalk};
use crate::read::walk::{BytesAtHand, MAX_FRAME_BYTES};

/// Ways in which a header is unusual without being impossible, as bits.
mod odd {
    pub const EMPTY: u8 = 0x01;
    pub const BEYOND_SNAP: u8 = 0x02;
    pub const BEYOND_ORIGINAL: u8 = 0x04;
    pub const FRACTION: u8 = 0x08;
    pub const JUMP: u8 = 0x10;
}

impl<L: Layout> RecordWalk<L> {
    /// The ways in which a header is unusual beside a record of `neighbour_s`.
    fn oddities(&self, header: &Header, neighbour_s: u32) -> u8 {
        let bit = |set: bool, bit: u8| if set { bit } else { 0 };
        bit(header.captured == 0, odd::EMPTY)
            | bit(header.captured > self.snap, odd::BEYOND_SNAP)
            | bit(header.captured > header.original, odd::BEYOND_ORIGINAL)
            | bit(header.fraction >= self.declared.units_per_second, odd::FRACTION)
            | bit(!near(header.seconds, neighbour_s, JUMP_S), odd::JUMP)
    }

    /// Why a header cannot be right whatever follows it.
    fn impossible(&self, header: &Header) -> Option<String> {
        let Header { seconds, fraction, captured, original, record_bytes } = *header;
        if captured > self.longest {
            Some(format!("a record that claims {captured} captured bytes"))
        } else if original > MAX_FRAME_BYTES {
            Some(format!("a record that claims {original} bytes on the wire"))
        } else if L::padding(header) > MAX_PADDING_BYTES {
            Some(format!("a record of {record_bytes} bytes that claims {captured} captured bytes"))
        } else if (seconds, fraction, captured, original) == (0, 0, 0, 0) {
            Some("zeros in place of a record".to_owned())
        } else {
            None
        }
    }

    /// Judges an unusual header with the help of the next one.
    pub(super) fn look_closer(&mut self, window: BytesAtHand<'_>, at: usize, header: &Header, last_s: u32) -> Closer {
        if let Some(what) = self.impossible(header) {
            return Closer::Bad(what);
        }
        let Some(next) = self.layout.header_at(window.bytes, at + header.record_bytes) else {
            return if window.at_end { Closer::Fine } else { Closer::Short(header.record_bytes + L::HEADER_BYTES) };
        };
        let odd_here = self.oddities(header, last_s);
        let odd_next = self.oddities(&next, header.seconds);
        let follows = odd_next & !(odd_here & !odd::JUMP) == 0;
        let steps_back = near(next.seconds, last_s, JUMP_S) && odd_next & !odd_here & !odd::JUMP == 0;
        let jumped = odd_here & odd::JUMP != 0;
        let leads_on = match self.impossible(&next) {
            Some(_) => false,
            None if follows || jumped && steps_back => true,
            // Captures that were put together may be years apart: where nothing but times is odd, lengths decide.
            None if (odd_here | odd_next) & !odd::JUMP == 0 => {
                match self.chain_starts(window, at + header.record_bytes, false) {
                    Ok(leads_on) => leads_on,
                    Err(needed) => return Closer::Short(header.record_bytes + needed),
                }
            }
            None => false,
        };
        if !leads_on {
            return Closer::Bad("a record whose length leads to nothing like a record".to_owned());
        }
        self.snap = self.snap.max(header.captured);
        if jumped && !follows && steps_back { Closer::Timeless } else { Closer::Fine }
    }
}
