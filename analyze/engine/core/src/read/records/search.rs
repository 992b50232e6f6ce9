//! The way back after damage: the search for the next place where records follow each other.
//!
//! Rule: docs/methods.md, "Damaged stretches".

use crate::read::ledger::InputLedger;
use crate::read::record::Record;
use crate::read::records::layout::{Header, JUMP_S, Layout, MAX_PADDING_BYTES, USUAL_SNAP_BYTES, near};
use crate::read::records::record_walk::{Lost, RecordWalk};
use crate::read::walk::{BytesAtHand, CUT_SHORT, MAX_FRAME_BYTES, Resync, Walked};

/// Ordinary records that must follow each other where the walk resumes.
const CHAIN: usize = 3;

/// Seconds from the last good record within which a search believes a header (10 years).
const ERA_S: u32 = 315_576_000;

/// What is said when records follow within that stretch after all.
const BEYOND_END: &str = "a record that claims to go on beyond the end of the file";

impl<L: Layout> RecordWalk<L> {
    /// True if a header found in a search is believable next to `neighbour_s`.
    fn believable(&self, header: &Header, neighbour_s: Option<u32>) -> bool {
        let longest = self.snap.min(USUAL_SNAP_BYTES);
        header.captured.wrapping_sub(1) < longest
            && header.captured <= header.original
            && header.original <= MAX_FRAME_BYTES
            && header.fraction < self.declared.units_per_second
            && L::padding(header) <= MAX_PADDING_BYTES
            && match neighbour_s {
                Some(neighbour_s) => near(header.seconds, neighbour_s, JUMP_S),
                None => self.era_s().is_none_or(|era_s| near(header.seconds, era_s, ERA_S)),
            }
    }

    /// Whether a chain of records starts at `start`, of times near each other if `by_time`: `Err` tells how many bytes it takes
    /// to say.
    pub(super) fn chain_starts(&self, window: BytesAtHand<'_>, start: usize, by_time: bool) -> Result<bool, usize> {
        let bytes = window.bytes;
        let (mut at, mut neighbour_s) = (start, None);
        for link in 0..CHAIN {
            let Some(header) = self.layout.header_at(bytes, at) else {
                let exact = at == bytes.len() && link > 0;
                return if window.at_end { Ok(exact || link > 1) } else { Err(at - start + L::HEADER_BYTES) };
            };
            let near_ones_s = if by_time { neighbour_s } else { Some(header.seconds) };
            if !self.believable(&header, near_ones_s) {
                return Ok(false);
            }
            neighbour_s = Some(header.seconds);
            at += header.record_bytes;
            if at > bytes.len() && window.at_end {
                return Ok(link > 1);
            }
        }
        Ok(true)
    }

    /// Whether the file's first records follow each other as this layout has them: `Err` tells how many bytes it takes to
    /// say. One record alone says nothing, even if it ends with the file, since that may be cut anywhere.
    pub(super) fn starts_soundly(&self, window: BytesAtHand<'_>) -> Result<bool, usize> {
        let second = self.layout.header_at(window.bytes, 0).map_or(0, |first| first.record_bytes);
        if window.at_end && self.layout.header_at(window.bytes, second).is_none() {
            return Ok(false);
        }
        self.chain_starts(window, 0, true)
    }

    fn search(&self, window: BytesAtHand<'_>, from: usize) -> Resync {
        for at in from..window.bytes.len() {
            match self.layout.file_header_at(window.bytes, at) {
                Ok(None) => {}
                Ok(Some(_)) => return Resync::At(at),
                Err(_) if window.at_end => {}
                Err(needed) => return Resync::Undecided(at, needed),
            }
            match self.chain_starts(window, at, true) {
                Ok(true) => return Resync::At(at),
                Ok(false) => {}
                Err(needed) => return Resync::Undecided(at, needed),
            }
        }
        if window.at_end { Resync::Nowhere } else { Resync::Undecided(window.bytes.len().max(from), L::HEADER_BYTES) }
    }

    /// Looks for the place where the chain goes on; the position to walk on from, or where the walk must pause.
    pub(super) fn recover(
        &mut self,
        window: BytesAtHand<'_>,
        from: usize,
        records: &mut Vec<Record>,
        ledger: &mut InputLedger,
    ) -> Result<usize, Walked> {
        let Some(lost) = self.lost.take() else {
            return Ok(from);
        };
        match self.search(window, from) {
            Resync::At(at) => {
                let found = window.base + at as u64;
                let since = lost.before.filter(|_| found < lost.bad_at);
                if since.is_some() {
                    self.take_back(window.bytes, records);
                }
                let since = since.unwrap_or(lost.bad_at);
                let what = if lost.what == CUT_SHORT { BEYOND_END } else { &lost.what };
                ledger.damage(since, found.saturating_sub(since), what);
                self.last_s = self.layout.header_at(window.bytes, at).map(|header| header.seconds);
                Ok(at)
            }
            Resync::Undecided(at, needed) => {
                let undecided = window.base + at as u64;
                if let Some(before) = lost.before.filter(|_| undecided < lost.bad_at) {
                    // The record before is still in doubt: come back to it with more bytes.
                    self.take_back(window.bytes, records);
                    let consumed = (before - window.base) as usize;
                    return Err(Walked { consumed, needed: at - consumed + needed });
                }
                self.lost = Some(Lost { before: None, ..lost });
                Err(Walked { consumed: at.min(window.bytes.len()), needed })
            }
            Resync::Nowhere => {
                let end = window.base + window.bytes.len() as u64;
                ledger.damage(lost.bad_at, end.saturating_sub(lost.bad_at), &lost.what);
                Err(Walked { consumed: window.bytes.len(), needed: 0 })
            }
        }
    }
}
