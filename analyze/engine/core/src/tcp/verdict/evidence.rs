//! The frames that prove a verdict: the ends of the longest intervals of its factor and frames within them, three to ten in all;
//! where an interval has fewer, those before and after it, beside which it shows.
//!
//! Rule: docs/verdict.md, "Frames of the evidence".

use crate::tcp::events::factor::Factor;
use crate::tcp::events::place::Place;
use crate::tcp::limits::marks::Mark;
use crate::tcp::limits::runs::FactorRun;
use crate::tcp::limits::summary::LimitsSummary;
use crate::tcp::summary::decision::Decision;
use crate::tcp::verdict::case::{Case, Evidence};
use crate::tcp::verdict::factors::{candidates, rule};
use crate::tcp::verdict::sentence::is_of_writers;
use crate::tcp::verdict::words::fine_seconds;

/// Intervals named for a factor; two frames each.
const MOST_INTERVALS: usize = 5;

/// Frames of a piece of evidence (docs/verdict.md, "The verdict").
const FEWEST_FRAMES: usize = 3;

const MOST_FRAMES: usize = 10;

/// Evidence for the factor, and for the runner-up.
pub fn evidence(case: &Case, decision: &Decision) -> Vec<Evidence> {
    let of_factors = candidates(decision).into_iter().filter_map(|factor| of_factor(case, factor));
    of_factors.chain(of_nagle(case, decision)).chain(of_nearer(case)).collect()
}

/// The handshake shows nothing of the path.
fn of_nearer(case: &Case) -> Option<Evidence> {
    let nearer = case.connection.nearer()?;
    let text = format!(
        "a device nearer than the host that acknowledges data replied to the SYN: after {} instead of at least {}; the \
         handshake RTT is not that of the path",
        fine_seconds(nearer.handshake_ns),
        fine_seconds(nearer.data_ns)
    );
    Some(Evidence { text, frames: nearer.places.to_vec() })
}

/// What was in flight, its late acknowledgement, and the short segment that had waited for that.
fn of_nagle(case: &Case, decision: &Decision) -> Option<Evidence> {
    let waits = case.direction.nagle_waits().filter(|_| candidates(decision).into_iter().any(is_of_writers))?;
    let text = format!(
        "{} short segments sent right after late ACKs, in all {:.3} s later than the fastest ACK: a segment, its ACK, the \
         segment held back",
        waits.count,
        waits.time_ns as f64 / 1e9
    );
    Some(Evidence { text, frames: waits.places.clone() })
}

fn of_factor(case: &Case, factor: Factor) -> Option<Evidence> {
    let limits = case.limits;
    let share = &limits.shares[factor];
    let own = (rule(factor).intervals)(case);
    let mut runs = if own.is_empty() { with_their_frames(&limits.runs, factor) } else { own };
    let number = runs.len();
    // Within an interval other limits may have held for a moment: their time is in its length, and not in the factor's share.
    let whole_ns: u64 = runs.iter().map(FactorRun::duration_ns).sum();
    runs.sort_by_key(|run| std::cmp::Reverse(run.duration_ns()));
    runs.truncate(MOST_INTERVALS);
    let frames = frames(limits, factor, &runs);
    if frames.is_empty() {
        return None;
    }
    let text = format!(
        "{}: {}{}",
        rule(factor).in_words,
        match runs.first() {
            Some(only) if number == 1 => format!("1 interval of {:.3} s", only.duration_ns() as f64 / 1e9),
            Some(longest) => format!(
                "{number} intervals of {:.3} s in all, the longest {:.3} s",
                whole_ns as f64 / 1e9,
                longest.duration_ns() as f64 / 1e9,
            ),
            None => format!("{:.3} s in all, between longer intervals of other limits", share.time_ns as f64 / 1e9),
        },
        if frames.len() < FEWEST_FRAMES { "; the connection has no more packets that show it" } else { "" },
    );
    Some(Evidence { text, frames })
}

/// Intervals of a factor. One that is a part of what was judged together has the frames at the ends of that: they are none of it.
fn with_their_frames(runs: &[FactorRun], factor: Factor) -> Vec<FactorRun> {
    let of_part = |index: usize| {
        let run = runs[index];
        let [first, last] = run.frames;
        let is_begun = index.checked_sub(1).is_none_or(|before| runs[before].frames[1] <= first);
        let is_ended = runs.get(index + 1).is_none_or(|after| after.frames[0] >= last);
        FactorRun { frames: [if is_begun { first } else { 0 }, if is_ended { last } else { 0 }], ..run }
    };
    (0..runs.len()).filter(|&index| runs[index].factor == factor).map(of_part).collect()
}

/// Three to ten frames in the order of the capture; fewer where there are no more.
fn frames(limits: &LimitsSummary, factor: Factor, runs: &[FactorRun]) -> Vec<Place> {
    let mut frames = EvidenceFrames::default();
    for run in runs {
        let [first, last] = run.frames;
        frames.add(Place { frame: first, time_ns: run.start_ns });
        // The opening knows only its first frame.
        if last != first {
            frames.add(Place { frame: last, time_ns: run.end_ns });
        }
    }
    let within = |time_ns: i64| runs.iter().any(|run| run.start_ns <= time_ns && time_ns <= run.end_ns);
    let showing = |any_time: bool| {
        let marks = limits.marks.iter().filter(move |mark| mark.shows(factor) && (any_time || within(mark.time_ns)));
        marks.map(place_of).collect::<Vec<Place>>()
    };
    frames.add_evenly(&showing(false), MOST_FRAMES);
    frames.add_evenly(&showing(true), FEWEST_FRAMES);
    if let Some(longest) = runs.first() {
        frames.add_around(limits, longest);
    }
    frames.sorted()
}

fn place_of(mark: &Mark) -> Place {
    Place { frame: mark.frame, time_ns: mark.time_ns }
}

#[derive(Default)]
struct EvidenceFrames(Vec<Place>);

impl EvidenceFrames {
    fn add(&mut self, place: Place) {
        if place.frame > 0 && self.0.len() < MOST_FRAMES && !self.has(place) {
            self.0.push(place);
        }
    }

    fn has(&self, place: Place) -> bool {
        self.0.iter().any(|known| known.frame == place.frame)
    }

    /// Adds frames that lie evenly among the candidates until there are `wanted`.
    fn add_evenly(&mut self, candidates: &[Place], wanted: usize) {
        let new: Vec<Place> = candidates.iter().copied().filter(|place| !self.has(*place)).collect();
        let room = wanted.saturating_sub(self.0.len()).min(new.len());
        for place in 0..room {
            self.add(new[(2 * place + 1) * new.len() / (2 * room)]);
        }
    }

    /// Adds what passed before and after an interval, from the nearest on, until there are enough.
    fn add_around(&mut self, limits: &LimitsSummary, run: &FactorRun) {
        let mut before = limits.marks.iter().rev().filter(|mark| mark.time_ns < run.start_ns);
        let mut after = limits.marks.iter().filter(|mark| mark.time_ns > run.end_ns);
        while self.0.len() < FEWEST_FRAMES {
            let nearest = [before.next(), after.next()];
            if nearest.iter().all(Option::is_none) {
                return;
            }
            nearest.into_iter().flatten().for_each(|mark| self.add(place_of(mark)));
        }
    }

    fn sorted(mut self) -> Vec<Place> {
        self.0.sort_unstable();
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_an_interval_has_none_of_its_frames_that_lie_outside_of_it() {
        let run = |start_ns, end_ns, factor, frames| FactorRun { start_ns, end_ns, factor, bytes: 0, frames };
        let (wait, other) = (Factor::ServerWait, Factor::SlowStart);
        let runs = [
            run(0, 10, other, [1, 4]),
            run(10, 15, other, [4, 9]),
            run(15, 20, wait, [4, 9]),
            run(20, 30, wait, [9, 12]),
            run(30, 40, other, [12, 20]),
        ];
        let frames: Vec<[u32; 2]> = with_their_frames(&runs, wait).iter().map(|run| run.frames).collect();
        assert_eq!(frames, [[0, 9], [9, 12]]);
    }
}
