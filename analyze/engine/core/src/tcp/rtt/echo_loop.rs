//! Round trips between the capture point and each host, by timestamps that a host echoes (RFC 7323 section 4).
//!
//! [`crate::tcp::connection::rtt_by_echo`] feeds it while a connection without handshake is young.

use crate::tcp::sender::loop_delay::BREAK_DIVISOR;
use crate::tcp::stats::sequence::serial_difference;

/// What is sought of one side's data.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct EchoLoop {
    /// TSval of an acknowledgement, the first with it, and when it passed.
    marker: Option<(u32, i64)>,
    /// When data passed last, and the longest time without any around the marker and since.
    last_data_ns: Option<i64>,
    longest_pause_ns: i64,
    pub(crate) found: u32,
    /// The first such times in which data paused.
    paused_ns: [i64; SAMPLES],
    paused: usize,
}

/// So many times with a pause are compared, of which more than half must be within this share of the shortest.
const SAMPLES: usize = 8;

const ALIKE: f64 = 1.1;

impl EchoLoop {
    pub(crate) fn acknowledged(&mut self, tsval: u32, time_ns: i64) {
        if self.marker.is_none() {
            (self.marker, self.longest_pause_ns) = (Some((tsval, time_ns)), 0);
        }
    }

    /// Takes a time in which data paused. A window that is full leaves a pause in each round trip, so that data never keeps coming: then
    /// most of these times are one, and the shortest is the round trip. An application pauses now longer, now shorter.
    pub(crate) fn paused(&mut self, taken_ns: i64) -> Option<i64> {
        *self.paused_ns.get_mut(self.paused)? = taken_ns;
        self.paused += 1;
        let least_ns = self.paused_ns.iter().copied().min().filter(|_| self.paused == SAMPLES)?;
        let alike = self.paused_ns.iter().filter(|one| **one as f64 <= ALIKE * least_ns as f64).count();
        (2 * alike > SAMPLES).then_some(least_ns)
    }

    /// Data passes: the time since the marker if it echoes that, and whether data kept coming.
    pub(crate) fn sent(&mut self, tsecr: u32, time_ns: i64) -> Option<(i64, bool)> {
        let pause_ns = self.last_data_ns.replace(time_ns).map_or(i64::MAX, |last| time_ns.saturating_sub(last));
        self.longest_pause_ns = self.longest_pause_ns.max(pause_ns);
        let (_, passed_ns) = self.marker.take_if(|(tsval, _)| serial_difference(tsecr, *tsval) >= 0)?;
        let taken_ns = time_ns.saturating_sub(passed_ns);
        (taken_ns >= 0).then_some((taken_ns, self.longest_pause_ns <= taken_ns / BREAK_DIVISOR))
    }
}

/// Both sides' data, and the packets looked at.
#[derive(Debug, Clone, Default)]
pub(crate) struct EchoLoops {
    pub(crate) sides: [EchoLoop; 2],
    pub(crate) packets: u32,
}
