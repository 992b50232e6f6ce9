//! A round as congestion control counts.

/// See the module. At the sender, where what is in flight is known.
#[derive(Debug, Clone, Copy, Default)]
pub struct FlightRoundTrip {
    /// When it began.
    pub start_ns: i64,
    /// When it was over.
    pub end_ns: i64,
    /// The most segments in flight.
    pub largest: f64,
    /// Segments in flight, mean over the time in which any was.
    pub mean: f64,
    /// Mean of its round-trip samples; none if there was none.
    pub rtt_ns: Option<u64>,
    /// Something was retransmitted.
    pub repairs: bool,
    /// Without SACK, and something is missing: what has arrived behind it counts as in flight.
    pub is_blurred: bool,
    /// Recoveries that began.
    pub reductions: u32,
    /// Something else than a window was in the way: a timer, a mark, the receiver's window.
    pub is_bound: bool,
    /// A timer had to repeat something.
    pub timed_out: bool,
    /// Nothing was in flight for a part of it.
    pub is_idle: bool,
}

impl FlightRoundTrip {
    /// How long it lasted, nanoseconds.
    pub(crate) fn duration_ns(&self) -> f64 {
        self.end_ns.saturating_sub(self.start_ns).max(0) as f64
    }

    /// How many round trips it took: with a queue of others', or on a short way, a round is no round trip.
    pub(crate) fn trips(&self) -> f64 {
        self.rtt_ns.filter(|&rtt_ns| rtt_ns > 0).map_or(1.0, |rtt_ns| self.duration_ns() / rtt_ns as f64)
    }
}
