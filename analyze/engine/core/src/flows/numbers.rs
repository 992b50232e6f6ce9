//! Numbered datagrams of one direction: how many are missing, how many came out of order, how evenly they came.
//!
//! Rule: docs/methods.md, "Numbers of datagrams".

use crate::flows::arrivals::Arrivals;
use crate::flows::layouts::{Numbered, Scheme};
use crate::flows::media_clock::MediaClock;

/// Numberings that are followed at a time, of one direction.
const MOST_STREAMS: usize = 16;

/// A number that is further ahead, or further back, begins anew (RFC 3550 appendix A.1 says as much).
const LARGEST_JUMP: u64 = 3000;

/// See the module.
#[derive(Debug, Clone)]
pub struct Numbers {
    /// What numbers them.
    pub scheme: Scheme,
    streams: Vec<Stream>,
    /// Datagrams of numberings beyond those followed.
    pub not_followed: u64,
    /// What arrived, over time.
    pub arrivals: Arrivals,
}

/// Sums over all numberings of a direction.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct NumberTotals {
    /// Datagrams with a number, each once.
    pub received: u64,
    /// Numbers that never came.
    pub lost: u64,
    /// Those that came behind a later one.
    pub reordered: u64,
    /// Those that came again.
    pub duplicates: u64,
    /// Jitter of the numbering with the most datagrams (RFC 3550 section 6.4.1), nanoseconds.
    pub jitter_ns: Option<f64>,
    /// By how much the delay had grown over its least when the first loss showed, nanoseconds.
    pub queue_ns: Option<i64>,
}

/// One numbering.
#[derive(Debug, Clone)]
struct Stream {
    key: u32,
    first: u64,
    highest: u64,
    /// Of the numbers up to the highest, the last 128: bit 0 is the highest itself.
    seen: u128,
    received: u64,
    /// Numbers of earlier counts of this key, which began anew.
    expected_before: u64,
    received_before: u64,
    reordered: u64,
    duplicates: u64,
    clock: Option<MediaClock>,
    last_transit_ns: Option<i64>,
    jitter_ns: f64,
    jitter_samples: u64,
    least_transit_ns: i64,
    /// Growth over that when numbers were first missing.
    queue_ns: Option<i64>,
    grown_ns: i64,
}

impl Numbers {
    /// Nothing yet.
    pub fn new(scheme: Scheme) -> Self {
        Self { scheme, streams: Vec::new(), not_followed: 0, arrivals: Arrivals::default() }
    }

    /// Takes the next datagram of the direction.
    pub fn take(&mut self, numbered: &Numbered, time_ns: i64, bytes: u32) {
        let known = self.streams.iter().position(|stream| stream.key == numbered.stream);
        let Some(stream) = known.or_else(|| self.begin(numbered)).and_then(|at| self.streams.get_mut(at)) else {
            self.not_followed += 1;
            return;
        };
        let missing = stream.number(numbered);
        stream.timing(numbered, time_ns, missing > 0);
        self.arrivals.take(time_ns, bytes, missing);
    }

    fn begin(&mut self, numbered: &Numbered) -> Option<usize> {
        let place = self.streams.len();
        (place < MOST_STREAMS).then(|| {
            self.streams.push(Stream::new(numbered));
            place
        })
    }

    /// Sums.
    pub fn totals(&self) -> NumberTotals {
        let mut all = NumberTotals::default();
        for stream in &self.streams {
            all.received += stream.received + stream.received_before;
            all.lost += stream.lost();
            all.reordered += stream.reordered;
            all.duplicates += stream.duplicates;
        }
        let main = self.streams.iter().max_by_key(|stream| stream.received);
        all.jitter_ns = main.filter(|stream| stream.jitter_samples > 0).map(|stream| stream.jitter_ns);
        all.queue_ns = main.and_then(|stream| stream.queue_ns);
        all
    }
}

impl Stream {
    fn new(numbered: &Numbered) -> Self {
        Self {
            key: numbered.stream,
            first: numbered.number,
            highest: numbered.number,
            seen: 0,
            received: 0,
            expected_before: 0,
            received_before: 0,
            reordered: 0,
            duplicates: 0,
            clock: numbered.media.map(|(_, kind)| MediaClock::of(kind)),
            last_transit_ns: None,
            jitter_ns: 0.0,
            jitter_samples: 0,
            least_transit_ns: i64::MAX,
            queue_ns: None,
            grown_ns: 0,
        }
    }

    fn lost(&self) -> u64 {
        self.expected().saturating_sub(self.received + self.received_before)
    }

    fn expected(&self) -> u64 {
        self.expected_before.saturating_add(self.highest - self.first).saturating_add(1)
    }

    /// Takes the number, and says how many it shows to be missing.
    fn number(&mut self, numbered: &Numbered) -> u64 {
        let mask = numbered.mask();
        let ahead = numbered.number.wrapping_sub(self.highest & mask) & mask;
        if self.received == 0 {
            (self.seen, self.received) = (1, 1);
            return 0;
        }
        let back = ahead.wrapping_neg() & mask;
        let next = self.highest.checked_add(ahead);
        if ahead.min(back) > LARGEST_JUMP || ahead <= back && next.is_none() {
            self.expected_before = self.expected();
            self.received_before += self.received;
            (self.first, self.highest) = (numbered.number, numbered.number);
            (self.seen, self.received) = (1, 1);
            return 0;
        }
        if ahead <= back && ahead > 0 {
            self.highest = next.unwrap_or(self.highest);
            self.seen = if ahead < 128 { self.seen << ahead | 1 } else { 1 };
            self.received += 1;
            return ahead - 1;
        }
        let bit = if back < 128 { 1u128 << back } else { 0 };
        if back == 0 || self.seen & bit != 0 {
            self.duplicates += 1;
            return 0;
        }
        self.seen |= bit;
        self.reordered += 1;
        // Behind the window nobody knows whether it came before: one that fills a hole counts, up to what is missing.
        if self.lost() > 0 {
            self.received += 1;
        } else if self.highest - self.first < back {
            self.first = self.highest.saturating_sub(back);
            self.received += 1;
        }
        0
    }

    /// The interarrival jitter of RFC 3550 section 6.4.1, and the growth of the delay.
    fn timing(&mut self, numbered: &Numbered, time_ns: i64, shows_loss: bool) {
        let by_media = match (numbered.media, &mut self.clock) {
            (Some((stamp, _)), Some(clock)) => clock.sent_ns(stamp, time_ns),
            _ => None,
        };
        let Some(sent_ns) = numbered.sent_ns.or(by_media) else { return };
        let transit_ns = time_ns.saturating_sub(sent_ns);
        if let Some(last_ns) = self.last_transit_ns.replace(transit_ns) {
            let difference = transit_ns.saturating_sub(last_ns).saturating_abs() as f64;
            self.jitter_ns += (difference - self.jitter_ns) / 16.0;
            self.jitter_samples += 1;
        }
        self.least_transit_ns = self.least_transit_ns.min(transit_ns);
        let grown_ns = transit_ns.saturating_sub(self.least_transit_ns);
        // What is lost was sent before this one: the queue was full when the one before the hole came through.
        if shows_loss && self.queue_ns.is_none() {
            self.queue_ns = Some(self.grown_ns.max(grown_ns));
        }
        self.grown_ns = grown_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(numbers: impl IntoIterator<Item = u64>, bits: u8) -> NumberTotals {
        let mut all = Numbers::new(Scheme::Esp);
        for (number, time_ns) in numbers.into_iter().zip(0..) {
            all.take(&Numbered { stream: 1, number, bits, sent_ns: None, media: None }, time_ns, 1);
        }
        all.totals()
    }

    #[test]
    fn holes_are_lost_and_late_ones_reordered() {
        let found = totals([1, 2, 5, 4, 7, 7], 32);
        assert_eq!((found.received, found.lost, found.reordered, found.duplicates), (5, 2, 1, 1));
    }

    #[test]
    fn numbers_of_sixteen_bits_go_on_behind_zero() {
        let found = totals([65_533, 65_535, 0, 2, 65_534, 1], 16);
        assert_eq!((found.received, found.lost, found.reordered), (6, 0, 2));
    }

    #[test]
    fn a_number_from_before_the_first_moves_the_beginning() {
        let found = totals([10, 8, 11], 32);
        assert_eq!((found.received, found.lost, found.reordered), (3, 1, 1));
    }

    #[test]
    fn a_sender_that_begins_anew_lost_nothing() {
        let found = totals([100, 101, 900_000, 900_001], 32);
        assert_eq!((found.received, found.lost), (4, 0));
    }

    #[test]
    fn jitter_of_even_arrivals_is_zero_and_of_alternating_ones_the_step() {
        let mut all = Numbers::new(Scheme::Iperf3);
        for number in 1..400i64 {
            let sent_ns = Some(number * 1_000_000);
            let numbered = Numbered { stream: 0, number: number as u64, bits: 32, sent_ns, media: None };
            all.take(&numbered, number * 1_000_000 + 7_000_000 + number % 2 * 200_000, 100);
        }
        let jitter_ns = all.totals().jitter_ns.expect("a clock");
        assert!((jitter_ns - 200_000.0).abs() < 1.0, "{jitter_ns}");
    }
}
