//! Acknowledgements that show data its receiver refused by PAWS (RFC 7323 section 5): the record of one direction.

use crate::tcp::events::segment::Segment;
use crate::tcp::stats::sequence::serial_difference;

/// Acknowledgements that say nothing new.
#[derive(Debug, Clone, Default)]
pub(crate) struct Refusals {
    /// So many are not accounted for by repeats yet.
    pub(crate) count: u32,
    /// When the last one came, and what it echoed.
    pub(crate) last_ns: i64,
    pub(crate) echoed: u32,
    /// What the last acknowledgement reported.
    pub(crate) blocks: Blocks,
}

/// Blocks of one acknowledgement, as they stand in it.
pub(crate) type Blocks = [(u32, u32); 4];

impl Refusals {
    /// What `segment` was may have been refused by then.
    pub(crate) fn may_be_of(&self, segment: &Segment, soonest_ns: i64) -> bool {
        segment.is_hole()
            && serial_difference(segment.tsval, self.echoed) < 0
            && self.last_ns.saturating_sub(segment.time_ns) >= soonest_ns
    }
}
