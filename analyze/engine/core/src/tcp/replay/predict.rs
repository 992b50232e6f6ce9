//! What a change would bring: the transfer is replayed as it was, which must give its own time, and then with the change.
//!
//! Rule: docs/verdict.md, "Replay of the transfer".

use crate::tcp::replay::change::Change;
use crate::tcp::replay::control::ControlKind;
use crate::tcp::replay::model::{Setting, replay};
use crate::tcp::replay::path::Path;
use crate::tcp::replay::seen::Seen;
use crate::tcp::replay::timeline::{Event, duration_s, timeline};

/// The model's time of the transfer as it was differs from the true one by no more than this.
const REPRODUCED: f64 = 0.15;

/// A change that gives less more than this is no advice.
const LEAST_GAIN: f64 = 1.05;

/// The interval reaches so much beyond what the replays give.
const MARGIN: f64 = 0.12;

/// A path of which nothing shows the rate is replayed with so many times what was reached, where twice a window is asked for.
const BEYOND_TWICE: f64 = 2.5;

const KINDS: [ControlKind; 3] = [ControlKind::Cubic, ControlKind::Reno, ControlKind::Bbr];

/// What the interval means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PredictedBound {
    /// It lies between both ends.
    Exact,
    /// It is at least the lower end: nothing shows how much more the path carries.
    AtLeast,
    /// It is at most the upper end: a limit may follow that the transfer never met.
    AtMost,
}

impl PredictedBound {
    /// As in the JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::AtLeast => "at_least",
            Self::AtMost => "at_most",
        }
    }
}

/// Throughput of the complete transfer with a change, bits/s.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Predicted {
    /// The middle.
    pub goodput_bps: f64,
    /// The lower end.
    pub low_bps: f64,
    /// The upper end; none where nothing bounds it.
    pub high_bps: Option<f64>,
    /// Of the transfer as it was, over the same time: from the first packet to the last data delivered.
    pub now_bps: f64,
    /// What the interval means.
    pub bound: PredictedBound,
}

/// Why there is no rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unpredicted {
    /// The change would bring next to nothing.
    RuledOut,
    /// Neither round trip nor rate of the path was seen.
    PathUnknown,
    /// Nothing shows that the path carries more than what was reached, nor how much.
    RateUnknown,
    /// The model takes another time for the transfer as it was.
    NotReproduced,
    /// It has too many round trips.
    TooLong,
}

impl Unpredicted {
    /// In words.
    pub fn reason(self) -> &'static str {
        match self {
            Self::RuledOut => "the change would bring next to nothing",
            Self::PathUnknown => "the capture shows neither round trip nor rate of the path",
            Self::RateUnknown => "no train of packets shows how much more the path carries",
            Self::NotReproduced => "a replay of the unchanged transfer is off by more than 15 %",
            Self::TooLong => "the transfer has too many round trips to be replayed",
        }
    }
}

/// The rate of a transfer with a change.
pub fn predict(seen: &Seen, change: Change) -> Result<Predicted, Unpredicted> {
    let is_known = seen.round_trip_s > 0.0 && seen.total_s > 0.0 && seen.bytes > 0.0 && seen.segment_bytes > 0.0;
    let mut path = Path::of(seen).filter(|_| is_known).ok_or(Unpredicted::PathUnknown)?;
    if change == Change::NoLoss && seen.policed {
        return Err(Unpredicted::RuledOut);
    }
    let total_s = duration_s(seen);
    let is_beyond_sight = path.rate_is_reached && change.doubles_a_window();
    if is_beyond_sight {
        path.rate_bytes_s = path.rate_bytes_s.map(|bytes_s| BEYOND_TWICE * bytes_s);
    } else if path.rate_is_reached && change.needs_the_path() {
        return Err(Unpredicted::RateUnknown);
    }
    let model = Model { seen, total_s, path, events: timeline(seen) };
    let fitting = model.fitting()?;
    let times_s = model.changed_s(change, &fitting).ok_or(Unpredicted::TooLong)?;
    let [low_s, high_s] =
        times_s.iter().fold([f64::INFINITY, 0.0], |[low, high], time| [time.min(low), time.max(high)]);
    let &middle_s = times_s.first().ok_or(Unpredicted::TooLong)?;
    let bps = |time_s: f64| seen.bytes * 8.0 / time_s;
    if total_s < LEAST_GAIN * middle_s {
        return Err(Unpredicted::RuledOut);
    }
    let bound = match change {
        _ if is_beyond_sight => PredictedBound::AtMost,
        _ if path.rate_is_reached => PredictedBound::AtLeast,
        change if change.meets_unseen_limits() => PredictedBound::AtMost,
        _ => PredictedBound::Exact,
    };
    let low_bps = if is_beyond_sight { bps(total_s) } else { bps(high_s) * (1.0 - MARGIN) };
    Ok(Predicted {
        goodput_bps: bps(middle_s),
        now_bps: bps(total_s),
        low_bps,
        high_bps: (bound != PredictedBound::AtLeast).then(|| bps(low_s) * (1.0 + MARGIN)),
        bound,
    })
}

struct Model<'a> {
    seen: &'a Seen<'a>,
    total_s: f64,
    path: Path,
    events: Vec<Event>,
}

/// A congestion control with which the transfer takes the time that it took, and that over the model's.
#[derive(Debug, Clone, Copy)]
struct Fitting {
    kind: ControlKind,
    correction: f64,
}

impl Model<'_> {
    fn setting(&self, kind: ControlKind, rate_bytes_s: f64) -> Setting {
        Setting {
            bytes: self.seen.bytes,
            segment_bytes: self.seen.segment_bytes,
            rate_bytes_s,
            path: self.path,
            kind,
            warm_segments: None,
            window_adapts: self.path.largest_window_bytes.is_some(),
        }
    }

    /// Those that reproduce the transfer, the best first.
    fn fitting(&self) -> Result<Vec<Fitting>, Unpredicted> {
        let [_, rate_bytes_s, _] = self.path.rate_bytes_s;
        let events = at_their_bytes(&self.events);
        let as_it_was =
            |kind: ControlKind| replay(&self.setting(kind, rate_bytes_s), &events).map(|time_s| (kind, time_s));
        let all: Vec<(ControlKind, f64)> = KINDS.into_iter().filter_map(as_it_was).collect();
        if all.is_empty() {
            return Err(Unpredicted::TooLong);
        }
        let corrected = all.into_iter().map(|(kind, time_s)| Fitting { kind, correction: self.total_s / time_s });
        let mut fitting: Vec<Fitting> =
            corrected.filter(|one| (1.0 / one.correction - 1.0).abs() <= REPRODUCED).collect();
        fitting.sort_by(|one, other| one.correction.ln().abs().total_cmp(&other.correction.ln().abs()));
        if fitting.is_empty() { Err(Unpredicted::NotReproduced) } else { Ok(fitting) }
    }

    /// Times of the changed transfer: the likeliest first, then with what else may be true of path, sender and window.
    fn changed_s(&self, change: Change, fitting: &[Fitting]) -> Option<Vec<f64>> {
        let changed = |event: &Event| change.event(*event, self.seen.policed);
        let mut orders: Vec<Vec<Event>> = vec![self.events.iter().filter_map(changed).collect()];
        // What the clock brings may have come for the bytes after all.
        if orders[0].iter().any(|event| event.at_s.is_some()) {
            orders.push(at_their_bytes(&orders[0]));
        }
        let [low, middle, high] = self.path.rate_bytes_s;
        let rates = [middle, low, high];
        // The same rate takes the same time.
        let differ = (0..rates.len()).filter(|&index| !rates[..index].contains(&rates[index]));
        let mut times_s = Vec::new();
        for fitting in fitting {
            let of_rates = differ.clone().map(|index| rates[index]);
            for (rate_bytes_s, events) in of_rates.flat_map(|rate| orders.iter().map(move |events| (rate, events))) {
                let mut setting = self.setting(fitting.kind, rate_bytes_s);
                change.apply(&mut setting);
                let time_s = replay(&setting, events)?;
                let corrected_s = time_s * fitting.correction;
                times_s.extend(if change.keeps_errors() { [corrected_s, time_s] } else { [time_s, corrected_s] });
                // The window may stay as large as it ever was.
                let largest = self.path.largest_window_bytes.filter(|most| setting.path.window_bytes != Some(*most));
                if let Some(largest) = largest {
                    setting.path.window_bytes = Some(largest);
                    times_s.extend(replay(&setting, events));
                }
            }
        }
        Some(times_s)
    }
}

/// The same events, each where it happened in the stream.
fn at_their_bytes(events: &[Event]) -> Vec<Event> {
    events.iter().map(|event| Event { at_s: None, ..*event }).collect()
}
