//! What a path can carry where no queue stands: by trains of packets that were sent faster than they came.
//!
//! A sender that the window limits sends in bursts, and the narrowest place of the path draws these out: the packets of a train
//! wait for one another, each longer than the one before. While they do so the path is what limits, though only for moments,
//! and what passes is what it can carry (packet trains: Jain and Routhier 1986; Dovrolis, Ramanathan and Moore 2004). What a
//! path or a host has held comes the other way round: its first packet has waited longest. It shows no rate.
//!
//! ```text
//! sent   |||||||||||||||                     held  | | | | | | | | | |
//! comes  |  |  |  |  |  |  |  |              comes                 ||||||||||
//! ```
//! Other traffic may draw out packets as well, less evenly: several trains must agree with one another, and with the fastest that
//! ever passed.
//!
//! Rule: docs/methods.md, "Rate of packet trains".

use crate::packet::{Packet, option_bits};
use crate::tcp::capture::timestamp_clock::TimestampClock;

/// So often a packet is looked at.
const STEP_NS: i64 = 5_000_000;

/// A train lasts for so long at least: twice what aggregation and interrupt coalescing may gather.
const SHORTEST_NS: i64 = 20_000_000;

/// And was sent within this share of the time in which it came: in slow start a sender sends twice what the path carries.
const SENT_WITHIN: f64 = 0.7;

/// What was held for longer says nothing of the path.
const LONGEST_WAIT_NS: i64 = 15_000_000;

/// What passed so often does so as a rule, be it in trains or not.
const TIMES: usize = 2;

const SAME_RATE: f64 = 0.85;

/// Pairs of packets kept: more than the shortest train has steps. A power of two.
const KEPT: usize = 8;

/// A connection that is over after so many steps has none.
const FEWEST_STEPS: u32 = 4;

/// A packet that passed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TrainPacket {
    /// By the capture's clock.
    pub time_ns: i64,
    /// All bytes up to the end of this packet, modulo 2^32.
    pub bytes: u32,
    /// When it was sent, by any clock.
    pub sent_ns: i64,
}

/// The end of a step, between its last packet and the one after it.
#[derive(Debug, Clone, Copy, Default)]
struct Border {
    last: TrainPacket,
    pause_ns: i64,
    /// So much of the pause is because nothing was sent.
    idle_ns: i64,
}

impl Border {
    fn between(last: TrainPacket, next: &TrainPacket) -> Self {
        let pause_ns = next.time_ns.saturating_sub(last.time_ns);
        Self { last, pause_ns, idle_ns: next.sent_ns.saturating_sub(last.sent_ns).clamp(0, pause_ns) }
    }

    /// By so much longer what follows was under way than what came before.
    fn waited_ns(&self) -> i64 {
        self.pause_ns.saturating_sub(self.idle_ns)
    }
}

/// The latest borders. A ring: a packet that ends a step must not move them all.
#[derive(Debug, Clone, Default)]
struct Borders {
    ring: [Border; KEPT],
    newest: usize,
    count: usize,
}

impl Borders {
    fn clear(&mut self) {
        self.count = 0;
    }

    fn push(&mut self, border: Border) {
        self.newest = self.newest.wrapping_sub(1) % KEPT;
        self.ring[self.newest] = border;
        self.count = (self.count + 1).min(KEPT);
    }

    /// The newest first.
    fn iter(&self) -> impl Iterator<Item = &Border> {
        (self.newest..self.newest + self.count).map(|place| &self.ring[place % KEPT])
    }
}

/// What passed from a time on.
#[derive(Debug, Clone, Copy)]
struct PassedSince {
    start_ns: i64,
    /// Bytes in a nanosecond, over the time in which it was sent or came, whichever took longer.
    rate: f64,
}

/// The fastest stretches, none of which overlaps another.
#[derive(Debug, Clone, Default)]
struct Fastest {
    /// The slowest of them first.
    rates: [f64; TIMES],
    /// The one in progress, and when it was last seen.
    running: f64,
    ended_ns: Option<i64>,
}

impl Fastest {
    fn add(&mut self, stretch: &PassedSince, end_ns: i64) {
        let rate = stretch.rate;
        let is_same = self.ended_ns.is_some_and(|ended_ns| stretch.start_ns < ended_ns);
        if is_same && rate <= self.running {
            return;
        }
        let known = self.rates.iter().position(|&known| is_same && known == self.running);
        self.ended_ns = Some(end_ns);
        self.running = rate;
        let place = &mut self.rates[known.unwrap_or(0)];
        *place = place.max(rate);
        self.rates.sort_by(f64::total_cmp);
    }

    /// What was reached so often.
    fn usual(&self) -> f64 {
        self.rates[0]
    }
}

/// [`Trains`] of data that passes, by its sender's timestamps.
#[derive(Debug, Clone, Default)]
pub struct Arrivals {
    trains: Trains,
    /// Timestamp of the last packet looked at, and when that was.
    tsval: Option<u32>,
    sent_ns: i64,
}

/// See the module. Small as long as little has passed: most connections never need more.
#[derive(Debug, Clone)]
pub struct Trains {
    until_ns: i64,
    last: Option<TrainPacket>,
    steps: u32,
    making: Option<Box<TrainsInMaking>>,
}

#[derive(Debug, Clone, Default)]
struct TrainsInMaking {
    borders: Borders,
    /// Bytes in a nanosecond of whatever passed, and of trains.
    all: Fastest,
    trains: Fastest,
}

impl Default for Trains {
    fn default() -> Self {
        Self { until_ns: i64::MIN, last: None, steps: 0, making: None }
    }
}

impl Trains {
    /// The packet that passes at this time is looked at.
    #[inline(always)]
    pub fn is_due(&self, time_ns: i64) -> bool {
        time_ns >= self.until_ns
    }

    /// A packet passes.
    #[inline(always)]
    pub fn add(&mut self, passed: TrainPacket) {
        let last = self.last.replace(passed);
        if self.is_due(passed.time_ns) {
            self.step(last, passed);
        }
    }

    /// What passes now has nothing to do with what did before.
    pub fn interrupt(&mut self) {
        self.last = None;
        if let Some(making) = self.making.as_deref_mut() {
            making.borders.clear();
        }
    }

    /// A step is over: `last` was the last packet in it, if any, `next` is the first in the next one.
    #[cold]
    #[inline(never)]
    pub fn step(&mut self, last: Option<TrainPacket>, next: TrainPacket) {
        let begun_ns = next.time_ns.saturating_sub(next.time_ns.rem_euclid(STEP_NS));
        self.until_ns = begun_ns.saturating_add(STEP_NS);
        self.steps = self.steps.saturating_add(1);
        if let Some(last) = last.filter(|last| last.time_ns <= next.time_ns && self.steps > FEWEST_STEPS) {
            self.making.get_or_insert_default().step(last, next);
        }
    }

    /// Most bytes in a nanosecond that the path carries; none if it never was what limits for long enough to tell.
    pub fn bytes_per_ns(&self) -> Option<f64> {
        let making = self.making.as_deref()?;
        let (all, trains) = (making.all.usual(), making.trains.usual());
        (trains > 0.0 && trains >= SAME_RATE * all).then_some(trains.max(all))
    }
}

impl Arrivals {
    /// The packet that passes at this time is looked at.
    #[inline(always)]
    pub fn is_due(&self, time_ns: i64) -> bool {
        self.trains.is_due(time_ns)
    }

    /// `packet` passes after `bytes`, and is not among what `clock` has seen.
    pub fn step(&mut self, packet: &Packet, bytes: u64, clock: &TimestampClock) {
        let stamped = packet.options & option_bits::TIMESTAMPS != 0;
        let newest = clock.newest_ns().zip(clock.newest()).filter(|_| stamped);
        let known = newest.and_then(|(time_ns, newest)| {
            let until_newest_ns = clock.between_ns(self.tsval.unwrap_or(newest), newest)?;
            Some((time_ns, self.sent_ns.saturating_add(until_newest_ns), clock.since_newest_ns(packet.tsval)?))
        });
        let bytes = bytes as u32;
        self.tsval = stamped.then_some(packet.tsval);
        let last = known.map(|(time_ns, sent_ns, since_ns)| {
            self.sent_ns = sent_ns.saturating_add(since_ns);
            TrainPacket { time_ns, bytes, sent_ns }
        });
        if last.is_none() {
            self.trains.interrupt();
        }
        let bytes = bytes.wrapping_add(packet.wire_length);
        self.trains.step(last, TrainPacket { time_ns: packet.time_ns, bytes, sent_ns: self.sent_ns });
    }

    /// As [`Trains::bytes_per_ns`].
    pub fn bytes_per_ns(&self) -> Option<f64> {
        self.trains.bytes_per_ns()
    }
}

impl TrainsInMaking {
    fn step(&mut self, last: TrainPacket, next: TrainPacket) {
        self.measure(&last);
        let border = Border::between(last, &next);
        if border.waited_ns() >= LONGEST_WAIT_NS {
            self.borders.clear();
            return;
        }
        self.borders.push(border);
    }

    /// What passed until `end`.
    fn measure(&mut self, end: &TrainPacket) {
        // Which border begins the fastest stretch, and which the train, nobody can predict: neither must become a branch.
        let (mut goes_on, mut fastest, mut train) = (true, PassedSince { start_ns: 0, rate: -1.0 }, None);
        for border in self.borders.iter() {
            goes_on &= border.pause_ns < STEP_NS;
            let idle_ns = border.idle_ns & (i64::from(goes_on) - 1);
            // Of times near the ends of what can be told no rate is right: saturating would cost as much as all else here.
            let start_ns = border.last.time_ns.wrapping_add(idle_ns);
            let span_ns = end.time_ns.wrapping_sub(start_ns);
            // What was held for moments catches up: it was sent over a longer time than it comes in.
            let sent_in_ns = end.sent_ns.wrapping_sub(border.last.sent_ns).wrapping_sub(idle_ns);
            let bytes = f64::from(end.bytes.wrapping_sub(border.last.bytes));
            let longest_ns = longer(longer(span_ns as f64, sent_in_ns as f64), SHORTEST_NS as f64);
            let rate = bytes / longest_ns;
            let is_faster = -i64::from(rate > fastest.rate);
            fastest.start_ns ^= (fastest.start_ns ^ start_ns) & is_faster;
            fastest.rate = longer(fastest.rate, rate);
            if goes_on && train.is_none() && span_ns >= SHORTEST_NS {
                train = Some((PassedSince { start_ns, rate }, sent_in_ns as f64 <= SENT_WITHIN * span_ns as f64));
            }
        }
        if self.borders.count > 0 {
            self.all.add(&fastest, end.time_ns);
        }
        if let Some((stretch, true)) = train {
            self.trains.add(&stretch, end.time_ns);
        }
    }
}

/// Neither is NaN: without a branch, which [`f64::max`] needs for that.
#[inline(always)]
fn longer(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: i64 = 1_000_000;

    /// Packets of 1000 bytes: when each passes and when it was sent, in ms.
    fn trains_of(packets: impl IntoIterator<Item = (f64, f64)>) -> Trains {
        let mut trains = Trains::default();
        for (number, (time_ms, sent_ms)) in packets.into_iter().enumerate() {
            let [time_ns, sent_ns] = [time_ms, sent_ms].map(|time| (time * MILLISECOND as f64) as i64);
            trains.add(TrainPacket { time_ns, bytes: 1000 * (number as u32 + 1), sent_ns });
        }
        trains
    }

    /// Every 100 ms thirty packets, sent within 1 ms, that come one by one in so many ms.
    fn drawn_out(bursts: u32, spacing_ms: f64) -> Vec<(f64, f64)> {
        let burst = |at: u32| (0..30).map(move |n| (f64::from(at), f64::from(n)));
        let place = |(at, n)| (100.0 * at + 20.0 + spacing_ms * n, 100.0 * at + n / 30.0);
        (0..bursts).flat_map(burst).map(place).collect()
    }

    #[test]
    fn trains_that_agree_show_what_the_path_carries() {
        let rate = |bursts| trains_of(drawn_out(bursts, 1.0)).bytes_per_ns();
        assert!(rate(5).is_some_and(|rate| (0.00095..0.00111).contains(&rate)), "{:?}", rate(5));
        assert_eq!(rate(0), None);
    }

    #[test]
    fn what_comes_as_it_was_sent_shows_no_rate() {
        assert_eq!(trains_of((0..500).map(|n| (f64::from(n) + 20.0, f64::from(n)))).bytes_per_ns(), None);
        assert_eq!(trains_of(drawn_out(5, 0.03)).bytes_per_ns(), None);
    }

    #[test]
    fn what_passed_faster_at_times_shows_that_the_path_was_not_what_drew_the_others_out() {
        let more = |bursts| drawn_out(bursts, 0.03).into_iter().map(|(time, sent)| (time + 1000.0, sent + 1000.0));
        assert_eq!(trains_of(drawn_out(5, 1.0).into_iter().chain(more(4))).bytes_per_ns(), None);
        assert!(trains_of(drawn_out(5, 1.0).into_iter().chain(more(0))).bytes_per_ns().is_some());
    }

    #[test]
    fn a_backlog_does_not_make_the_path_fast() {
        // What was sent each millisecond for 100 ms, and what was sent at once, come at once after 200 ms.
        for apart in [1.0, 0.01] {
            let held = (0..100).map(|n| (1200.0 + 0.01 * f64::from(n), 1000.0 + apart * f64::from(n)));
            let again = held.clone().map(|(time, sent)| (time + 500.0, sent + 500.0));
            let alone = trains_of(drawn_out(5, 1.0)).bytes_per_ns();
            assert_eq!(trains_of(drawn_out(5, 1.0).into_iter().chain(held).chain(again)).bytes_per_ns(), alone);
        }
    }

    #[test]
    fn what_was_interrupted_is_no_train() {
        let mut trains = Trains::default();
        for (number, (time_ms, sent_ms)) in drawn_out(5, 1.0).into_iter().enumerate() {
            let [time_ns, sent_ns] = [time_ms, sent_ms].map(|time| (time * MILLISECOND as f64) as i64);
            trains.add(TrainPacket { time_ns, bytes: 1000 * (number as u32 + 1), sent_ns });
            if number % 10 == 9 {
                trains.interrupt();
            }
        }
        assert_eq!(trains.bytes_per_ns(), None);
    }
}
