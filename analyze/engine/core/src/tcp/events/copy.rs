//! A packet that the capture shows twice: all of it, or only its head.

use crate::packet::Packet;
use crate::tcp::kernel::LONGEST_DISTANCE_NS;

/// What of a packet is a copy.
pub(crate) enum Copied {
    /// Nothing.
    Nothing,
    /// All.
    All,
    /// What it begins with; this is left of it.
    Head(Packet),
}

/// When a copy came.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopySeen {
    /// Soon after the packet, or the part of it.
    AtOnce,
    /// Too late for most that captures do.
    Late,
}

impl CopySeen {
    pub(crate) fn after(age_ns: i64) -> Self {
        if age_ns <= LONGEST_DISTANCE_NS { Self::AtOnce } else { Self::Late }
    }
}
