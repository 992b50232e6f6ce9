//! A token bucket as found: its kind, rate, burst and confidence. Found by the other files of this folder.

/// Faster before than after by this much, at least (ShaperProbe's level shift; docs/methods.md, section 8).
pub(crate) const LEAST_RATIO: f64 = 1.3;

/// Round trips that either rate must have lasted.
pub(crate) const LEAST_ROUND_TRIPS: f64 = 10.0;

/// How sure a token bucket is at least of which both rates, or losses in many round trips, were seen.
pub(crate) const CONFIDENCE: f64 = 0.6;

/// What each further sign adds.
pub(crate) const SURER: f64 = 0.1;

pub(crate) const MOST_CONFIDENCE: f64 = 0.95;

/// Lost segments that show that more was sent than passed.
pub(crate) const FEWEST_LOST_SEGMENTS: f64 = 15.0;

/// A queue makes the median round trip so many times the shortest.
pub(crate) const QUEUED: f64 = 1.25;

/// When nothing is lost a bucket is not overdrawn by more than this, in round trips at the rate, in so many of the cases.
pub(crate) const LEVEL_ON_PASS: f64 = -0.75;

pub(crate) const SHARE_ON_PASS: f64 = 0.97;

/// Sustained rates that are one within this share.
const SAME_RATE: f64 = 0.1;

/// A second burst this close to the first says only that the bucket was full again.
pub(crate) const FULL_SHARE: f64 = 0.95;

/// What happens to what exceeds the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimiterKind {
    /// It waits.
    Shaper,
    /// It is dropped.
    Policer,
}

impl LimiterKind {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Shaper => "shaper",
            Self::Policer => "policer",
        }
    }
}

/// A token bucket, as far as the transfer shows it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenBucket {
    /// See [`LimiterKind`].
    pub kind: LimiterKind,
    /// IP bytes that passed beyond the sustained rate before the switch.
    pub burst_bytes: f64,
    /// Rate before the switch, bits per second.
    pub rate_before_bps: f64,
    /// Rate after it.
    pub sustained_bps: f64,
    /// When the lower rate began to hold, as seen at the capture point.
    pub switch_ns: i64,
    /// Rate at which an idle time filled the bucket again; none without one, or if it filled it to the brim.
    pub refill_bps: Option<f64>,
    /// 0.5 to 0.95.
    pub confidence: f64,
}

/// Which bytes of a bin count as delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountedBytes {
    /// What passed the capture point, which is at the receiver.
    Arrived,
    /// What was acknowledged.
    Acknowledged,
}

/// What else is known of the direction.
#[derive(Debug, Clone, Copy)]
pub struct BucketTerms<'a> {
    /// See [`CountedBytes`].
    pub delivered: CountedBytes,
    /// IP bytes for each byte of payload.
    pub overhead: f64,
    /// Payload of a full segment.
    pub segment_bytes: f64,
    /// The capture is at the sender, where each sample is a whole round trip.
    pub beside_sender: bool,
    /// Shortest round trip, nanoseconds; none if the series is to tell.
    pub min_rtt_ns: Option<f64>,
    /// Share of each bin in which the path was full, as far as the rounds tell; of bins beyond its end that is not known.
    pub path_full: &'a [f32],
    /// Share of each bin in which the application rested; of bins beyond its end that is not known.
    pub resting: &'a [f32],
    /// Times between two data packets: from so long on (nanoseconds) and how many; where none are given nothing is known of them.
    pub spacing: &'a [(u64, u64)],
    /// Payload of the largest frame: with segmentation offload one holds many segments.
    pub frame_bytes: f64,
}

/// How sure a bucket is by `least` and those of the three signs that are there.
///
/// Rule: docs/methods.md, "Confidence in a token bucket".
pub(crate) fn confidence(least: f64, signs: [bool; 3]) -> f64 {
    least + SURER * signs.into_iter().filter(|&sign| sign).count() as f64
}

impl TokenBucket {
    pub(crate) fn later(self, by_ns: i64) -> Self {
        Self { switch_ns: self.switch_ns.saturating_add(by_ns), ..self }
    }

    /// The same bucket was emptied again after an idle time.
    pub(crate) fn learn(&mut self, again: &Self, idle_s: f64) {
        let alike = (again.sustained_bps / self.sustained_bps - 1.0).abs() < SAME_RATE;
        if !alike || idle_s <= 0.0 {
            return;
        }
        self.confidence = (self.confidence + SURER).min(MOST_CONFIDENCE);
        if again.burst_bytes < FULL_SHARE * self.burst_bytes && self.refill_bps.is_none() {
            self.refill_bps = Some(again.burst_bytes * 8.0 / idle_s);
        }
    }
}
