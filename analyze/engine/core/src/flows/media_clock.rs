//! The clock of RTP timestamps: its rate by the payload type where that is fixed, else by how fast the timestamps run.

/// Rates of payload types whose rate is fixed (RFC 3551 section 6).
const fn fixed_hz(kind: u8) -> Option<u32> {
    match kind {
        0 | 3..=5 | 7..=9 | 12 | 13 | 15 | 18 => Some(8_000),
        6 => Some(16_000),
        10 | 11 => Some(44_100),
        14 | 25 | 26 | 28 | 31..=34 => Some(90_000),
        16 => Some(11_025),
        17 => Some(22_050),
        _ => None,
    }
}

/// Rates that others are taken for: those registered for audio and video.
const USUAL_HZ: [u32; 10] = [8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 90_000];

/// So far off a usual rate may be what was measured.
const TOLERANCE: f64 = 0.04;

/// As long is measured at least, nanoseconds.
const LONG_ENOUGH_NS: i64 = 500_000_000;

/// See the module.
#[derive(Debug, Clone)]
pub struct MediaClock {
    hz: Option<u32>,
    first: Option<(u32, i64)>,
    last: u32,
    /// Ticks since the first timestamp.
    ticks: i64,
}

impl MediaClock {
    /// Of this payload type.
    pub fn of(kind: u8) -> Self {
        Self { hz: fixed_hz(kind), first: None, last: 0, ticks: 0 }
    }

    /// When the datagram of this timestamp was sent, by this clock from any beginning; none while the rate is unknown.
    pub fn sent_ns(&mut self, stamp: u32, time_ns: i64) -> Option<i64> {
        let &mut (_, first_ns) = self.first.get_or_insert_with(|| {
            self.last = stamp;
            (stamp, time_ns)
        });
        self.ticks += i64::from(stamp.wrapping_sub(self.last) as i32);
        self.last = stamp;
        let elapsed_ns = time_ns.saturating_sub(first_ns);
        if self.hz.is_none() && elapsed_ns >= LONG_ENOUGH_NS {
            let measured = self.ticks as f64 * 1e9 / elapsed_ns as f64;
            self.hz = USUAL_HZ.into_iter().find(|hz| (measured / f64::from(*hz) - 1.0).abs() < TOLERANCE);
        }
        self.hz.map(|hz| (i128::from(self.ticks) * 1_000_000_000 / i128::from(hz)) as i64)
    }
}
