//! What became of a direction's segments: counters, and the retransmissions that may still prove unnecessary.

use std::collections::VecDeque;

use crate::tcp::events::context::Context;
use crate::tcp::events::retransmission::{Retransmission, Trigger};
use crate::tcp::kernel::MOST_RETRANSMISSIONS;
use crate::tcp::loss::bursts::LossBursts;
use crate::tcp::stats::compact::Usual;
use crate::tcp::stats::sequence::serial_difference;

/// Counters of one direction, in wire segments unless the name says otherwise.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct LossCounters {
    /// Data segments with at least one byte sent before.
    pub retransmitted: u32,
    /// Their payload.
    pub retransmitted_bytes: u64,
    /// Of them, by trigger: fast, rto, tlp, rack, unknown.
    pub by_trigger: [u32; 5],
    /// Repeats of SYN or SYN-ACK.
    pub syn: u32,
    /// Repeats of FIN without data.
    pub fin: u32,
    /// Keep-alives and window probes.
    pub probes: u32,
    /// Retransmissions that were not needed: the receiver had the data already.
    pub spurious: u32,
    /// Originals that were delivered after a later segment.
    pub reordered: u32,
    /// Copies made by the network.
    pub network_duplicates: u32,
    /// Frames that were captured twice.
    pub capture_duplicates: u32,
    /// Frames recorded out of the order in which they crossed the capture point.
    pub capture_reordered: u32,
    /// Packets of the side whose numbers no window allows.
    pub unacceptable: u32,
    /// Of those looked at, packets with a wrong checksum that no offload explains, when all is over.
    pub bad_checksums: u32,
    /// SACK blocks about the side's data that it cannot have sent.
    pub sacked_beyond_sent: u32,
    /// Of the retransmitted those that had passed the capture point and were lost behind it, when all is over.
    pub lost_behind: u32,
}

impl Usual for LossCounters {
    const USUAL: &'static Self = &Self {
        retransmitted: 0,
        retransmitted_bytes: 0,
        by_trigger: [0; 5],
        syn: 0,
        fin: 0,
        probes: 0,
        spurious: 0,
        reordered: 0,
        network_duplicates: 0,
        capture_duplicates: 0,
        capture_reordered: 0,
        unacceptable: 0,
        bad_checksums: 0,
        sacked_beyond_sent: 0,
        lost_behind: 0,
    };
}

impl LossCounters {
    /// Nothing was repeated, lost, reordered or copied on the way; what the capture itself did does not count.
    pub fn is_clean(&self) -> bool {
        Self {
            capture_duplicates: self.capture_duplicates,
            capture_reordered: self.capture_reordered,
            ..Self::default()
        } == *self
    }

    /// Segments of data were retransmitted, `needless` of them for nothing.
    pub fn count_retransmission(&mut self, segments: u32, bytes: u64, trigger: Trigger, needless: u32) {
        self.retransmitted = self.retransmitted.saturating_add(segments);
        self.retransmitted_bytes += bytes;
        let by_trigger = &mut self.by_trigger[trigger as usize];
        *by_trigger = by_trigger.saturating_add(segments);
        self.spurious = self.spurious.saturating_add(needless);
    }
}

/// A data frame left out as captured twice, until the receiver's reaction says whether the network made the copy.
#[derive(Debug, Clone, Copy)]
struct PendingDuplicate {
    start: u64,
    end: u64,
    segments: u32,
}

const MOST_PENDING: usize = 256;

/// The latest retransmissions and copies of one direction.
#[derive(Debug, Clone, Default)]
pub struct RecentRetransmissions {
    list: VecDeque<Retransmission>,
    /// None of them ends above this position: most of what is asked for lies there, and is not looked for.
    highest: u64,
    /// Of those that were forgotten.
    bursts: Option<Box<LossBursts>>,
    forgotten_lost_behind: u32,
    pending: VecDeque<PendingDuplicate>,
    has_forgotten: bool,
    has_forgotten_copies: bool,
}

impl RecentRetransmissions {
    /// Adds one.
    pub fn push(&mut self, retransmission: Retransmission) {
        if self.list.len() >= MOST_RETRANSMISSIONS
            && let Some(oldest) = self.list.pop_front()
        {
            self.has_forgotten = true;
            self.forgotten_lost_behind += u32::from(is_lost_behind(&oldest));
            let list = &self.list;
            self.bursts
                .get_or_insert_default()
                .add(&oldest, || list.iter().map(|known| known.start).min().unwrap_or(0));
        }
        self.highest = self.highest.max(retransmission.end);
        self.list.push_back(retransmission);
    }

    /// Events and bursts of all that were needed, when none is to come; none if there were none.
    pub fn take_bursts(&mut self) -> Option<LossBursts> {
        let mut bursts = self.bursts.take().map_or_else(LossBursts::default, |bursts| *bursts);
        self.list.iter().for_each(|known| bursts.add(known, || 0));
        bursts.finish();
        (bursts.events > 0).then_some(bursts)
    }

    /// Segments that passed the capture point, and were needed once more: what passed first got lost behind it.
    ///
    /// Rule: docs/methods.md, "Lost after the capture point".
    pub fn lost_behind(&self) -> u32 {
        self.forgotten_lost_behind + self.list.iter().filter(|known| is_lost_behind(known)).count() as u32
    }

    /// Remembers a data frame that was left out as a copy.
    pub fn push_duplicate(&mut self, start: u64, end: u64, segments: u32) {
        if self.pending.len() >= MOST_PENDING {
            self.pending.pop_front();
            self.has_forgotten_copies = true;
        }
        self.pending.push_back(PendingDuplicate { start, end, segments });
    }

    /// There were too many retransmissions, and too many copies: the oldest were forgotten.
    pub fn have_forgotten(&self) -> [bool; 2] {
        [self.has_forgotten, self.has_forgotten_copies]
    }

    /// The newest retransmission that overlaps `start..end`.
    pub fn newest_over(&mut self, start: u64, end: u64) -> Option<&mut Retransmission> {
        if start >= self.highest {
            return None;
        }
        self.list.iter_mut().rev().find(|known| known.start < end && start < known.end)
    }

    /// Marks the repeats of `start..end` that a timer made as needless; returns how many were not known to be.
    pub fn mark_timed_out(&mut self, start: u64, end: u64) -> u32 {
        self.mark(start, end, |known| !known.on_loss_signs)
    }

    /// Marks the repeats of `start..end` with a later TSval than `echoed` as needless; returns how many were not known to be.
    pub fn mark_stamped_after(&mut self, start: u64, end: u64, echoed: u32) -> u32 {
        self.mark(start, end, |known| serial_difference(known.tsval, echoed) > 0)
    }

    fn mark(&mut self, start: u64, end: u64, is_meant: impl Fn(&Retransmission) -> bool) -> u32 {
        let is_news =
            |known: &&mut Retransmission| known.start < end && start < known.end && !known.spurious && is_meant(known);
        self.list.iter_mut().filter(is_news).map(|known| known.spurious = true).count() as u32
    }

    /// The repeat of `start` that passed at `time_ns` was not needed. If signs of loss at the sender triggered it, an original
    /// has come late.
    pub fn mark_needless(&mut self, start: u64, time_ns: i64, context: &Context, counters: &mut LossCounters) {
        let mut passed = self.list.iter_mut().rev().take_while(|known| known.time_ns >= time_ns);
        if let Some(known) = passed.find(|known| known.start == start && known.time_ns == time_ns)
            && !known.spurious
        {
            known.spurious = true;
            counters.spurious += 1;
            counters.reordered += u32::from(context.beside_sender && known.on_loss_signs);
        }
    }

    /// A packet at `start` has the timestamps of the last retransmission there: its sender has heard nothing since.
    pub fn has_timestamps_of_last(&self, start: u64, tsval: u32, tsecr: u32) -> bool {
        let last = self.list.iter().rev().find(|known| known.start <= start && start < known.end);
        last.is_some_and(|known| (known.tsval, known.tsecr) == (tsval, tsecr))
    }

    /// Signs of loss had the byte at `position` retransmitted, and none of its repeats was needed: what else may have brought it than
    /// the original? With one needed, the report may be of a later one whose predecessor's acknowledgement was lost.
    fn original_came_late(&self, position: u64) -> bool {
        let mut repeats = self.list.iter().filter(|known| known.start <= position && position < known.end);
        repeats.clone().all(|known| known.spurious) && repeats.any(|known| known.on_loss_signs)
    }

    /// Applies a report of duplicate data `start..end` (D-SACK, RFC 2883) to the counters: for each byte range the
    /// oldest retransmission without a report was unnecessary (RFC 3708), but for one that is known to be by its timestamp:
    /// the report is about that. Where nothing was retransmitted, the network made the copy.
    ///
    /// Where reports cover a part of a retransmission, the rest of it was new to the receiver: kernels join short segments when they
    /// send them again (Linux, `tcp_retrans_try_collapse`). Reports of several parts are added up.
    ///
    /// At the sender, an original that must have come late (something later had been reported, yet the
    /// retransmission was one too many) is reordering. At the receiver a retransmission that brought what was missing was
    /// needed: the report is about the copy that came after it.
    pub fn duplicate_reported(
        &mut self,
        start: u64,
        end: u64,
        segment_size: u16,
        context: &Context,
        counters: &mut LossCounters,
    ) {
        let mut position = start;
        while position < end {
            let unreported =
                |known: &Retransmission| !known.reported && known.start <= position && position < known.end;
            let found = self.list.iter().position(|known| unreported(known) && known.spurious);
            if found.is_none() && context.beside_receiver && self.pending_copy_of(position).is_some() {
                position = self.copied_by_network(position, end, segment_size, counters);
                continue;
            }
            match found.or_else(|| self.list.iter().position(unreported)) {
                Some(index) => {
                    let known = &mut self.list[index];
                    let covered_to = end.min(known.end);
                    known.reported_bytes = known.reported_bytes.saturating_add((covered_to - position) as u32);
                    if !is_nearly_all(known) {
                        position = covered_to;
                        continue;
                    }
                    let (is_news, end) = (!known.spurious, known.end);
                    (known.reported, known.spurious) = (true, true);
                    counters.spurious += u32::from(is_news);
                    let came_late = is_news && context.beside_sender && self.original_came_late(position);
                    counters.reordered += u32::from(came_late);
                    position = end;
                }
                None => position = self.copied_by_network(position, end, segment_size, counters),
            }
        }
    }

    fn pending_copy_of(&self, position: u64) -> Option<usize> {
        self.pending.iter().position(|known| known.start <= position && position < known.end)
    }

    /// Counts a copy that starts at `position`; returns where it ends.
    fn copied_by_network(&mut self, position: u64, end: u64, segment_size: u16, counters: &mut LossCounters) -> u64 {
        if let Some(known) = self.pending_copy_of(position).and_then(|index| self.pending.remove(index)) {
            counters.network_duplicates += known.segments;
            counters.capture_duplicates = counters.capture_duplicates.saturating_sub(1);
            return known.end;
        }
        let next =
            self.list.iter().filter(|known| !known.reported && known.start > position).map(|known| known.start).min();
        let stop = next.map_or(end, |next| next.min(end));
        counters.network_duplicates += crate::tcp::events::segment::wire_segments(
            u32::try_from(stop - position).unwrap_or(u32::MAX),
            segment_size,
        );
        stop
    }
}

fn is_lost_behind(known: &Retransmission) -> bool {
    known.was_seen && !known.spurious
}

/// Reports cover the retransmission, as well as its borders are known: where the size of segments is a guess, they may lie a little
/// beside those of the segments that were sent.
fn is_nearly_all(known: &Retransmission) -> bool {
    8 * u64::from(known.reported_bytes) >= 7 * (known.end - known.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AWAY: Context = Context {
        sack: true,
        beside_sender: false,
        beside_receiver: false,
        loops_ns: [None; 2],
        handshake_rtt_ns: None,
    };

    fn retransmission(start: u64, end: u64) -> Retransmission {
        Retransmission { start, end, ..Retransmission::default() }
    }

    #[test]
    fn a_report_marks_one_retransmission_of_the_range() {
        let (mut recent, mut counters) = (RecentRetransmissions::default(), LossCounters::default());
        recent.push(retransmission(0, 1000));
        recent.push(retransmission(0, 1000));
        recent.duplicate_reported(0, 1000, 1000, &AWAY, &mut counters);
        assert_eq!((counters.spurious, counters.network_duplicates), (1, 0));
        recent.duplicate_reported(0, 1000, 1000, &AWAY, &mut counters);
        assert_eq!((counters.spurious, counters.network_duplicates), (2, 0));
        recent.duplicate_reported(0, 1000, 1000, &AWAY, &mut counters);
        assert_eq!((counters.spurious, counters.network_duplicates), (2, 1));
    }

    #[test]
    fn a_retransmission_of_which_half_was_a_duplicate_was_needed() {
        let (mut recent, mut counters) = (RecentRetransmissions::default(), LossCounters::default());
        recent.push(retransmission(0, 200));
        recent.duplicate_reported(100, 200, 1000, &AWAY, &mut counters);
        assert_eq!((counters.spurious, counters.network_duplicates), (0, 0));
        recent.duplicate_reported(0, 100, 1000, &AWAY, &mut counters);
        assert_eq!((counters.spurious, counters.network_duplicates), (1, 0));
    }

    #[test]
    fn a_report_of_what_was_never_sent_again_is_a_copy_by_the_network() {
        let (mut recent, mut counters) = (RecentRetransmissions::default(), LossCounters::default());
        counters.capture_duplicates = 1;
        recent.push_duplicate(0, 1000, 1);
        recent.duplicate_reported(0, 1000, 1000, &AWAY, &mut counters);
        assert_eq!((counters.network_duplicates, counters.capture_duplicates), (1, 0));
        recent.duplicate_reported(5000, 7000, 1000, &AWAY, &mut counters);
        assert_eq!(counters.network_duplicates, 3);
    }

    #[test]
    fn beside_the_receiver_the_report_of_a_copy_leaves_the_retransmission_needed() {
        let beside_receiver = Context { beside_receiver: true, ..AWAY };
        for (context, expected) in [(&beside_receiver, (0, 1)), (&AWAY, (1, 0))] {
            let (mut recent, mut counters) = (RecentRetransmissions::default(), LossCounters::default());
            counters.capture_duplicates = 1;
            recent.push(retransmission(0, 1000));
            recent.push_duplicate(0, 1000, 1);
            recent.duplicate_reported(0, 1000, 1000, context, &mut counters);
            assert_eq!((counters.spurious, counters.network_duplicates), expected);
        }
    }
}
