//! A loss recovery in progress (RFC 6675, RFC 8985), and the evidence by which a retransmission's trigger is decided.

use crate::tcp::events::retransmission::Trigger;
use crate::tcp::kernel::SMALLEST_TIMEOUT_NS;

/// Share of a timer's length that must have passed: timers run on coarse clocks.
pub(crate) const TIMER_SLACK: f64 = 0.9;

/// A probe comes no later than after this many times its timer's length.
const LONGEST_PROBE: f64 = 1.3;

/// The least a retransmission timeout waits by RFC 6298.
const STANDARD_TIMEOUT_NS: f64 = 1e9;

/// Loss recovery: lasts until everything sent before it began is acknowledged (RFC 6582 section 3.2).
#[derive(Debug, Clone, Copy)]
pub struct Recovery {
    /// Highest position sent when it began.
    pub point: u64,
    /// What began it.
    pub trigger: Trigger,
    /// First position retransmitted.
    pub start: u64,
    /// Something else than what lies there has been retransmitted.
    pub went_on: bool,
    /// Up to where the first acknowledgement of more than before went.
    pub answered: Option<u64>,
}

impl Recovery {
    pub(crate) fn begin(trigger: Trigger, evidence: &RecoveryEvidence) -> Self {
        Self { point: evidence.max, trigger, start: evidence.start, went_on: false, answered: None }
    }
}

/// What is known when a retransmission passes.
#[derive(Debug, Clone, Copy)]
pub struct RecoveryEvidence {
    /// Now.
    pub time_ns: i64,
    /// First position retransmitted.
    pub start: u64,
    /// Position after the last.
    pub end: u64,
    /// Lowest position not acknowledged.
    pub una: u64,
    /// Position after the highest byte sent.
    pub max: u64,
    /// When the range was last sent before, as far as it is known.
    pub previous_ns: Option<i64>,
    /// When the data packet before this one passed.
    pub last_data_ns: Option<i64>,
    /// When the hole it fills came to light (away from the sender).
    pub exposed_ns: Option<i64>,
    /// Round trip between the capture point and the sender.
    pub sender_loop_ns: i64,
    /// Payload of a full segment.
    pub segment_size: u16,
    /// Both sides use SACK.
    pub sack: bool,
}

impl RecoveryEvidence {
    pub(crate) fn is_one_segment(&self) -> bool {
        self.end - self.start < 2 * u64::from(self.segment_size.max(1))
    }
}

/// Of a flight of one segment a timeout repeats the last one, too. A probe waits two round trips, and 200 ms more for the
/// delayed acknowledgement of a single segment (RFC 8985 section 7.2); the timeout of stacks without probes a second or more
/// (RFC 6298 section 2).
pub(crate) fn is_long_timeout(silence_ns: f64, round_trip_ns: f64) -> bool {
    silence_ns > LONGEST_PROBE * (2.0 * round_trip_ns + SMALLEST_TIMEOUT_NS as f64)
        && silence_ns >= TIMER_SLACK * STANDARD_TIMEOUT_NS
}
