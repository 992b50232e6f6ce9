//! What Reno and CUBIC make of their window after a loss, and whether a flight did that.

/// What a loss leaves of the window.
const RENO_BETA: f64 = 0.5;
const CUBIC_BETA: f64 = 0.7;

/// RFC 9438: the scaling factor, segments for each second cubed; and with how much of the window fast convergence takes it up again.
const CUBIC_C: f64 = 0.4;
const CONVERGED: f64 = (1.0 + CUBIC_BETA) / 2.0;

/// CUBIC's estimate of Reno, segments a round trip: 3 (1 - beta) / (1 + beta).
const FRIENDLY_GROWTH: f64 = 3.0 * (1.0 - CUBIC_BETA) / (1.0 + CUBIC_BETA);

/// A flight is a segment and so much of the window off: it was counted at another moment of its round.
const OFF_SEGMENTS: f64 = 1.0;
const OFF_SHARE: f64 = 0.04;

/// The end of the growth is so far off: segments, and a share of the growth.
const GROWTH_OFF_SEGMENTS: f64 = 2.0;
const RENO_GROWTH_OFF: f64 = 0.15;
const CUBIC_GROWTH_OFF: f64 = 0.2;

/// A flight from a loss on, segments.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Growth {
    /// Before the loss, right after it was repaired, and the most since.
    pub before: f64,
    pub after: f64,
    pub end: f64,
    /// How long it took to the last of them: round trips, seconds.
    pub trips: f64,
    pub time_s: f64,
}

impl Growth {
    /// As Reno: half, then a segment a round trip.
    pub(crate) fn is_renos(&self) -> bool {
        self.left(RENO_BETA)
            && (self.end - self.after - self.trips).abs() <= GROWTH_OFF_SEGMENTS + RENO_GROWTH_OFF * self.trips
    }

    /// As CUBIC: seven tenths, then along its curve, or as Reno would on average where that is more.
    pub(crate) fn is_cubics(&self) -> bool {
        let fits = |origin: f64| {
            let reached = self.cubic(origin);
            (self.end - reached).abs() <= GROWTH_OFF_SEGMENTS + CUBIC_GROWTH_OFF * (reached - self.after).abs()
        };
        self.left(CUBIC_BETA) && (fits(self.before) || fits(CONVERGED * self.before))
    }

    fn left(&self, beta: f64) -> bool {
        (self.after - beta * self.before).abs() <= OFF_SEGMENTS + OFF_SHARE * self.before
    }

    fn cubic(&self, origin: f64) -> f64 {
        let inflection_s = ((origin - self.after).max(0.0) / CUBIC_C).cbrt();
        let curve = CUBIC_C * (self.time_s - inflection_s).powi(3) + origin;
        curve.max(self.after + FRIENDLY_GROWTH * self.trips)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_and_a_segment_a_round_trip_is_reno_alone() {
        let growth = Growth { before: 80.0, after: 40.0, end: 70.0, trips: 30.0, time_s: 1.5 };
        assert_eq!((growth.is_renos(), growth.is_cubics()), (true, false));
        assert!(!Growth { end: 55.0, ..growth }.is_renos(), "half a segment a round trip is not");
    }

    #[test]
    fn seven_tenths_and_the_curve_is_cubic_alone() {
        // K = cbrt(0.3 * 148 / 0.4) = 4.8 s: after two of them 148 - 0.4 * 2.8^3 segments.
        let growth = Growth { before: 148.0, after: 104.0, end: 139.0, trips: 40.0, time_s: 2.0 };
        assert_eq!((growth.is_cubics(), growth.is_renos()), (true, false));
        assert!(!Growth { end: 112.0, ..growth }.is_cubics(), "a fifth of a segment a round trip is not");
    }

    #[test]
    fn a_small_window_of_cubic_grows_as_reno_would() {
        let growth = Growth { before: 20.0, after: 14.0, end: 30.0, trips: 30.0, time_s: 0.6 };
        assert!(growth.is_cubics());
        assert!(!Growth { before: 16.0, ..growth }.is_cubics(), "a Scalable TCP's seven eighths are not");
    }
}
