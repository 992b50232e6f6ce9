//! What a capture format has to do: turn a window of the file into records. Owns the contract only; reading bytes is
//! the business of `file_source`.

use crate::read::ledger::InputLedger;
use crate::read::record::Record;

/// Largest frame that is believed, captured or on the wire: far beyond BIG TCP's superpackets, and what keeps a false
/// length from making the reader buffer without end.
pub(super) const MAX_FRAME_BYTES: u32 = 16 << 20;

/// What is said of a file that ends within a record, or within a block.
pub(super) const CUT_SHORT: &str = "cut short in the middle of a packet";

/// What is said of a record whose time is left out.
pub(super) const FAR_FROM_BOTH: &str = "a record of a time far from both its neighbours";

/// The bytes at hand.
#[derive(Clone, Copy)]
pub(super) struct BytesAtHand<'a> {
    /// They start where the last walk stopped consuming.
    pub bytes: &'a [u8],
    /// Offset of the first of them in the (decompressed) file.
    pub base: u64,
    /// Nothing comes after them.
    pub at_end: bool,
}

/// How far a walk got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Walked {
    /// Bytes of the window that are done with (all of them at the end of the file).
    pub consumed: usize,
    /// Bytes from there on without which the next walk gets no further.
    pub needed: usize,
}

/// A capture format after its file header.
///
/// What a walk decides depends on the bytes of the file alone, never on where a window ends: it asks for more bytes
/// instead of guessing, so that a pipe and a file give the same records.
pub(super) trait Walk: Send {
    /// Appends the records of the window to `records` (empty at first; offsets relative to the window).
    fn walk(&mut self, window: BytesAtHand<'_>, records: &mut Vec<Record>, ledger: &mut InputLedger) -> Walked;

    /// Goes on at another place between records, of which the next one is number `frame`.
    fn jump(&mut self, frame: u32);
}

/// Why a walk stopped at a position of its window.
pub(super) enum Stop {
    /// The record there goes on beyond the window: so many bytes are wanted from its start.
    Short(usize),
    /// There is no record there that can be right.
    Bad(String),
}

/// What a search for the next good place gave.
pub(super) enum Resync {
    /// It is here.
    At(usize),
    /// Nothing before this position; to judge this position takes so many bytes from it.
    Undecided(usize, usize),
    /// Nothing up to the end of the file.
    Nowhere,
}
