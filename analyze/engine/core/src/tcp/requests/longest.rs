//! Exchanges of a connection: each of the first few, of more the longest; all in totals and quantiles.

use crate::tcp::requests::said::Moment;
use crate::tcp::stats::quantile_sketch::{DurationSketch, quantiles_of};

/// Exchanges that are listed one by one.
pub const MOST_LISTED: usize = 16;

/// A request with its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// The first byte of the request passed.
    pub start: Moment,
    /// From there to its last byte, nanoseconds.
    pub request_ns: u64,
    /// Bytes of the request.
    pub request_bytes: u64,
    /// From the last byte of the request to the first of the response, nanoseconds.
    pub first_byte_ns: u64,
    /// From the first byte of the response to its last, nanoseconds.
    pub response_ns: u64,
    /// Bytes of the response.
    pub response_bytes: u64,
    /// Frames of the response's first and last byte.
    pub frames: [u32; 2],
}

impl Exchange {
    /// So long after its first byte.
    pub fn at_ns(&self, after_ns: u64) -> i64 {
        self.start.0.saturating_add(i64::try_from(after_ns).unwrap_or(i64::MAX))
    }

    /// From the first byte of the request to the last of the response.
    pub fn duration_ns(&self) -> u64 {
        self.request_ns.saturating_add(self.first_byte_ns).saturating_add(self.response_ns)
    }
}

/// Sums over exchanges.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct RequestTotals {
    /// Exchanges.
    pub count: u64,
    /// Bytes of all requests.
    pub request_bytes: u64,
    /// Bytes of all responses.
    pub response_bytes: u64,
    /// Time in which requests were sent.
    pub request_ns: u64,
    /// Time from request to response.
    pub first_byte_ns: u64,
    /// Time in which responses were sent.
    pub response_ns: u64,
}

impl RequestTotals {
    /// Adds those of others.
    pub fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.request_bytes += other.request_bytes;
        self.response_bytes += other.response_bytes;
        self.request_ns = self.request_ns.saturating_add(other.request_ns);
        self.first_byte_ns = self.first_byte_ns.saturating_add(other.first_byte_ns);
        self.response_ns = self.response_ns.saturating_add(other.response_ns);
    }
}

/// Quantiles to be of time to first byte and of duration.
#[derive(Debug, Default, Clone)]
pub struct Sketches {
    /// Time to first byte.
    pub first_byte: DurationSketch,
    /// Duration.
    pub duration: DurationSketch,
}

impl Sketches {
    /// Takes an exchange.
    pub fn add(&mut self, exchange: &Exchange) {
        self.first_byte.add(exchange.first_byte_ns);
        self.duration.add(exchange.duration_ns());
    }

    /// Takes those of others.
    pub fn merge(&mut self, other: &Self) {
        self.first_byte.merge(&other.first_byte);
        self.duration.merge(&other.duration);
    }

    /// Takes all exchanges of a connection.
    pub fn add_all(&mut self, longest: &Longest) {
        match &longest.all {
            Some(all) => self.merge(&all.1),
            None => longest.list.iter().for_each(|listed| self.add(listed)),
        }
    }

    /// Quantiles of both, nanoseconds.
    pub fn quantiles(mut self) -> [Quantiles; 2] {
        [&mut self.first_byte, &mut self.duration].map(|sketch| {
            sketch.settle();
            sketch.quantiles(RANKS)
        })
    }
}

/// Median, 95th and 99th percentile in nanoseconds; none without exchanges.
pub type Quantiles = Option<[f64; 3]>;

const RANKS: [f64; 3] = [0.5, 0.95, 0.99];

/// Pauses of one kind.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Waits {
    /// How many.
    pub count: u64,
    /// In all, nanoseconds.
    pub time_ns: u64,
}

/// All exchanges together, in order of time.
#[derive(Debug, Default, Clone)]
pub(crate) struct RequestSums {
    pub(crate) totals: RequestTotals,
    /// From the end of each response to the next request, nanoseconds.
    pub(crate) between_ns: u64,
    /// The last response ended.
    pub(crate) end_ns: Option<i64>,
}

impl RequestSums {
    fn add(&mut self, exchange: &Exchange) {
        let between_ns = self.end_ns.and_then(|end_ns| u64::try_from(exchange.start.0.saturating_sub(end_ns)).ok());
        self.between_ns = self.between_ns.saturating_add(between_ns.unwrap_or(0));
        self.end_ns = Some(exchange.at_ns(exchange.duration_ns()));
        self.totals.add(&RequestTotals {
            count: 1,
            request_bytes: exchange.request_bytes,
            response_bytes: exchange.response_bytes,
            request_ns: exchange.request_ns,
            first_byte_ns: exchange.first_byte_ns,
            response_ns: exchange.response_ns,
        });
    }
}

/// See the module. Most connections have one exchange, and a capture may hold a million of them: what follows from the list is
/// kept only where that is not all.
#[derive(Debug, Default, Clone)]
pub struct Longest {
    /// In order of time.
    pub list: Vec<Exchange>,
    /// As soon as some are not listed.
    all: Option<Box<(RequestSums, Sketches)>>,
    expected: Option<Box<Waits>>,
}

impl Longest {
    /// Takes the next exchange.
    pub fn add(&mut self, exchange: Exchange) {
        if self.list.len() < MOST_LISTED {
            if self.list.is_empty() {
                self.list.reserve_exact(1);
            }
            self.list.push(exchange);
            return;
        }
        if self.all.is_none() {
            self.all = Some(Box::new((self.sums(), self.all_listed())));
        }
        if let Some((sums, sketches)) = self.all.as_deref_mut() {
            sums.add(&exchange);
            sketches.add(&exchange);
        }
        self.replace_shortest(exchange);
    }

    /// Takes a wait between the head of a request that asks for 100 Continue and its body.
    pub fn add_expected(&mut self, wait_ns: u64) {
        let expected = self.expected.get_or_insert_default();
        expected.count += 1;
        expected.time_ns = expected.time_ns.saturating_add(wait_ns);
    }

    /// There are no more.
    pub fn shrink(&mut self) {
        self.list.shrink_to_fit();
    }

    /// All exchanges together.
    pub(crate) fn sums(&self) -> RequestSums {
        if let Some((sums, _)) = self.all.as_deref() {
            return sums.clone();
        }
        let mut sums = RequestSums::default();
        self.list.iter().for_each(|exchange| sums.add(exchange));
        sums
    }

    /// The list has every exchange.
    pub fn lists_all(&self) -> bool {
        self.all.is_none()
    }

    /// How many there are, listed or not.
    pub fn count(&self) -> u64 {
        self.all.as_deref().map_or(self.list.len() as u64, |(sums, _)| sums.totals.count)
    }

    /// Sums of all exchanges.
    pub fn totals(&self) -> RequestTotals {
        self.sums().totals
    }

    /// From the end of each response to the next request, nanoseconds.
    pub fn between_ns(&self) -> u64 {
        self.sums().between_ns
    }

    /// Waits for 100 Continue.
    pub fn expected(&self) -> Waits {
        self.expected.as_deref().copied().unwrap_or_default()
    }

    /// Quantiles of time to first byte and of duration, of all exchanges. Most connections have few: they need no sketch.
    pub fn quantiles(&self) -> [Quantiles; 2] {
        match &self.all {
            Some(all) => all.1.clone().quantiles(),
            None => {
                [self.sorted_quantiles(|listed| listed.first_byte_ns), self.sorted_quantiles(Exchange::duration_ns)]
            }
        }
    }

    fn sorted_quantiles(&self, of: impl Fn(&Exchange) -> u64) -> Quantiles {
        let mut room_ns = [0; MOST_LISTED];
        let sorted_ns = &mut room_ns[..self.list.len()];
        sorted_ns.iter_mut().zip(&self.list).for_each(|(value_ns, listed)| *value_ns = of(listed));
        sorted_ns.sort_unstable();
        quantiles_of(sorted_ns, RANKS)
    }

    fn all_listed(&self) -> Sketches {
        let mut sketches = Sketches::default();
        sketches.add_all(self);
        sketches
    }

    fn replace_shortest(&mut self, exchange: Exchange) {
        let shortest = self.list.iter().enumerate().min_by_key(|(_, listed)| listed.duration_ns());
        if let Some((index, listed)) = shortest
            && listed.duration_ns() < exchange.duration_ns()
        {
            self.list.remove(index);
            self.list.push(exchange);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lasting(number: u32, duration_ns: u64) -> Exchange {
        Exchange {
            start: (i64::from(number), number),
            request_ns: 0,
            request_bytes: 1,
            first_byte_ns: duration_ns / 2,
            response_ns: duration_ns - duration_ns / 2,
            response_bytes: 2,
            frames: [number; 2],
        }
    }

    proptest! {
        #[test]
        fn the_longest_are_listed_and_all_are_counted(durations_ns in proptest::collection::vec(0u64..1_000_000, 0..80)) {
            let mut longest = Longest::default();
            (0u32..).zip(&durations_ns).for_each(|(number, &duration_ns)| longest.add(lasting(number, duration_ns)));
            let mut sorted = durations_ns.clone();
            sorted.sort_unstable_by_key(|duration_ns| std::cmp::Reverse(*duration_ns));
            let mut listed: Vec<u64> = longest.list.iter().map(Exchange::duration_ns).collect();
            prop_assert!(longest.list.is_sorted_by_key(|listed| listed.start));
            listed.sort_unstable_by_key(|duration_ns| std::cmp::Reverse(*duration_ns));
            prop_assert_eq!(&listed[..], &sorted[..sorted.len().min(MOST_LISTED)]);
            prop_assert_eq!([longest.totals().count, longest.count()], [durations_ns.len() as u64; 2]);
            prop_assert_eq!(longest.lists_all(), longest.count() <= MOST_LISTED as u64);
            let mut all = Sketches::default();
            all.add_all(&longest);
            all.duration.settle();
            prop_assert_eq!(all.duration.buckets().map(|(_, _, count)| count).sum::<u64>(), durations_ns.len() as u64);
            prop_assert_eq!(longest.quantiles(), all.quantiles());
        }
    }
}
