//! Losses upstream of the capture point, counted by missing IPv4 identifications (docs/methods.md, section 5:
//! `lost_segments_ipid`).
//!
//! A connected Linux TCP socket numbers its packets one after another; each wire segment of a superpacket takes one
//! number. The count is offered only if the sender proves to number that way: at least 95 % of the packets that follow
//! one another in the stream must also do so in their identification, and only if it is a host that numbers each connection by
//! itself: what is missing in numbers that connections share was sent to somebody else.
//!
//! Rule: docs/methods.md, "Lost segments by IP ID".

use std::ops::Range;

use crate::tcp::stats::sequence::serial_difference_16;

/// Identifications behind the newest one that are remembered one by one.
const WINDOW: u64 = 1024;

/// Packets that must have been compared before the count is believed.
const FEWEST_COMPARED: u32 = 8;

/// And of which so many in a hundred must follow one another in their number, too.
const CONSECUTIVE_PERCENT: u64 = 95;

/// Numbers of one frame that are remembered: none has more segments, so that a length that lies costs no more.
const MOST_SEGMENTS: u32 = 4096;

/// Packets without data that must have been seen before what is missing among them is believed.
const FEWEST_WITHOUT_DATA: u64 = 16;

/// What acknowledgements behind a gap must acknowledge for each number, of what all do: a single packet to others leaves half.
const SHARE_BEHIND_GAPS: f64 = 0.7;

/// Farther away than this, 15 bits of a number tell more than all 16.
const MOST_AHEAD: i64 = 1 << 14;

/// Packets that a host sends elsewhere between two of a connection, at most, if it numbers them together.
const MOST_BETWEEN: u64 = 1 << 12;

/// Initial time to live of the stacks that number each connection by itself (Linux and what is built on it).
const TTL_OF_NUMBERS_APART: u8 = 64;

/// Whether the host that sent a packet with this time to live numbers each connection by itself. Windows (128) numbers all that
/// goes to the same host together, older stacks (255) all that they send.
#[inline]
pub fn numbers_connections_apart(ttl: u8) -> bool {
    ttl <= TTL_OF_NUMBERS_APART
}

/// How far `ip_id` lies ahead of `other`. Cards that cut superpackets may count in 15 bits only: a number that the highest bit
/// alone moves far away is near.
#[inline]
pub fn distance(ip_id: u16, other: u16) -> i64 {
    let [whole, without_highest] = [ip_id, ip_id ^ 0x8000].map(|id| i64::from(serial_difference_16(id, other)));
    if whole.abs() <= MOST_AHEAD { whole } else { without_highest }
}

/// What is known of a packet whose number does not follow the newest one.
#[derive(Debug, Clone, Copy, Default)]
pub struct NeighbouringId {
    /// No data up to it is missing.
    pub whole: bool,
    /// Bytes of the other direction that it acknowledges and none before it did.
    pub acknowledges: u64,
    /// Bytes of data in it.
    pub payload_bytes: u32,
    /// The most that a segment may hold, bytes; asked of data alone.
    pub most_bytes: u32,
}

/// The last packet that was not one segment with the next number.
#[derive(Debug, Default, Clone, Copy)]
struct Last {
    start: u64,
    segments: u32,
    payload_bytes: u32,
    contiguous: bool,
}

/// Frames that stand for fewer segments than they were taken for: what follows directly in the stream has a number that would
/// have been theirs.
#[derive(Debug, Default, Clone, Copy)]
pub struct Fewer {
    /// So many segments too many were counted.
    pub segments: u32,
    /// So many frames were taken for more than one segment and are one.
    pub frames: u32,
    /// So many seemed to end with less than a full segment, and are made of equal ones.
    pub full: u32,
    /// Payload of a full segment, if the last two of these frames, one after the other, say the same.
    pub full_bytes: Option<u32>,
    /// What the last of them says, and the number after those that it took.
    last: Option<(u32, u64)>,
}

impl Fewer {
    /// Nothing to tell.
    pub const NONE: Self = Self { segments: 0, frames: 0, full: 0, full_bytes: None, last: None };
}

/// Identifications of the packets of one direction.
#[derive(Debug, Clone, Default)]
pub struct IpIdentifications {
    /// Position of the first identification, and the one after the newest; positions are unwrapped.
    first: u64,
    next: u64,
    distinct: u64,
    seen: [u64; (WINDOW / 64) as usize],
    /// Passed over where no data was missing, and the last of it.
    elsewhere: u64,
    last_elsewhere: u64,
    /// Known to have been sent before the first of all, while none is known.
    before_first: u64,
    compared: u32,
    consecutive: u32,
    /// As `consecutive`, but for some left out.
    rising: u32,
    last_next: u64,
    /// The last of them came one after the other: those from here on are not in `seen`, `last_next` and the counters yet, and
    /// so many of them had contiguous data.
    run_start: u64,
    run_contiguous: u32,
    /// How often the next one was another than the number after the newest.
    breaks: u32,
    /// Numbers of acknowledgements of more data that came after a gap, with those of the gap, and what they acknowledged.
    behind_gaps: u64,
    acknowledged_behind_gaps: u64,
    last: Last,
    fewer: Fewer,
    /// The next one may go on with the run.
    in_run: bool,
    /// `fewer` says something.
    pub are_fewer: bool,
    /// A frame of many segments takes one number.
    numbers_frames: bool,
}

impl IpIdentifications {
    /// Takes a packet that stands for `segments` identifications from `ip_id` on; `contiguous` says that its data
    /// directly follows the data packet before it. What is around it is asked only where numbers are missing.
    #[inline(always)]
    pub fn add(&mut self, ip_id: u16, segments: u32, contiguous: bool, around: impl FnOnce() -> NeighbouringId) {
        if segments == 1 && self.follows(ip_id) {
            self.go_on(contiguous);
        } else {
            self.add_any(ip_id, segments, contiguous, around());
        }
    }

    /// It is the number after the newest, behind others like it.
    #[inline(always)]
    pub fn follows(&self, ip_id: u16) -> bool {
        self.in_run && ip_id == self.next as u16
    }

    /// Takes a packet of one segment whose number [`Self::follows`].
    #[inline(always)]
    pub fn go_on(&mut self, contiguous: bool) {
        self.next += 1;
        self.run_contiguous += u32::from(contiguous);
    }

    fn settle_run(&mut self) {
        self.compared += self.run_contiguous;
        self.consecutive += self.run_contiguous;
        self.rising += self.run_contiguous;
        let run = self.run();
        if run > 0 {
            self.distinct += run;
            self.last_next = self.next;
            self.remember(self.run_start..self.next, true);
        }
        (self.run_start, self.run_contiguous) = (self.next, 0);
    }

    fn run(&self) -> u64 {
        self.next - self.run_start
    }

    /// Takes any other packet.
    #[inline(never)]
    pub fn add_any(&mut self, ip_id: u16, segments: u32, contiguous: bool, around: NeighbouringId) {
        // What the kernel sends without a socket (RFC 6864 section 4.1: no fragments, no identification).
        if ip_id == 0 && (self.next == 0 || self.ahead(ip_id).unsigned_abs() > WINDOW) {
            return;
        }
        self.settle_run();
        if self.next == 0 {
            self.next = (1 << 32) + u64::from(ip_id);
            self.first = self.next.saturating_sub(self.before_first);
            self.last_next = self.next;
        }
        let start = self.next.wrapping_add_signed(self.ahead(ip_id));
        self.breaks += u32::from(start != self.next);
        let gap = start.saturating_sub(self.next);
        if around.whole {
            self.elsewhere += gap;
            self.last_elsewhere = gap;
        }
        if gap > 0 && around.acknowledges > 0 {
            self.behind_gaps += gap + 1;
            self.acknowledged_behind_gaps += around.acknowledges;
        }
        if contiguous {
            let takes_fewer = start != self.last_next && self.last_takes_fewer(start, around.most_bytes);
            self.compared += 1;
            self.consecutive += u32::from(start == self.last_next || takes_fewer);
            self.rising += u32::from(start.wrapping_sub(self.last_next) < MOST_BETWEEN);
        }
        for id in start..start + u64::from(segments.min(MOST_SEGMENTS)) {
            self.see(id);
        }
        self.last_next = start + u64::from(segments);
        self.last = Last { start, segments, payload_bytes: around.payload_bytes, contiguous };
        (self.run_start, self.in_run) = (self.next, self.next == self.last_next);
    }

    /// What goes on with the stream at `start` has a number that the frame before it was to have taken: two segments never have the
    /// same. Stacks that number frames, and leave their segments to the card, show it by frames that need more than they take.
    #[cold]
    fn last_takes_fewer(&mut self, start: u64, most_bytes: u32) -> bool {
        let Last { start: last_start, segments, payload_bytes, contiguous } = self.last;
        let numbers = u32::try_from(start.wrapping_sub(last_start)).unwrap_or(0);
        let is_last = contiguous && self.last_next == last_start + u64::from(segments);
        if !is_last || !(1..segments).contains(&numbers) {
            return false;
        }
        self.numbers_frames |= payload_bytes > numbers.saturating_mul(most_bytes);
        if self.numbers_frames {
            return false;
        }
        let fewer = &mut self.fewer;
        fewer.segments += segments - numbers;
        fewer.frames += u32::from(numbers == 1);
        let full_bytes = payload_bytes.is_multiple_of(numbers).then_some(payload_bytes / numbers);
        fewer.full += u32::from(full_bytes.is_some() && !payload_bytes.is_multiple_of(segments));
        let is_confirmed = full_bytes.is_some_and(|bytes| fewer.last == Some((bytes, last_start)));
        fewer.full_bytes = full_bytes.filter(|_| is_confirmed);
        fewer.last = full_bytes.map(|bytes| (bytes, start));
        self.are_fewer = true;
        true
    }

    /// What has to be counted again since this was asked last; nothing while it is not clear that the sender counts its packets.
    #[cold]
    pub fn take_fewer(&mut self) -> Fewer {
        self.are_fewer = false;
        if self.numbers_frames || !self.looks_consecutive() {
            return Fewer::NONE;
        }
        let last = self.fewer.last;
        std::mem::replace(&mut self.fewer, Fewer { last, ..Fewer::NONE })
    }

    #[inline]
    fn see(&mut self, id: u64) {
        let word = (id / 64 % (WINDOW / 64)) as usize;
        let bit = 1u64 << (id % 64);
        if id >= self.next {
            self.remember(self.next..id + 1, false);
            self.next = id + 1;
        } else if id + WINDOW >= self.next && self.seen[word] & bit != 0 {
            return;
        }
        self.first = self.first.min(id);
        self.seen[word] |= bit;
        self.distinct += 1;
    }

    /// How far `ip_id` lies ahead of the newest number's successor.
    #[inline]
    fn ahead(&self, ip_id: u16) -> i64 {
        distance(ip_id, self.next as u16)
    }

    /// Remembers that all of `ids` were seen, or that none was. Word by word: numbers drawn at random leave out more than a window
    /// with every packet.
    #[inline]
    fn remember(&mut self, ids: Range<u64>, seen: bool) {
        let mut id = ids.start.max(ids.end.saturating_sub(WINDOW));
        while id < ids.end {
            let until = ids.end.min((id / 64 + 1) * 64);
            let bits = u64::MAX >> (64 - (until - id)) << (id % 64);
            let word = &mut self.seen[(id / 64 % (WINDOW / 64)) as usize];
            *word = if seen { *word | bits } else { *word & !bits };
            id = until;
        }
    }

    /// Identifications between the newest one and `ip_id` that have not been seen; none if `ip_id` is not ahead.
    #[inline]
    pub fn missing_before(&self, ip_id: u16) -> Option<u64> {
        u64::try_from(self.ahead(ip_id)).ok().filter(|_| self.next > 0)
    }

    /// True if a packet with this number was seen, of those before the newest one, but for those long ago.
    pub fn is_known(&self, ip_id: u16) -> bool {
        // The newest frame may have had a segment less than it was thought to have.
        let position = self.next.wrapping_add_signed(self.ahead(ip_id));
        let is_within = position + 1 < self.next && position + WINDOW >= self.next;
        let is_seen = || self.seen[(position / 64 % (WINDOW / 64)) as usize] & 1 << (position % 64) != 0;
        is_within && (position >= self.run_start || is_seen())
    }

    /// The position after the newest identification.
    #[inline]
    pub fn next_position(&self) -> u64 {
        self.next
    }

    /// Identifications within the range seen that are missing; none if the sender does not number consecutively.
    pub fn missing(&self) -> Option<u64> {
        let [compared, consecutive] = self.with_run(self.consecutive);
        let proven =
            compared >= FEWEST_COMPARED && u64::from(consecutive) * 100 >= u64::from(compared) * CONSECUTIVE_PERCENT;
        proven.then(|| (self.next - self.first).saturating_sub(self.distinct + self.run()))
    }

    /// The same of a direction that sends no data to compare by, only acknowledgements of `acknowledged_bytes`. Most must come
    /// with the number after that of the one before; and what comes after a gap must acknowledge as much for each number as the
    /// others, which it does not where the missing went to somebody else.
    ///
    /// Rule: docs/methods.md, "Lost acknowledgements".
    pub fn missing_of_acknowledgements(&self, acknowledged_bytes: u64) -> Option<u64> {
        let seen = self.distinct + self.run();
        let missing = (self.next - self.first).saturating_sub(seen);
        let usual = acknowledged_bytes as f64 / seen.max(1) as f64;
        let behind_gaps = self.acknowledged_behind_gaps as f64 / self.behind_gaps.max(1) as f64;
        let proven = seen >= FEWEST_WITHOUT_DATA
            && 2 * u64::from(self.breaks) <= seen
            && missing <= seen
            && (missing == 0 || behind_gaps >= SHARE_BEHIND_GAPS * usual);
        proven.then_some(missing)
    }

    /// How many of them are missing where no data is: acknowledgements that were lost, or packets to others.
    pub fn elsewhere(&self) -> u64 {
        self.elsewhere
    }

    /// So many packets with data were sent right before the last number after a gap, or before the first of all.
    pub fn sent_before(&mut self, segments: u64) {
        self.elsewhere -= self.last_elsewhere;
        let before_first = segments.saturating_sub(self.last_elsewhere);
        if self.next == 0 {
            self.before_first = before_first;
        } else {
            self.first = self.first.saturating_sub(before_first);
        }
        self.last_elsewhere = 0;
    }

    /// True if so far the numbering looks consecutive, with little to go by.
    pub fn looks_consecutive(&self) -> bool {
        self.are_most(self.consecutive)
    }

    /// How far `ip_id` lies ahead of the number that comes next; none where its sender does not number packets in order.
    pub fn regular_step(&self, ip_id: u16) -> Option<i64> {
        self.looks_rising().then(|| self.ahead(ip_id))
    }

    /// True if so far, with little to go by, later packets look to have higher numbers, whatever else is numbered with them.
    pub fn looks_rising(&self) -> bool {
        self.are_most(self.rising)
    }

    fn are_most(&self, so_many: u32) -> bool {
        let [compared, so_many] = self.with_run(so_many);
        compared >= 2 && so_many * 10 >= compared * 8
    }

    /// Packets compared, and so many of them, with those of the open run.
    fn with_run(&self, so_many: u32) -> [u32; 2] {
        [self.compared, so_many].map(|count| count + self.run_contiguous)
    }
}

#[cfg(test)]
#[path = "ip_id_tests.rs"]
mod tests;
