//! How large the segments of a direction are, as its frames have shown so far: the state of [`crate::tcp::direction::segment_size`].
//!
//! Rule: docs/methods.md, "Growing segments".

use crate::tcp::capture::frame_sizes::UnevenFrames;
use crate::tcp::events::context::Context;
use crate::tcp::events::observer::Observer;
use crate::tcp::events::sent::Sent;

/// How large the segments of a direction are.
#[derive(Debug, Clone, Default)]
pub struct SegmentSize {
    /// Payload of a full segment with the header of the last data packet.
    pub segment_size: u16,
    /// Frames that held less than both sides take, though more was to come.
    pub uneven: UnevenFrames,
    /// Data packets that were no full segments.
    pub short_packets: u32,
}

impl Observer for SegmentSize {
    #[inline(always)]
    fn on_sent(&mut self, sent: &Sent<'_>, _context: &Context) {
        self.segment_size = sent.data.segment_size;
        self.short_packets += u32::from(sent.data.is_short);
    }
}
