//! Congestion control as the replay needs it: a window in segments, round trip by round trip.
//!
//! Sources: RFC 5681 (Reno), RFC 9438 (CUBIC), RFC 6928 (initial window); Linux `tcp_cubic.c` (HyStart) and `tcp_bbr.c`.

/// RFC 6928.
pub const INITIAL_SEGMENTS: f64 = 10.0;

/// A window is never smaller.
const LEAST_SEGMENTS: f64 = 2.0;

/// RFC 9438: the scaling factor, and what is left of the window after a loss.
const CUBIC_C: f64 = 0.4;

const CUBIC_BETA: f64 = 0.7;

const RENO_BETA: f64 = 0.5;

/// Growth of CUBIC's estimate of Reno, segments a round trip: 3 (1 - beta) / (1 + beta).
const FRIENDLY_GROWTH: f64 = 3.0 * (1.0 - CUBIC_BETA) / (1.0 + CUBIC_BETA);

/// CUBIC in Linux grows by no more than this in a round trip.
const CUBIC_MOST_GROWTH: f64 = 1.5;

/// HyStart does nothing below this window, and counts acknowledgements no further apart than this as a train.
const HYSTART_SEGMENTS: f64 = 16.0;

const HYSTART_APART_S: f64 = 0.002;

/// Bounds of the delay that ends slow start.
const HYSTART_DELAY_S: [f64; 2] = [0.004, 0.016];

/// BBR keeps twice what the path holds in flight.
const BBR_WINDOW: f64 = 2.0;

/// Which one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlKind {
    /// Linux's default, with HyStart.
    Cubic,
    /// New Reno.
    Reno,
    /// Version 1: follows the rate of what is delivered, not losses.
    Bbr,
}

/// A round trip that is over.
#[derive(Debug, Clone, Copy)]
pub struct PastRoundTrip {
    /// Segments delivered in it.
    pub segments: f64,
    /// How long it took, seconds.
    pub time_s: f64,
    /// Without a queue it takes so long.
    pub base_s: f64,
    /// The path's rate, segments a second.
    pub path_segments_s: f64,
    /// The window was used up.
    pub is_full: bool,
}

/// See the module.
#[derive(Debug, Clone, Copy)]
pub struct Control {
    kind: ControlKind,
    window: f64,
    threshold: f64,
    /// CUBIC: the window at the last loss, when that was, and its estimate of Reno.
    origin: f64,
    since_s: f64,
    friendly: f64,
}

impl Control {
    /// A new connection's.
    pub fn new(kind: ControlKind) -> Self {
        let window = INITIAL_SEGMENTS;
        Self { kind, window, threshold: f64::INFINITY, origin: 0.0, since_s: 0.0, friendly: 0.0 }
    }

    /// As after a long transfer: no slow start is left.
    pub fn warm(kind: ControlKind, window: f64) -> Self {
        let window = window.max(INITIAL_SEGMENTS);
        Self { window, threshold: window, origin: window, friendly: window, ..Self::new(kind) }
    }

    /// Segments that may be in flight.
    pub fn window(&self) -> f64 {
        self.window
    }

    /// The window still doubles with each round trip.
    pub fn is_slow_start(&self) -> bool {
        self.window < self.threshold
    }

    /// A round trip is over.
    pub fn on_round_trip(&mut self, round: &PastRoundTrip) {
        self.since_s += round.time_s;
        if !round.is_full {
            return;
        }
        match self.kind {
            ControlKind::Bbr => {
                let most = BBR_WINDOW * round.path_segments_s * round.base_s;
                self.window = (self.window + round.segments).min(most.max(INITIAL_SEGMENTS));
            }
            _ if self.is_slow_start() => self.slow_start(round),
            ControlKind::Reno => self.window += round.segments / self.window,
            ControlKind::Cubic => self.cubic(round),
        }
    }

    fn slow_start(&mut self, round: &PastRoundTrip) {
        if self.kind == ControlKind::Cubic
            && self.window >= HYSTART_SEGMENTS
            && let Some(window) = self.hystart(round)
        {
            self.window = window.min(self.threshold);
            self.end_slow_start();
            return;
        }
        self.window = (self.window + round.segments).min(self.threshold);
        if !self.is_slow_start() {
            self.end_slow_start();
        }
    }

    fn end_slow_start(&mut self) {
        (self.threshold, self.origin, self.friendly) = (self.window, self.window.max(self.origin), self.window);
        self.since_s = 0.0;
    }

    /// The window with which HyStart ends slow start in this round trip; none if it goes on.
    fn hystart(&self, round: &PastRoundTrip) -> Option<f64> {
        let train_s = self.window / round.path_segments_s;
        let is_train = 2.0 / round.path_segments_s <= HYSTART_APART_S && train_s >= round.base_s / 2.0;
        if is_train {
            // Half of a round trip's acknowledgements have enlarged it by then.
            return Some(self.window + round.path_segments_s * round.base_s / 2.0);
        }
        let [least_s, most_s] = HYSTART_DELAY_S;
        let is_late = train_s >= round.base_s + (round.base_s / 8.0).clamp(least_s, most_s);
        is_late.then_some(self.window)
    }

    fn cubic(&mut self, round: &PastRoundTrip) {
        self.friendly += FRIENDLY_GROWTH * round.segments / self.window;
        // What the loss had left is the threshold.
        let inflection_s = ((self.origin - self.threshold).max(0.0) / CUBIC_C).cbrt();
        let target = self.origin + CUBIC_C * (self.since_s + round.base_s - inflection_s).powi(3);
        let most = CUBIC_MOST_GROWTH * self.window;
        self.window = target.max(self.friendly).clamp(self.window, most);
    }

    /// So many segments are in flight in truth, whatever the model makes of it.
    pub fn anchor(&mut self, segments: f64) {
        self.window = segments.max(LEAST_SEGMENTS);
    }

    /// A loss that fast recovery repairs.
    pub fn on_loss(&mut self) {
        let beta = match self.kind {
            ControlKind::Bbr => return,
            ControlKind::Cubic => CUBIC_BETA,
            ControlKind::Reno => RENO_BETA,
        };
        // Fast convergence (RFC 9438 section 4.7).
        let shrinks = self.window < self.origin;
        self.origin = if shrinks { self.window * (1.0 + beta) / 2.0 } else { self.window };
        self.window = (self.window * beta).max(LEAST_SEGMENTS);
        (self.threshold, self.friendly, self.since_s) = (self.window, self.window, 0.0);
    }

    /// A loss that only a timer repairs: slow start begins anew, up to what a loss would have left.
    pub fn on_timeout(&mut self) {
        if self.kind == ControlKind::Bbr {
            return;
        }
        self.on_loss();
        self.window = LEAST_SEGMENTS;
    }

    /// Nothing was sent for so long: Linux halves the window with each timeout's time (`tcp_cwnd_restart`).
    pub fn on_idle(&mut self, idle_s: f64, round_trip_s: f64) {
        let timeout_s = round_trip_s + 0.2;
        if self.kind == ControlKind::Bbr || idle_s < timeout_s {
            return;
        }
        self.threshold =
            if self.threshold.is_finite() { self.threshold.max(0.75 * self.window) } else { self.threshold };
        self.window = (self.window * (-(idle_s / timeout_s).floor()).exp2()).max(INITIAL_SEGMENTS.min(self.window));
    }
}
