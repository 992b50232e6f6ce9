//! Losses that belong together (docs/methods.md, section 5.5): events and bursts.
//!
//! An *event* is what a sender answers by reducing its congestion window once: the losses of data that was sent before the
//! first of them was repaired (RFC 6582 section 3.2, `recover`). Only at the sender all that was sent is seen.
//!
//! A *burst* is a run of segments that were lost one after another in the stream, a loss period of RFC 3357.
//!
//! Both are drawn from the retransmissions that were needed, which is known of each when it is forgotten, or at the end.
//!
//! Rule: docs/methods.md, "Loss events and bursts".

use crate::tcp::events::retransmission::Retransmission;

/// Stretches that wait for what may join them, at most.
const MOST_WAITING: usize = 4096;

/// Shortest bursts of each class of [`LossBursts::lengths`].
const SHORTEST_OF_CLASS: [u32; 6] = [1, 2, 3, 4, 8, 16];

/// Lost data without a gap in it.
#[derive(Debug, Clone, Copy)]
struct LostSpan {
    start: u64,
    end: u64,
    segments: u32,
}

/// Events and bursts of one direction.
#[derive(Debug, Clone, Default)]
pub struct LossBursts {
    /// Loss events; at the sender.
    pub events: u32,
    /// Bursts by their length: 1, 2, 3, 4 to 7, 8 to 15, 16 segments and more.
    pub lengths: [u32; 6],
    /// Segments in the longest.
    pub longest: u32,
    /// Segments in all of them.
    pub segments: u64,
    recover: u64,
    waiting: Vec<LostSpan>,
}

impl LossBursts {
    /// Takes a retransmission of which it is known by now whether it was needed. They come in the order in which they passed;
    /// all that come later start at `next_start` or above, as far as is known.
    pub fn add(&mut self, retransmission: &Retransmission, next_start: impl FnOnce() -> u64) {
        let &Retransmission { start, end, seen_up_to, spurious, .. } = retransmission;
        if spurious {
            return;
        }
        if self.events == 0 || start >= self.recover {
            self.events = self.events.saturating_add(1);
            self.recover = seen_up_to;
        }
        if self.waiting.len() >= MOST_WAITING {
            self.settle(next_start());
        }
        self.waiting.push(LostSpan { start, end, segments: 1 });
    }

    /// All that were ever lost have been taken.
    pub fn finish(&mut self) {
        self.settle(u64::MAX);
    }

    /// Bursts.
    pub fn count(&self) -> u64 {
        self.lengths.iter().map(|count| u64::from(*count)).sum()
    }

    /// Mean length in segments; none without bursts.
    pub fn mean_segments(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.segments as f64 / self.count() as f64)
    }

    /// Mean length over that of a network which loses the share `loss_rate` of all segments, each by itself (ITU-T G.1020,
    /// burst ratio): 1 where losses are independent, more where they come together.
    pub fn ratio(&self, loss_rate: f64) -> Option<f64> {
        self.mean_segments().map(|mean| mean * (1.0 - loss_rate))
    }

    /// Joins what waits, and counts what ends below `next_start`: nothing will join that.
    fn settle(&mut self, next_start: u64) {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.sort_unstable_by_key(|stretch| (stretch.start, stretch.end));
        for stretch in waiting {
            match self.waiting.last_mut() {
                // What was lost again has been counted.
                Some(last) if stretch.end <= last.end => {}
                Some(last) if stretch.start <= last.end => {
                    last.end = stretch.end;
                    last.segments = last.segments.saturating_add(stretch.segments);
                }
                _ => self.waiting.push(stretch),
            }
        }
        let keep_from = self.waiting.partition_point(|stretch| stretch.end < next_start);
        // A forged stream may leave nothing that is over.
        let over = if keep_from == 0 { self.waiting.len() } else { keep_from };
        let ended: Vec<LostSpan> = self.waiting.drain(..over).collect();
        ended.iter().for_each(|stretch| self.count_burst(stretch.segments));
    }

    fn count_burst(&mut self, segments: u32) {
        let class = SHORTEST_OF_CLASS.partition_point(|shortest| *shortest <= segments).saturating_sub(1);
        self.lengths[class] = self.lengths[class].saturating_add(1);
        self.longest = self.longest.max(segments);
        self.segments += u64::from(segments);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(start: u64, end: u64, seen_up_to: u64) -> Retransmission {
        Retransmission { start, end, seen_up_to, ..Retransmission::default() }
    }

    fn bursts(lost: impl IntoIterator<Item = Retransmission>) -> LossBursts {
        let mut bursts = LossBursts::default();
        lost.into_iter().for_each(|one| bursts.add(&one, || 0));
        bursts.finish();
        bursts
    }

    #[test]
    fn neighbours_are_one_burst_in_whatever_order_they_are_repaired() {
        let found =
            bursts([lost(7000, 8000, 9000), lost(2000, 3000, 9000), lost(3000, 4000, 9000), lost(6000, 7000, 9000)]);
        assert_eq!((found.lengths, found.longest, found.segments), ([0, 2, 0, 0, 0, 0], 2, 4));
        assert_eq!(found.events, 1);
    }

    #[test]
    fn what_is_lost_again_lengthens_no_burst() {
        let found = bursts([lost(0, 1000, 5000), lost(0, 1000, 9000), lost(3000, 3500, 9000)]);
        assert_eq!((found.lengths, found.segments, found.events), ([2, 0, 0, 0, 0, 0], 2, 1));
    }

    #[test]
    fn data_sent_after_the_first_repair_is_of_the_next_event() {
        let found = bursts([
            lost(0, 1000, 5000),
            lost(4000, 5000, 7000),
            lost(5000, 6000, 12_000),
            lost(11_000, 12_000, 12_000),
        ]);
        assert_eq!(found.events, 2);
    }

    #[test]
    fn what_was_not_needed_is_of_no_event() {
        let spurious = Retransmission { spurious: true, ..lost(0, 1000, 5000) };
        let found = bursts([spurious, lost(8000, 9000, 9000)]);
        assert_eq!((found.events, found.count()), (1, 1));
    }

    #[test]
    fn the_ratio_is_one_for_losses_by_themselves() {
        let found = bursts((0..100).map(|index| lost(index * 10_000, index * 10_000 + 1000, 0)));
        assert_eq!((found.mean_segments(), found.ratio(0.1)), (Some(1.0), Some(0.9)));
        assert_eq!((LossBursts::default().mean_segments(), LossBursts::default().ratio(0.0)), (None, None));
    }

    #[test]
    fn a_long_transfer_is_counted_in_parts_without_cutting_a_burst() {
        let mut found = LossBursts::default();
        let pairs = (0..20_000u64).map(|index| index / 2 * 5000 + index % 2 * 1000);
        pairs.clone().for_each(|start| found.add(&lost(start, start + 1000, 0), || start));
        assert!(found.waiting.len() <= MOST_WAITING);
        found.finish();
        assert_eq!((found.lengths, found.segments), ([0, 10_000, 0, 0, 0, 0], 20_000));
    }

    #[test]
    fn memory_is_bounded_where_nothing_ever_ends() {
        let mut found = LossBursts::default();
        (0..50_000u64).for_each(|index| found.add(&lost(index * 5000, index * 5000 + 1000, 0), || 0));
        assert!(found.waiting.len() <= MOST_WAITING);
        found.finish();
        assert_eq!(found.segments, 50_000);
    }

    #[test]
    fn lengths_are_in_their_classes() {
        let mut start = 0;
        let found = bursts([1u64, 3, 4, 7, 8, 15, 16, 400].into_iter().flat_map(|length| {
            start += 1_000_000;
            (0..length).map(move |index| lost(start + index * 1000, start + (index + 1) * 1000, 0))
        }));
        assert_eq!((found.lengths, found.longest), ([1, 0, 1, 2, 2, 2], 400));
    }
}
