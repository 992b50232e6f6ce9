//! What held a transfer up, in the order of its bytes: pauses, stretches at somebody's pace, losses.
//!
//! What path, windows and congestion control make of a transfer is not on it: that is the model's to find.

use crate::tcp::events::holder::Holder;
use crate::tcp::limits::runs::FactorRun;
use crate::tcp::loss::reductions::Reduction;
use crate::tcp::replay::seen::Seen;
use crate::tcp::replay::window::WindowLimited;

/// Recoveries that are not remembered are replayed at even distances, so many at most.
const MOST_RECOVERIES: u64 = 65_536;

/// A run that delivers less than so many segments delivers nothing: it is a pause.
const FEWEST_SEGMENTS: f64 = 1.0;

/// What happens at a position of the stream.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum What {
    /// Nothing passes for so many seconds.
    Pause(Holder, f64),
    /// Up to another position no more than so many bytes a second pass.
    Pace(Holder, f64, f64),
    /// Fast recovery begins with so many bytes in flight.
    Loss(f64),
    /// A retransmission timeout, likewise.
    Timeout(f64),
}

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Event {
    /// Bytes delivered before it.
    pub at_bytes: f64,
    /// When it happens whatever has been delivered by then, seconds from the first packet; none where its bytes bring it about.
    pub at_s: Option<f64>,
    /// What happens.
    pub what: What,
}

/// All of a transfer, in order.
pub fn timeline(seen: &Seen) -> Vec<Event> {
    let mut events = recoveries(seen);
    let mut at_bytes = 0.0;
    for (run, bytes) in delivered(seen).take(seen.runs.len() - runs_after_the_end(seen)) {
        events.extend(event_of(seen, run, [at_bytes, at_bytes + bytes]));
        at_bytes += bytes;
    }
    events.extend(waits_for_reader(seen));
    if !seen.sender_opens {
        shorten_first_turn(&mut events, seen.behind_s);
    }
    events.sort_by(|one, other| one.at_bytes.total_cmp(&other.at_bytes));
    events
}

/// Away from a server, the first data comes later than it was sent, by as much as its last acknowledgement comes sooner.
fn shorten_first_turn(events: &mut [Event], behind_s: f64) {
    let mut left_s = behind_s;
    for event in events.iter_mut().filter(|event| event.at_bytes <= 0.0) {
        if let What::Pause(Holder::Turn | Holder::Application | Holder::ServerWait, time_s) = &mut event.what {
            let taken_s = time_s.min(left_s);
            *time_s -= taken_s;
            left_s -= taken_s;
        }
    }
}

/// Seconds up to the last data that was delivered, as the sender saw it: what comes after it is no part of the transfer.
pub fn duration_s(seen: &Seen) -> f64 {
    let after = seen.runs.iter().rev().take(runs_after_the_end(seen));
    let rest_s = seen.total_s - after.map(FactorRun::duration_ns).sum::<u64>() as f64 / 1e9;
    // Away from the sender its last acknowledgement is heard of later than it passes.
    let passed_s = if seen.behind_s > 0.0 { rest_s.min(before_data_s(seen) + seen.data_s) } else { rest_s };
    if seen.sender_opens { passed_s + seen.behind_s } else { passed_s }
}

/// Seconds before the first run that delivers something.
fn before_data_s(seen: &Seen) -> f64 {
    seen.runs.iter().take_while(|run| run.bytes == 0).map(FactorRun::duration_ns).sum::<u64>() as f64 / 1e9
}

/// Runs at the end in which nobody had anything to send.
fn runs_after_the_end(seen: &Seen) -> usize {
    let is_rest = |run: &&FactorRun| {
        is_pause(seen, run.bytes as f64)
            && matches!(run.factor.holder(), Holder::Turn | Holder::Application | Holder::Unknown)
    };
    seen.runs.iter().rev().take_while(is_rest).count()
}

/// Runs with the payload that passed in each. What rounds deliver differs from it by what no round was judged for.
fn delivered<'a>(seen: &Seen<'a>) -> impl Iterator<Item = (&'a FactorRun, f64)> {
    let delivered: u64 = seen.runs.iter().map(|run| run.bytes).sum();
    let scale = if delivered > 0 { seen.bytes / delivered as f64 } else { 1.0 };
    seen.runs.iter().map(move |run| (run, run.bytes as f64 * scale))
}

fn is_pause(seen: &Seen, bytes: f64) -> bool {
    bytes < FEWEST_SEGMENTS * seen.segment_bytes
}

fn event_of(seen: &Seen, run: &FactorRun, [at_bytes, end_bytes]: [f64; 2]) -> Option<Event> {
    let (time_s, bytes) = (run.duration_ns() as f64 / 1e9, end_bytes - at_bytes);
    let holder = run.factor.holder();
    let what = match holder {
        Holder::Reader => return None,
        _ if holder.is_of_the_model() => return None,
        _ if holder.ends_with_a_timer() || is_pause(seen, bytes) => What::Pause(holder, time_s),
        _ => What::Pace(holder, end_bytes, bytes / time_s),
    };
    Some(Event { at_bytes, at_s: at_s(seen, run).filter(|_| matches!(what, What::Pause(..))), what })
}

/// When hosts and paths stop: that does not wait for bytes. A timer runs out for what was lost, or for a path that has stopped.
fn at_s(seen: &Seen, run: &FactorRun) -> Option<f64> {
    let by_clock = match run.factor.holder() {
        Holder::Stall | Holder::Outage | Holder::Unknown => true,
        Holder::Timeout => seen.needless_timeouts,
        _ => false,
    };
    let first_ns = seen.runs.first()?.start_ns;
    by_clock.then(|| run.start_ns.saturating_sub(first_ns) as f64 / 1e9)
}

/// What an open window would have delivered sooner is the reader's, shared out among the runs that the window limited.
fn waits_for_reader(seen: &Seen) -> Vec<Event> {
    let Some(window) = WindowLimited::of(seen) else { return Vec::new() };
    let mut at_bytes = 0.0;
    let mut events = Vec::new();
    for (run, bytes) in delivered(seen) {
        if run.factor.holder() == Holder::Reader && window.reader_s > 0.0 {
            let time_s = window.reader_s * run.duration_ns() as f64 / 1e9 / window.time_s;
            let what = What::Pause(Holder::Reader, time_s);
            events.push(Event { at_bytes: at_bytes + bytes / 2.0, at_s: None, what });
        }
        at_bytes += bytes;
    }
    events
}

fn recoveries(seen: &Seen) -> Vec<Event> {
    let of = |one: &Reduction, at_bytes: f64| {
        let flight_bytes = f64::from(one.flight_bytes);
        let what = if one.by_timeout { What::Timeout(flight_bytes) } else { What::Loss(flight_bytes) };
        Event { at_bytes, at_s: None, what }
    };
    // A sender that learns that nothing was lost takes its window up again (RFC 3522, RFC 5682).
    let counts = |one: &&Reduction| !(one.by_timeout && seen.needless_timeouts);
    let mut events: Vec<Event> =
        seen.reductions.iter().filter(counts).map(|one| of(one, one.position as f64)).collect();
    let Some(last) = events.last().copied() else { return events };
    let more = seen.recoveries.saturating_sub(seen.reductions.len() as u64).min(MOST_RECOVERIES);
    let apart_bytes = (seen.bytes - last.at_bytes) / (more + 1) as f64;
    let again = seen.reductions.iter().filter(counts).cycle().take(more as usize).enumerate();
    events.extend(again.map(|(number, one)| of(one, last.at_bytes + apart_bytes * (number + 1) as f64)));
    events
}
