//! What the tests of gaps ask of a talk, and the path most of them are on.

use super::{CLIENT, Segment, Talk, data, ms};
use vmtrace_core::analysis::Options;
use vmtrace_core::tcp::gaps::cause::Cause;
use vmtrace_core::tcp::summary::summary::SpacingSummary;

/// Distances of the client's data, with a limit of one's own for what is oversize.
pub fn spacing_with(talk: &Talk, limit_ns: Option<u64>) -> SpacingSummary {
    let options = Options { oversize_abs_ns: limit_ns, ..Options::default() };
    talk.analysis_with(&options).connections[0].directions[CLIENT].spacing.clone()
}

/// Cause and length in milliseconds of each gap in the client's data that is longer than 30 ms.
pub fn gaps(talk: &Talk) -> Vec<(Cause, i64)> {
    let spacing = spacing_with(talk, Some(ms(30.0) as u64));
    spacing.gaps().iter().map(|gap| (gap.cause, gap.gap_ns as i64 / 1_000_000)).collect()
}

/// Cause of the only such gap.
pub fn only_cause(talk: &Talk) -> Cause {
    let gaps = gaps(talk);
    assert_eq!(gaps.len(), 1, "{gaps:?}");
    gaps[0].0
}

/// So long after data its acknowledgement is seen at the sender, ms.
pub const RTT: f64 = 20.0;

/// The client's segment `n`, full and without PSH.
pub fn segment(n: i64) -> Segment {
    data(n * 1000, 1000).without_push()
}

/// Round trip while no queue stands, ms: it takes until 100 ms for one to stand before the path.
pub const EMPTY_RTT: i32 = 12;
