//! The replay: a stream of bytes through sender, path and receiver, in steps of one round trip.

use crate::tcp::replay::control::{Control, ControlKind, PastRoundTrip};
use crate::tcp::replay::path::Path;
use crate::tcp::replay::timeline::{Event, What};

/// Steps of a replay at most; a transfer of more is replayed no further.
const MOST_STEPS: usize = 200_000;

/// A receiver that adapts its window begins with this and doubles what has arrived in a round trip (Linux: `tcp_rcv_space_adjust`).
const FIRST_WINDOW_BYTES: f64 = 65_535.0;

const WINDOW_AHEAD: f64 = 2.0;

/// What a window that adapts reaches at most, unless it was larger: half of Linux's default `tcp_rmem`.
const LARGEST_WINDOW_BYTES: f64 = 3_145_728.0;

/// BBR drains its queue now and then, and sends a little less than the path carries.
const BBR_SHARE: f64 = 0.96;

/// What is replayed.
#[derive(Debug, Clone)]
pub struct Setting {
    /// Payload to deliver.
    pub bytes: f64,
    /// Of a full segment.
    pub segment_bytes: f64,
    /// The path's rate, payload bytes a second.
    pub rate_bytes_s: f64,
    /// Round trip, queue and windows.
    pub path: Path,
    /// The sender's congestion control.
    pub kind: ControlKind,
    /// It begins with this window, in segments, instead of the initial one.
    pub warm_segments: Option<f64>,
    /// The window adapts to what arrives; else it is the path's.
    pub window_adapts: bool,
}

/// See the module.
struct Replay<'a> {
    setting: &'a Setting,
    control: Control,
    done_bytes: f64,
    time_s: f64,
    /// Where the receiver adapts its window: what it advertises.
    adapted_bytes: f64,
    /// Up to where a pace is in force, and the pace.
    pace: Option<(f64, f64)>,
    /// When the clock brings the next event: a pace goes on behind it.
    until_s: f64,
}

/// Seconds that the transfer takes; none if that is more than can be replayed. Events are in the order of their bytes, and of the clock.
pub fn replay(setting: &Setting, events: &[Event]) -> Option<f64> {
    let control = setting
        .warm_segments
        .map_or_else(|| Control::new(setting.kind), |segments| Control::warm(setting.kind, segments));
    let adapted_bytes = FIRST_WINDOW_BYTES.max(setting.warm_segments.unwrap_or(0.0) * setting.segment_bytes);
    let mut replay =
        Replay { setting, control, done_bytes: 0.0, time_s: 0.0, adapted_bytes, pace: None, until_s: f64::INFINITY };
    let mut by_clock = events.iter().filter(|event| event.at_s.is_some()).peekable();
    let mut events = events.iter().filter(|event| event.at_s.is_none()).peekable();
    for _ in 0..MOST_STEPS {
        while let Some(event) = events.next_if(|event| event.at_bytes <= replay.done_bytes + 1.0) {
            replay.take(event);
        }
        if replay.done_bytes + 1.0 >= setting.bytes {
            return Some(replay.time_s);
        }
        if let Some(event) = by_clock.next_if(|event| event.at_s <= Some(replay.time_s)) {
            replay.take(event);
            continue;
        }
        replay.until_s = by_clock.peek().and_then(|event| event.at_s).unwrap_or(f64::INFINITY);
        let until = events.peek().map_or(setting.bytes, |event| event.at_bytes.min(setting.bytes));
        replay.step(until, events.peek().is_none_or(|event| matches!(event.what, What::Pause(..))));
    }
    None
}

impl Replay<'_> {
    fn take(&mut self, event: &Event) {
        let segments = |bytes: f64| bytes / self.setting.segment_bytes;
        match event.what {
            What::Pause(_, time_s) => {
                self.time_s += time_s;
                if self.done_bytes > 0.0 {
                    self.control.on_idle(time_s, self.setting.path.round_trip_s);
                }
            }
            What::Pace(_, until_bytes, bytes_s) => self.pace = Some((until_bytes, bytes_s)),
            What::Loss(flight_bytes) => {
                self.control.anchor(segments(flight_bytes));
                self.control.on_loss();
            }
            What::Timeout(flight_bytes) => {
                self.control.anchor(segments(flight_bytes));
                self.control.on_timeout();
            }
        }
    }

    /// A round trip, or what is left up to a position; all is acknowledged there if nothing follows at once.
    fn step(&mut self, until_bytes: f64, drains: bool) {
        let Setting { segment_bytes, rate_bytes_s, path, .. } = self.setting;
        if let Some((end_bytes, bytes_s)) = self.pace.filter(|(end_bytes, _)| *end_bytes > self.done_bytes + 1.0) {
            let bytes_s = bytes_s.min(*rate_bytes_s);
            let up_to_event = (self.until_s - self.time_s) * bytes_s;
            let bytes = (end_bytes.min(until_bytes) - self.done_bytes).min(up_to_event).max(1.0);
            self.time_s += bytes / bytes_s;
            self.done_bytes += bytes;
            return;
        }
        let cap_bytes = self.cap_bytes();
        let window_bytes = (self.control.window() * segment_bytes).min(cap_bytes);
        let left_bytes = until_bytes - self.done_bytes;
        let rate = self.pass_bytes_s();
        let base_s = path.round_trip_s;
        if left_bytes <= window_bytes {
            // In slow start a window leaves at once, later as acknowledgements let it.
            let spread_s = if self.control.is_slow_start() { 0.0 } else { base_s * left_bytes / window_bytes };
            self.time_s +=
                (left_bytes / rate).max(if drains { spread_s.min(base_s) } else { base_s * left_bytes / window_bytes });
            self.time_s += if drains { base_s } else { 0.0 };
            self.done_bytes = until_bytes;
            return;
        }
        let time_s = (window_bytes / rate).max(base_s);
        self.time_s += time_s;
        self.done_bytes += window_bytes;
        let round = PastRoundTrip {
            segments: window_bytes / segment_bytes,
            time_s,
            base_s,
            path_segments_s: rate_bytes_s / segment_bytes,
            is_full: self.control.window() * segment_bytes <= cap_bytes,
        };
        self.control.on_round_trip(&round);
        let largest_bytes = LARGEST_WINDOW_BYTES.max(path.largest_window_bytes.unwrap_or(0.0));
        self.adapted_bytes = self.adapted_bytes.max(WINDOW_AHEAD * window_bytes).min(largest_bytes);
        // What neither path nor queue holds is lost.
        if self.setting.kind != ControlKind::Bbr
            && (self.control.window() * segment_bytes).min(self.cap_bytes()) > rate * (base_s + path.queue_s)
        {
            self.control.on_loss();
        }
    }

    /// What passes a second.
    fn pass_bytes_s(&self) -> f64 {
        let rate = self.setting.rate_bytes_s;
        if self.setting.kind == ControlKind::Bbr { BBR_SHARE * rate } else { rate }
    }

    /// Bytes that the windows of both hosts let be in flight.
    fn cap_bytes(&self) -> f64 {
        let path = &self.setting.path;
        let adapted = if self.setting.window_adapts { self.adapted_bytes } else { f64::INFINITY };
        path.window_bytes.unwrap_or(adapted).min(path.buffer_bytes.unwrap_or(f64::INFINITY))
    }
}
