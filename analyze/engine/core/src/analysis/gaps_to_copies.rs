//! How long after its packets the copies of a host's packets pass.
//!
//! [`crate::analysis::points_apart`] measures it, [`crate::analysis::pairs`] compares with it.

use crate::analysis::copies::{CopiedPacket, Point, share_of, sorted};
use crate::tcp::stats::sequence::serial_difference;

/// So many packets of a host must be there twice.
const FEWEST_TWICE: usize = 8;

/// So many are enough to measure.
const ENOUGH_TWICE: usize = 4096;

/// On the way packets take no longer than others by this.
pub(crate) const LONGEST_QUEUE_NS: i64 = 3_000_000_000;

/// Of a host whose packets have no numbers nearly all must be there twice: it may retransmit the same.
const MOST_OF_TEN: u64 = 8;

/// Of numbered packets fewer than one in so many are mistaken.
const STRAYS: usize = 400;

/// The same of others; and where what is retransmitted comes later than any copy.
const UNNUMBERED_STRAYS: usize = 10;

const UNNUMBERED_STRAYS_BY_WAY: usize = 50;

/// Acknowledgements that are nearer than such a share of what is usual are not copies, but alike.
const ALIKE_SHARE: i64 = 4;

/// From one packet to the next the way becomes longer by at most so many times what is usual, and this.
const USUAL_STEPS: i64 = 8;

const SHORT_STEP_NS: i64 = 200_000;

/// By as much more for so many packets that passed since the last pair.
const PACKETS_TO_A_STEP: i64 = 16;

/// A host that numbers its packets gives one in so many records, or more, another number than the one before it has.
const RECORDS_TO_A_NUMBER: u64 = 8;

/// From packets of a host to their copies.
#[derive(Debug, Default)]
pub(crate) struct Gaps {
    /// With the payload of each.
    after_ns: Vec<(i64, u32)>,
    pub(crate) sent_bytes: u64,
    /// Packets that brought something new, and those of them that have a copy.
    new: u64,
    new_twice: u64,
    has_timestamps: bool,
    /// Its last IP ID, records of it, and those that had another IP ID than the one before.
    last_ip_id: u16,
    records: u64,
    numbers: u64,
}

impl Gaps {
    /// A record of the host's packet.
    pub(crate) fn take(&mut self, passing: &CopiedPacket) {
        self.records += 1;
        self.numbers += u64::from(passing.ip_id != self.last_ip_id);
        self.last_ip_id = passing.ip_id;
        self.has_timestamps |= passing.has_timestamp;
    }

    /// It has no copy yet.
    pub(crate) fn take_new(&mut self) {
        self.new += 1;
    }

    /// The packet was `first`, and its copy passes.
    pub(crate) fn take_copy(&mut self, first: &CopiedPacket, passing: &CopiedPacket) {
        self.sent_bytes += u64::from(passing.length);
        if !self.are_enough() {
            self.after_ns.push((first.ns_before(passing), passing.length));
        }
    }

    /// All of a packet that brought something new has copies.
    pub(crate) fn take_all_twice(&mut self) {
        self.new_twice += 1;
    }

    pub(crate) fn are_enough(&self) -> bool {
        self.after_ns.len() >= ENOUGH_TWICE
    }

    /// What is retransmitted looks different.
    pub(crate) fn is_numbered(&self) -> bool {
        self.has_timestamps || RECORDS_TO_A_NUMBER * self.numbers >= self.records
    }

    pub(crate) fn are_sure(&self) -> bool {
        self.after_ns.len() >= FEWEST_TWICE && (self.is_numbered() || 10 * self.new_twice >= MOST_OF_TEN * self.new)
    }

    /// Acknowledgements that are alike, as those that report the same loss, stand much nearer to one another than to their copies.
    fn without_alike(&self) -> Vec<i64> {
        let empty = || self.after_ns.iter().filter(|(_, length)| *length == 0).map(|(after_ns, _)| *after_ns);
        let least_ns = share_of(&sorted(empty().collect()), 50) / ALIKE_SHARE;
        let is_copy = |(after_ns, length): &&(i64, u32)| *length > 0 || least_ns <= 0 || *after_ns >= least_ns;
        self.after_ns.iter().filter(is_copy).map(|(after_ns, _)| *after_ns).collect()
    }

    /// What is known when all were taken.
    pub(crate) fn measured(&self) -> Measured {
        let after_ns = self.without_alike();
        let steps_ns = after_ns.windows(2).map(|pair| pair[1].saturating_sub(pair[0]).saturating_abs()).collect();
        let after_ns = sorted(after_ns);
        let middle_ns = share_of(&after_ns, 50);
        let of_first = |shares: usize| after_ns.get(after_ns.len() / shares).copied().unwrap_or(0);
        let of_last = |shares: usize| after_ns.iter().rev().nth(after_ns.len() / shares).copied().unwrap_or(0);
        // Without numbers some of what is retransmitted looks like a copy.
        let shares = if self.is_numbered() { STRAYS } else { UNNUMBERED_STRAYS };
        Measured {
            shortest_ns: of_first(if self.is_numbered() { STRAYS } else { UNNUMBERED_STRAYS_BY_WAY }),
            least_ns: of_first(shares),
            most_ns: of_last(shares),
            middle_ns,
            spread_ns: share_of(&after_ns, 90).saturating_sub(share_of(&after_ns, 10)),
            step_ns: share_of(&sorted(steps_ns), 90),
            is_numbered: self.is_numbered(),
        }
    }
}

/// See [`Gaps::measured`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measured {
    /// Nearly the shortest time to a copy, where what is retransmitted comes later than any.
    pub(crate) shortest_ns: i64,
    /// Nearly the shortest and the longest, whatever is retransmitted.
    pub(crate) least_ns: i64,
    pub(crate) most_ns: i64,
    pub(crate) middle_ns: i64,
    /// Four of five are within this.
    spread_ns: i64,
    /// So much, or less, is the difference from one packet to the next, of nine of ten.
    step_ns: i64,
    is_numbered: bool,
}

/// How the copies of a host's packets usually lie.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usual {
    measured: Measured,
    /// The point that shows its packets first.
    pub(crate) first: Point,
    /// The way takes longer than the clocks differ.
    is_by_way: bool,
    /// A longer way brings its copies nearer: the clock of the second point is that far behind.
    is_less_by_queues: bool,
}

/// The last pair of a flow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LastPair {
    /// Places of the packet and of its copy.
    first_order: u64,
    copy_order: u64,
    /// Where its copy begins.
    sequence: u32,
    after_ns: i64,
}

impl LastPair {
    pub(crate) fn of(first: &CopiedPacket, copy: &CopiedPacket) -> Self {
        let sequence = copy.sequence;
        Self { first_order: first.order, copy_order: copy.order, sequence, after_ns: first.ns_before(copy) }
    }

    /// What was sent later has passed the other point.
    fn has_overtaken(&self, first: &CopiedPacket, copy: &CopiedPacket) -> bool {
        let is_behind_in_frame = || serial_difference(copy.sequence, self.sequence) < 0;
        first.order < self.first_order || first.order == self.first_order && is_behind_in_frame()
    }
}

impl Usual {
    /// Each packet appears first at its sender.
    pub(crate) fn by_way(measured: Measured, first: Point) -> Self {
        Self { measured, first, is_by_way: true, is_less_by_queues: false }
    }

    /// The first point shows everything first; the host is at `point`.
    pub(crate) fn by_clocks(measured: Measured, point: Point) -> Self {
        Self { measured, first: Point::First, is_by_way: false, is_less_by_queues: point == Point::Second }
    }

    /// How much later, usually, the other point shows the host's packets; 0 where clocks say it rather than the way.
    pub(crate) fn later_elsewhere_ns(&self) -> i64 {
        if self.is_by_way { self.measured.middle_ns } else { 0 }
    }

    /// How unusually far `first` is from its copy; none if that is too much.
    pub(crate) fn apart(&self, first: &CopiedPacket, copy: &CopiedPacket, last: Option<&LastPair>) -> Option<u64> {
        let Measured { shortest_ns, least_ns, most_ns, middle_ns, spread_ns, is_numbered, .. } = self.measured;
        let after_ns = first.ns_before(copy);
        let least_ns = if self.is_by_way { shortest_ns } else { least_ns };
        let queue_ns =
            if self.is_less_by_queues && least_ns <= 0 { LONGEST_QUEUE_NS } else { least_ns.saturating_abs() / 2 };
        let nearest_ns = least_ns.saturating_sub(queue_ns).saturating_sub(spread_ns / 8);
        let farthest_ns = match is_numbered {
            true => most_ns.saturating_add(LONGEST_QUEUE_NS),
            false => most_ns.saturating_add(spread_ns).saturating_add(middle_ns.saturating_abs() / 4),
        };
        let usual_ns = last.map_or(middle_ns, |last| last.after_ns);
        let is_likely = is_numbered || last.is_none_or(|last| self.follows(first, copy, last));
        ((nearest_ns..=farthest_ns).contains(&after_ns) && is_likely).then(|| after_ns.abs_diff(usual_ns))
    }

    /// What has no number, and was retransmitted, looks like a copy: but what others have overtaken was lost, and queues grow slowly.
    fn follows(&self, first: &CopiedPacket, copy: &CopiedPacket, last: &LastPair) -> bool {
        let (after_ns, middle_ns) = (first.ns_before(copy), self.measured.middle_ns);
        let growth_ns = match self.is_less_by_queues {
            true => last.after_ns.min(middle_ns).saturating_sub(after_ns),
            false => after_ns.saturating_sub(last.after_ns.max(middle_ns)),
        };
        let packets = i64::try_from(copy.order.saturating_sub(last.copy_order)).unwrap_or(i64::MAX);
        let most_ns = USUAL_STEPS * self.measured.step_ns + SHORT_STEP_NS;
        !last.has_overtaken(first, copy) && growth_ns <= most_ns.saturating_mul(packets / PACKETS_TO_A_STEP + 1)
    }
}
