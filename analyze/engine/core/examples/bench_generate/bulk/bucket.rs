//! A policer: tokens come at a rate, up to a burst; a packet that finds too few of them is dropped.

/// What is asked for.
#[derive(Clone, Copy)]
pub struct Policer {
    pub rate_bps: u64,
    pub burst_bytes: u64,
}

/// A bucket, full at first.
pub struct Bucket {
    policer: Policer,
    tokens_bytes: f64,
    filled_ns: u64,
}

impl Bucket {
    pub fn new(policer: Policer) -> Self {
        Self { policer, tokens_bytes: policer.burst_bytes as f64, filled_ns: 0 }
    }

    /// Takes the tokens for a frame; false if there are too few.
    pub fn lets_pass(&mut self, now_ns: u64, frame_bytes: u32) -> bool {
        let came_bytes = (now_ns - self.filled_ns) as f64 * self.policer.rate_bps as f64 / 8e9;
        self.tokens_bytes = (self.tokens_bytes + came_bytes).min(self.policer.burst_bytes as f64);
        self.filled_ns = now_ns;
        let passes = self.tokens_bytes >= f64::from(frame_bytes);
        self.tokens_bytes -= if passes { f64::from(frame_bytes) } else { 0.0 };
        passes
    }
}
