//! What the path carries, by trains of acknowledgements: how fast four of them, and twelve, followed one another.
//!
//! A window's data leaves in a burst, and the narrowest place of the path draws it out. Its acknowledgements come as the data
//! passed there, whatever limits the transfer over a round trip. Most trains reach from one burst into the next and are slow;
//! those within a burst show the path. Their rates are counted in buckets, so memory does not grow.
//!
//! Acknowledgements that come in bursts of their own (a busy receiver, wireless links) make short trains fast: four of them may
//! be, twelve hardly.
//!
//! Rule: docs/methods.md, "Rate of trains of acknowledgements".

/// Acknowledgements after the first of a short train, and short trains in a long one.
const SHORT: u8 = 4;

const SHORT_IN_LONG: usize = 3;

/// Buckets: eight for each doubling, from 2^10 bytes a second on.
const PER_OCTAVE: u32 = 8;

const FIRST_OCTAVE: u32 = 10;

const BUCKETS: usize = 224;

/// A rate is the path's where so many trains, and so large a part of all, have it or are near it.
const FEWEST_TRAINS: u32 = 2;

const LEAST_SHARE: f64 = 0.02;

/// Trains seen further to the side count for the same rate.
const NEAR_BUCKETS: usize = 1;

/// Of the newest train: when its first acknowledgement came, and what that acknowledged.
#[derive(Debug, Clone, Copy, Default)]
struct Start {
    time_ns: i64,
    bytes: u32,
}

/// See the module. Small until the first train is complete.
#[derive(Debug, Clone, Default)]
pub struct AckTrains {
    count: u8,
    start: Start,
    made: Option<Box<Made>>,
}

#[derive(Debug, Clone)]
struct Made {
    /// Starts of the short trains before the one in progress, the newest first.
    starts: [Start; SHORT_IN_LONG - 1],
    known: usize,
    short: TrainCounts,
    long: TrainCounts,
}

/// Trains by their rate.
#[derive(Debug, Clone)]
struct TrainCounts([u16; BUCKETS]);

/// Rate of the path by trains of acknowledgements, payload bytes a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrainRates {
    /// By the fastest short trains of which there are several.
    pub short_bytes_s: f64,
    /// By the fastest long trains; none where bursts are too short for these.
    pub long_bytes_s: Option<f64>,
}

impl AckTrains {
    /// An acknowledgement of more, up to `bytes` modulo 2^32, passes.
    #[inline(always)]
    pub fn add(&mut self, time_ns: i64, bytes: u32) {
        if self.count == 0 {
            self.start = Start { time_ns, bytes };
        }
        self.count += 1;
        if self.count > SHORT {
            self.complete(Start { time_ns, bytes });
        }
    }

    /// What passes now shows nothing of the path: it acknowledges what has waited at the receiver.
    pub fn interrupt(&mut self) {
        self.count = 0;
        if let Some(made) = self.made.as_deref_mut() {
            made.known = 0;
        }
    }

    #[cold]
    #[inline(never)]
    fn complete(&mut self, end: Start) {
        let made = self.made.get_or_insert_with(|| Box::new(Made::new()));
        made.short.add(&self.start, &end);
        if made.known == SHORT_IN_LONG - 1 {
            made.long.add(&made.starts[SHORT_IN_LONG - 2], &end);
        }
        made.starts.rotate_right(1);
        made.starts[0] = self.start;
        made.known = (made.known + 1).min(SHORT_IN_LONG - 1);
        // The last acknowledgement of a train is the first of the next.
        (self.start, self.count) = (end, 1);
    }

    /// What they show; none without any train.
    pub fn rates(&self) -> Option<TrainRates> {
        let made = self.made.as_deref()?;
        Some(TrainRates { short_bytes_s: made.short.fastest_usual()?, long_bytes_s: made.long.fastest_usual() })
    }
}

impl Made {
    fn new() -> Self {
        Self {
            starts: [Start::default(); SHORT_IN_LONG - 1],
            known: 0,
            short: TrainCounts([0; BUCKETS]),
            long: TrainCounts([0; BUCKETS]),
        }
    }
}

impl TrainCounts {
    fn add(&mut self, start: &Start, end: &Start) {
        let Ok(time_ns) = u64::try_from(end.time_ns.saturating_sub(start.time_ns)) else { return };
        if time_ns == 0 {
            return;
        }
        let bytes_s = u64::from(end.bytes.wrapping_sub(start.bytes)).saturating_mul(1_000_000_000) / time_ns;
        let bucket = &mut self.0[bucket_of(bytes_s)];
        *bucket = bucket.saturating_add(1);
    }

    /// The fastest rate that several trains have.
    fn fastest_usual(&self) -> Option<f64> {
        // Most of the buckets are empty, above all of a short connection.
        let used = self.0.iter().position(|&count| count > 0)?..self.0.iter().rposition(|&count| count > 0)? + 1;
        let all: u32 = self.0[used.clone()].iter().map(|count| u32::from(*count)).sum();
        let wanted = FEWEST_TRAINS.max((LEAST_SHARE * f64::from(all)).ceil() as u32);
        let near = |at: usize| &self.0[at.saturating_sub(NEAR_BUCKETS)..(at + NEAR_BUCKETS + 1).min(BUCKETS)];
        let trains = |at: usize| near(at).iter().map(|count| u32::from(*count)).sum::<u32>();
        let around = used.start.saturating_sub(NEAR_BUCKETS)..(used.end + NEAR_BUCKETS).min(BUCKETS);
        let top = around.rev().find(|&at| trains(at) >= wanted)?;
        // The fastest of the neighbours may be the edge of what is most usual there.
        let at = (top.saturating_sub(2 * NEAR_BUCKETS)..=top).max_by_key(|&at| self.0[at])?;
        Some(middle_of(at))
    }
}

/// Eight buckets between one power of two and the next.
fn bucket_of(bytes_s: u64) -> usize {
    let octave = bytes_s.max(1).ilog2();
    let within = if octave >= 3 { (bytes_s >> (octave - 3)) & 7 } else { 0 };
    let number = (octave * PER_OCTAVE + within as u32).saturating_sub(FIRST_OCTAVE * PER_OCTAVE);
    (number as usize).min(BUCKETS - 1)
}

/// The middle of a bucket, bytes a second.
fn middle_of(bucket: usize) -> f64 {
    let (octave, within) = (bucket as u32 / PER_OCTAVE + FIRST_OCTAVE, bucket as u32 % PER_OCTAVE);
    f64::from(octave).exp2() * (1.0 + (f64::from(within) + 0.5) / f64::from(PER_OCTAVE))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SEGMENT: u32 = 1448;

    /// Bursts of acknowledgements of two segments each: so many, so far apart, and the pause to the next burst.
    fn bursts(number: usize, in_burst: usize, apart_us: i64, pause_us: i64) -> AckTrains {
        let (mut trains, mut time_us, mut bytes) = (AckTrains::default(), 0, 0u32);
        for _ in 0..number {
            for _ in 0..in_burst {
                bytes = bytes.wrapping_add(2 * SEGMENT);
                trains.add(time_us * 1000, bytes);
                time_us += apart_us;
            }
            time_us += pause_us;
        }
        trains
    }

    fn is_near(found: f64, bytes_s: f64) -> bool {
        (found / bytes_s).ln().abs() < 0.1
    }

    #[test]
    fn bursts_show_the_rate_at_which_they_are_drawn_out() {
        let rates = bursts(20, 20, 500, 100_000).rates().unwrap();
        let path = f64::from(2 * SEGMENT) / 500e-6;
        assert!(is_near(rates.short_bytes_s, path), "{rates:?} of {path}");
        assert!(is_near(rates.long_bytes_s.unwrap(), path), "{rates:?} of {path}");
    }

    #[test]
    fn short_bursts_show_it_by_short_trains_alone() {
        let rates = bursts(40, 6, 500, 100_000).rates().unwrap();
        assert!(is_near(rates.short_bytes_s, f64::from(2 * SEGMENT) / 500e-6), "{rates:?}");
        assert!(rates.long_bytes_s.is_none_or(|long| long < rates.short_bytes_s / 2.0), "{rates:?}");
    }

    #[test]
    fn one_fast_train_is_no_path() {
        let mut trains = bursts(1, 400, 1000, 0);
        let before = trains.rates();
        for number in 0..5 {
            trains.add(500_000_000 + number * 1000, 2_000_000 + number as u32 * SEGMENT);
        }
        assert_eq!(trains.rates().map(|rates| rates.short_bytes_s), before.map(|rates| rates.short_bytes_s));
    }

    #[test]
    fn what_was_interrupted_is_no_train() {
        let mut trains = AckTrains::default();
        for number in 0..40 {
            trains.add(number * 1000, number as u32 * SEGMENT);
            if number % 4 == 3 {
                trains.interrupt();
            }
        }
        assert_eq!(trains.rates(), None);
    }

    proptest! {
        #[test]
        fn a_rate_lies_in_its_bucket(bytes_s in 1u64 << 11..1 << 36) {
            let middle = middle_of(bucket_of(bytes_s));
            prop_assert!((middle / bytes_s as f64).ln().abs() < 0.07, "{middle} of {bytes_s}");
        }

        #[test]
        fn times_and_numbers_of_any_kind_do_no_harm(passed in proptest::collection::vec(any::<(i64, u32)>(), 0..80)) {
            let mut trains = AckTrains::default();
            passed.iter().for_each(|&(time_ns, bytes)| trains.add(time_ns, bytes));
            trains.rates();
        }
    }
}
