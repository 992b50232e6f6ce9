//! Durations of which the shortest, the longest and the median are wanted, in bounded memory.

/// Samples kept; beyond them every other one is.
const MAX_SAMPLES: usize = 512;

/// See the module.
#[derive(Debug, Clone, Default)]
pub(crate) struct Samples {
    kept: Vec<i64>,
    /// Of so many samples one is kept, as a power of two.
    stride: u32,
    count: u64,
    extremes: Option<(i64, i64)>,
}

/// What samples come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Durations {
    /// How many there were.
    pub samples: u64,
    /// The shortest, ns.
    pub min_ns: i64,
    /// Half are shorter, ns.
    pub median_ns: i64,
    /// The longest, ns.
    pub max_ns: i64,
}

impl Samples {
    pub(crate) fn add(&mut self, sample_ns: i64) {
        let (least, most) = self.extremes.unwrap_or((sample_ns, sample_ns));
        self.extremes = Some((least.min(sample_ns), most.max(sample_ns)));
        if self.count.is_multiple_of(1 << self.stride) {
            self.kept.push(sample_ns);
        }
        self.count += 1;
        if self.kept.len() >= MAX_SAMPLES {
            let mut number = 0;
            self.kept.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.stride += 1;
        }
    }

    /// How many there were, and those kept, shortest first and with the extremes.
    pub(crate) fn sorted(&self) -> (u64, Vec<i64>) {
        let mut sorted = self.kept.clone();
        sorted.sort_unstable();
        if let (Some((least, most)), [first, .., last]) = (self.extremes, &mut sorted[..]) {
            (*first, *last) = (least, most);
        }
        (self.count, sorted)
    }

    /// The shortest so far.
    pub(super) fn min_ns(&self) -> Option<i64> {
        self.extremes.map(|(least, _)| least)
    }

    /// None without a sample.
    pub(super) fn durations(&self) -> Option<Durations> {
        let (min_ns, max_ns) = self.extremes?;
        let mut sorted = self.kept.clone();
        sorted.sort_unstable();
        Some(Durations { samples: self.count, min_ns, median_ns: *sorted.get(sorted.len() / 2)?, max_ns })
    }
}
