//! A place in the capture that a verdict or an event points to.

use crate::packet::Packet;

/// A frame, and where it stands: frames of several files that were merged may have the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Its number in its file.
    pub frame: u32,
    /// The moment that it stands for: when it passed, or the end of an interval of which it is the nearest frame known.
    pub time_ns: i64,
}

impl Place {
    /// That of a packet.
    pub fn of(packet: &Packet) -> Self {
        Self { frame: packet.frame, time_ns: packet.time_ns }
    }
}
