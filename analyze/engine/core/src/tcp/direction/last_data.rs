//! The last data packet of a direction, for pauses that may follow it.

use crate::packet::{Packet, tcp_flags};

/// The last data packet of a direction.
#[derive(Debug, Clone, Copy, Default)]
pub struct LastData {
    pub(crate) length: u32,
    flags: u16,
    /// Position after the highest data seen.
    pub(crate) max: u64,
    /// Position after the last segment that was sent short (Linux `snd_sml`).
    pub(crate) short_end: u64,
}

impl LastData {
    /// Takes a data packet; `short_end` is where it ends if its last segment is short.
    #[inline(always)]
    pub fn set(&mut self, packet: &Packet, max: u64, short_end: Option<u64>) {
        let short_end = short_end.unwrap_or(self.short_end);
        *self = Self { length: packet.payload_length, flags: packet.flags, max, short_end };
    }

    /// What begins there is what its sender sent next; so is the first data of all.
    pub fn is_followed_by(&self, start: u64) -> bool {
        self.max == start || self.length == 0
    }

    /// With it ended what its sender had been given (RFC 9293 section 3.9.1.2), or a frame that was cut into segments: Linux sets PSH
    /// on each of these.
    pub fn has_push(&self) -> bool {
        self.flags & tcp_flags::PSH != 0
    }
}
