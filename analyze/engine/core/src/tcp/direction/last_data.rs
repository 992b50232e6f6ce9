//! The end of a direction's data so far, for pauses that may follow it.

use crate::packet::tcp_flags;
use crate::tcp::events::context::Context;
use crate::tcp::events::observer::Observer;
use crate::tcp::events::sent::{Data, Sent};

/// The packet that ended a direction's data so far: a repeat of older data says nothing of what was left to send.
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

impl Observer for LastData {
    #[inline(always)]
    fn on_sent(&mut self, sent: &Sent<'_>, _context: &Context) {
        let Data { packet, end, highest, is_short, .. } = sent.data;
        let short_end = if is_short { end } else { self.short_end };
        let (length, flags) =
            if end >= highest { (packet.payload_length, packet.flags) } else { (self.length, self.flags) };
        *self = Self { length, flags, max: highest, short_end };
    }
}
