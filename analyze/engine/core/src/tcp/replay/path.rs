//! The path as estimated: its rate with an interval, its round trip, its queue; and the windows at its ends.

use crate::tcp::events::factor::Factor;
use crate::tcp::events::holder::Holder;
use crate::tcp::limits::runs::FactorRun;
use crate::tcp::replay::seen::Seen;
use crate::tcp::replay::window::WindowLimited;

/// Long trains of acknowledgements agree with short ones from this share of their rate on; below it bursts are too short for
/// long trains.
const TRAINS_AGREE: f64 = 0.5;

/// How far from the truth a rate by trains may be where nothing else shows it.
const TRAINS_LOW: f64 = 0.8;

const TRAINS_HIGH: f64 = 1.15;

/// The same where bursts are too short for long trains: most short ones reach from one burst into the next.
const SHORT_TRAINS_HIGH: f64 = 1.5;

/// Share of the bytes from which on a transfer goes at its application's pace, and how much faster trains must be then.
const PACED_SHARE: f64 = 0.8;

const FASTER_THAN_PACED: f64 = 2.0;

/// Share of the bytes from which on a transfer goes at the pace of a window.
const SPREAD_SHARE: f64 = 0.5;

/// Trains that are so much faster than a window show the path.
const FASTER_THAN_WINDOW: f64 = 1.5;

/// Long trains that are so much faster than what passed while the path was full show that it was not full all the time.
const PAUSED: f64 = 1.2;

/// Those that are faster still come from a host that had stalled.
const MISLED: f64 = 4.0;

/// Share of the time in which a factor limited that shows its rate.
const TELLING_TIME: f64 = 0.04;

/// A window that has grown by this is one that the receiver's kernel adapts. So is one that little was ever in flight of.
const GROWN: f64 = 1.3;

const FILLED: f64 = 0.6;

/// A window that limited when it was by so much smaller than its largest is one of the beginning.
const OUTGROWN: f64 = 2.0;

/// Recoveries that begin with fewer segments in flight leave no bursts that are trains.
const BURST_SEGMENTS: f64 = 16.0;

const FASTER_THAN_REACHED: f64 = 1.5;

/// A queue that nothing has filled holds what the path does in so much time.
const USUAL_QUEUE_S: f64 = 0.03;

/// Low, middle and high.
pub type Interval = [f64; 3];

/// See the module. Rates are payload bytes a second.
#[derive(Debug, Clone, Copy)]
pub struct Path {
    /// What the narrowest place lets pass.
    pub rate_bytes_s: Interval,
    /// The rate is what was reached, and nothing shows more: the path may carry any more.
    pub rate_is_reached: bool,
    /// Without a queue, seconds.
    pub round_trip_s: f64,
    /// How long the queue may become, seconds.
    pub queue_s: f64,
    /// What the receiver's window lets be in flight; none if it grows with what arrives, or if it is not known.
    pub window_bytes: Option<f64>,
    /// The largest window advertised, where it grows.
    pub largest_window_bytes: Option<f64>,
    /// What the send buffer lets be in flight; none if it never was in the way.
    pub buffer_bytes: Option<f64>,
}

impl Path {
    /// None if nothing shows its rate.
    pub fn of(seen: &Seen) -> Option<Self> {
        let (rate_bytes_s, rate_is_reached) = rate(seen)?;
        let bound = |rate: f64| seen.allowed_bytes_s.map_or(rate, |allowed| rate.min(allowed));
        let limited = WindowLimited::of(seen).filter(|window| window.time_s >= TELLING_TIME * seen.total_s);
        let [least, most] = seen.window_bytes.unwrap_or([0.0; 2]);
        // A window that was small at first and has grown since limits no more.
        let is_small = |bytes_s: f64| OUTGROWN * bytes_s * seen.round_trip_s < most;
        let by_window = limited.map(|window| window.bytes_s).filter(|bytes_s| *bytes_s > 0.0 && !is_small(*bytes_s));
        let known = seen.window_bytes.is_some();
        let unfilled = seen.largest_flight_bytes < FILLED * most;
        let grows = known && by_window.is_none() && (most >= GROWN * least || unfilled);
        let in_flight = |bytes_s: f64| (bytes_s * seen.round_trip_s).max(seen.segment_bytes);
        let window_bytes = match by_window {
            Some(bytes_s) => Some(in_flight(bytes_s)),
            None => Some(most).filter(|_| known && !grows),
        };
        Some(Self {
            rate_bytes_s: rate_bytes_s.map(bound),
            rate_is_reached,
            round_trip_s: seen.round_trip_s,
            queue_s: seen.queue_s.max(USUAL_QUEUE_S),
            window_bytes,
            largest_window_bytes: Some(most).filter(|_| grows),
            buffer_bytes: rate_under(seen, Holder::Buffer).map(in_flight),
        })
    }
}

/// The path's rate, and whether it is no more than what was reached.
fn rate(seen: &Seen) -> Option<(Interval, bool)> {
    let faster = |full: f64| {
        seen.trains.and_then(|trains| trains.long_bytes_s).is_some_and(|long| (PAUSED..MISLED).contains(&(long / full)))
    };
    // Pauses that the full path was taken for make it slow: trains show that.
    if let Some(full) = rate_under(seen, Holder::Path).filter(|full| !faster(*full) && !is_outdone(seen, *full)) {
        return Some(([0.97 * full, full, 1.05 * full], false));
    }
    let reached = seen.reference_bytes_s.unwrap_or(0.0);
    let Some(trains) = seen.trains else { return (reached > 0.0).then_some(([reached; 3], true)) };
    let is_slow = is_application_paced(seen, trains.short_bytes_s) || is_paced_by_window(seen, trains.short_bytes_s);
    if is_slow || is_without_bursts(seen, trains.short_bytes_s, reached) {
        return Some(([reached; 3], true));
    }
    let short = trains.short_bytes_s;
    let long = trains.long_bytes_s.filter(|long| *long >= TRAINS_AGREE * short);
    let [low, middle, high] = match long {
        Some(long) => [long.min(short), (long * short).sqrt(), TRAINS_HIGH * short],
        None => [TRAINS_LOW * short, short, SHORT_TRAINS_HIGH * short],
    };
    Some(([low.max(reached), middle.max(reached), high.max(reached)], false))
}

/// More passed clearly faster at other times than while the path seemed full: what follows the last data makes the rate small.
fn is_outdone(seen: &Seen, full_bytes_s: f64) -> bool {
    let bytes = |is_meant: &dyn Fn(&FactorRun) -> bool| -> u64 {
        seen.runs.iter().filter(|run| is_meant(run)).map(|run| run.bytes).sum()
    };
    let is_path = |run: &FactorRun| run.factor.holder() == Holder::Path;
    let is_faster = |run: &FactorRun| run.bytes as f64 * 1e9 > PAUSED * full_bytes_s * run.duration_ns() as f64;
    bytes(&|run| !is_path(run) && is_faster(run)) > bytes(&is_path)
}

/// What an application writes piece by piece comes as it was written, unless trains are clearly faster than that.
fn is_application_paced(seen: &Seen, short_bytes_s: f64) -> bool {
    let runs = || seen.runs.iter().filter(|run| matches!(run.factor.holder(), Holder::Application | Holder::Turn));
    let bytes = runs().map(|run| run.bytes).sum::<u64>() as f64;
    let time_s = runs().map(|run| run.duration_ns()).sum::<u64>() as f64 / 1e9;
    bytes >= PACED_SHARE * seen.bytes && short_bytes_s * time_s < FASTER_THAN_PACED * bytes
}

/// What a window lets pass comes back as it went, once it is spread over the round trip: trains show the window then, unless they are
/// clearly faster.
fn is_paced_by_window(seen: &Seen, short_bytes_s: f64) -> bool {
    let runs = || seen.runs.iter().filter(|run| is_a_window(run.factor));
    let bytes = runs().map(|run| run.bytes).sum::<u64>() as f64;
    let time_s = runs().map(|run| run.duration_ns()).sum::<u64>() as f64 / 1e9;
    bytes >= SPREAD_SHARE * seen.bytes && short_bytes_s * time_s < FASTER_THAN_WINDOW * bytes
}

fn is_a_window(factor: Factor) -> bool {
    matches!(factor.holder(), Holder::Buffer | Holder::Reader | Holder::PeerApplication)
}

/// What passed a second while somebody held it up, pauses left out; none if that was too short a time.
fn rate_under(seen: &Seen, holder: Holder) -> Option<f64> {
    let runs = seen.runs.iter().filter(|run| run.factor.holder() == holder && run.bytes as f64 >= seen.segment_bytes);
    let (bytes, time_ns) = runs.fold((0, 0), |(bytes, time_ns), run| (bytes + run.bytes, time_ns + run.duration_ns()));
    let time_s = time_ns as f64 / 1e9;
    (time_s >= TELLING_TIME * seen.total_s && time_s > 0.0).then(|| bytes as f64 / time_s)
}

/// So few segments are in flight that no train fits into a burst: trains show how often bursts came.
fn is_without_bursts(seen: &Seen, short_bytes_s: f64, reached_bytes_s: f64) -> bool {
    let mut flights: Vec<u32> = seen.reductions.iter().map(|one| one.flight_bytes).collect();
    flights.sort_unstable();
    let is_small = |flight: &u32| f64::from(*flight) < BURST_SEGMENTS * seen.segment_bytes;
    flights.get(flights.len() / 2).is_some_and(is_small) && short_bytes_s < FASTER_THAN_REACHED * reached_bytes_s
}
