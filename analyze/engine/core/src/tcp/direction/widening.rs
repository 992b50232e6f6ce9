//! A queue becomes a tree where much is outstanding in any order ([`crate::tcp::direction::wide_queue`]), and a list again.
//!
//! Acknowledgements take records off the tree into the list of those done with, where the queue's own rules judge them; what is
//! left of them goes back.

use crate::tcp::direction::send_queue::{MOST_SEGMENTS, REMEMBERED, SegmentQueue};
use crate::tcp::direction::wide_queue::Wide;
use crate::tcp::events::segment::{Acknowledged, Segment};

/// With fewer outstanding a list serves better.
const FEWEST: usize = 256;

impl SegmentQueue {
    /// Puts the open records into a tree.
    #[cold]
    pub(super) fn widen(&mut self) {
        let open = self.list.split_off(self.front).into_iter().map(|segment| (segment.start, segment)).collect();
        self.front = 0;
        self.wide = Some(Box::new(Wide { done: std::mem::take(&mut self.list), open }));
    }

    /// Makes it a list again.
    pub(super) fn narrow(&mut self) {
        let Some(wide) = self.wide.take() else { return };
        self.list = wide.done;
        self.front = self.list.len();
        self.list.extend(wide.open.into_values());
    }

    /// Adds a record wherever it belongs.
    pub(super) fn insert_wide(&mut self, segment: Segment) {
        let Some(mut wide) = self.wide.take() else { return };
        if wide.open.len() >= MOST_SEGMENTS {
            self.has_forgotten = true;
            for _ in 0..MOST_SEGMENTS / 2 {
                let Some((_, oldest)) = wide.open.pop_first() else { break };
                self.settle(&oldest);
                wide.done.push(oldest);
            }
            self.forget(&mut wide);
        }
        wide.open.insert(segment.start, segment);
        self.wide = Some(wide);
    }

    /// As [`SegmentQueue::acknowledge`].
    pub(super) fn acknowledge_wide(&mut self, position: u64, highest_sacked: u64) -> Acknowledged {
        let Some(mut wide) = self.wide.take() else { return Acknowledged::default() };
        self.list = std::mem::take(&mut wide.done);
        self.front = self.list.len();
        while let Some(first) = wide.open.first_entry()
            && *first.key() < position
        {
            self.list.push(first.remove());
        }
        let acknowledged = self.acknowledge_listed(position, highest_sacked);
        wide.open.extend(self.list.drain(self.front..).map(|segment| (segment.start, segment)));
        wide.done = std::mem::take(&mut self.list);
        self.front = 0;
        self.forget(&mut wide);
        let is_narrow = wide.open.len() < FEWEST;
        self.wide = Some(wide);
        if is_narrow {
            self.narrow();
        }
        acknowledged
    }

    /// Of what is done with the latest are enough; of the others their stamps stay.
    fn forget(&mut self, wide: &mut Wide) {
        let forgotten = wide.done.len().saturating_sub(REMEMBERED);
        if forgotten >= wide.done.len() / 4 {
            self.stamps.add(&wide.done[..forgotten]);
            wide.done.drain(..forgotten);
        }
    }
}
