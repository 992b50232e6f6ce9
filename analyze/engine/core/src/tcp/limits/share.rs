//! Time and bytes that fall to each limiting factor.

use crate::tcp::events::factor::Factor;

/// A gap that has a factor of its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CutGap {
    /// Time of the packet before it.
    pub start_ns: i64,
    /// Time of the packet that ended it.
    pub end_ns: i64,
    /// What it was.
    pub factor: Factor,
    /// Frames before and after.
    pub frames: [u32; 2],
    /// The window was full in it.
    pub limited: bool,
    /// Nothing was in flight in it.
    pub idle: bool,
}

/// Time and bytes of one factor.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Share {
    /// Time, nanoseconds.
    pub time_ns: u64,
    /// Bytes delivered in it.
    pub bytes: u64,
}

impl Share {
    /// Puts another one to it. Clocks that jump back and forth can make more time than a number holds.
    pub(crate) fn add(&mut self, other: Self) {
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }

    /// Takes so much out, or what there is.
    pub(crate) fn take(&mut self, wanted: Self) -> Self {
        let taken = Self { time_ns: wanted.time_ns.min(self.time_ns), bytes: wanted.bytes.min(self.bytes) };
        self.time_ns -= taken.time_ns;
        self.bytes -= taken.bytes;
        taken
    }
}

/// Shares of all factors.
pub type Shares = [Share; Factor::COUNT];
