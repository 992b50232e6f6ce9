//! The receiver's window while it limited: what it let pass when it was open, and how long its reader kept it shut.

use crate::tcp::events::holder::Holder;
use crate::tcp::replay::seen::Seen;

/// A window that passes so much more at its best than on average was not open all the time.
const BEST_OVER_MEAN: f64 = 1.25;

/// See the module.
#[derive(Debug, Clone, Copy)]
pub struct WindowLimited {
    /// How long it limited, seconds.
    pub time_s: f64,
    /// Of that the reader's, who did not read.
    pub reader_s: f64,
    /// What passed a second in the rest.
    pub bytes_s: f64,
}

impl WindowLimited {
    /// None where it never limited.
    pub fn of(seen: &Seen) -> Option<Self> {
        let runs = || seen.runs.iter().filter(|run| run.factor.holder() == Holder::Reader);
        let bytes = runs().map(|run| run.bytes).sum::<u64>() as f64;
        let time_s = runs().map(|run| run.duration_ns()).sum::<u64>() as f64 / 1e9;
        if time_s <= 0.0 {
            return None;
        }
        let open_s = (time_s - seen.closed_window_s).max(time_s / 100.0);
        let most = seen.window_bytes.map_or(f64::INFINITY, |[_, most]| most / seen.round_trip_s);
        let best = seen.reference_bytes_s.unwrap_or(0.0).min(most);
        let mean = bytes / open_s;
        let bytes_s = if best >= BEST_OVER_MEAN * mean { best } else { mean };
        let reader_s = if bytes_s > 0.0 { (time_s - bytes / bytes_s).max(0.0) } else { time_s };
        Some(Self { time_s, reader_s, bytes_s })
    }
}
