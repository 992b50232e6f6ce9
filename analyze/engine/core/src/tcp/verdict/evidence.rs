//! The frames that prove a verdict: the ends of the longest intervals of its factor.

use super::{Case, Decision, Evidence};
use crate::tcp::limits::{Factor, Run};
use crate::tcp::verdict::sentence::in_words;

/// Intervals named for a factor; two frames each.
const MOST_INTERVALS: usize = 5;

/// Evidence for the factor, and for the runner-up.
pub fn evidence(case: &Case, decision: &Decision) -> Vec<Evidence> {
    decision.candidates().into_iter().filter_map(|factor| of_factor(case, factor)).collect()
}

fn of_factor(case: &Case, factor: Factor) -> Option<Evidence> {
    let mut runs: Vec<&Run> = case.limits.runs.iter().filter(|run| run.factor == factor).collect();
    let (number, longest_ns) = (runs.len(), runs.iter().map(|run| run.duration_ns()).max()?);
    runs.sort_by_key(|run| std::cmp::Reverse(run.duration_ns()));
    runs.truncate(MOST_INTERVALS);
    let mut frames: Vec<u32> = runs.iter().flat_map(|run| run.frames).filter(|frame| *frame > 0).collect();
    frames.sort_unstable();
    frames.dedup();
    let share = &case.limits.shares[factor as usize];
    let text = format!(
        "{}: {} {} of {:.3} s in all, the longest {:.3} s",
        in_words(factor),
        number,
        if number == 1 { "interval" } else { "intervals" },
        share.time_ns as f64 / 1e9,
        longest_ns as f64 / 1e9,
    );
    let list = frames.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let display_filter = format!("frame.number in {{{list}}}");
    Some(Evidence { text, frames, display_filter })
}
