//! Which transfers share a limit: those that the others make way for. What one has more of the others have less of; one that
//! has a limit of its own does not move them.
//!
//! Rule: docs/verdict.md, "Who shares it".

use crate::tcp::shared_limits::sum::SharedSum;

/// The others give way by this share of what one has more, at least: in this order, so that those that certainly do not are
/// gone before the rest is judged.
const GIVES_WAY: [f64; 4] = [0.0, 0.25, 0.5, 0.5];

/// Cells that tell something of a transfer.
pub(crate) const FEWEST_CELLS: usize = 4;

/// The members among those given, in the cells where `holds`. Those too short to tell stay with the others.
pub(crate) fn members(sum: &SharedSum, holds: impl Fn(&[usize], usize) -> bool) -> Vec<usize> {
    let mut members: Vec<usize> = (0..sum.parts.len()).collect();
    for least in GIVES_WAY {
        let total = sum.total(&members);
        let cells: Vec<bool> = (0..sum.cells()).map(|cell| holds(&members, cell)).collect();
        let stays = |member: &usize| gives_way(sum, &total, *member, &cells).is_none_or(|share| share >= least);
        let kept: Vec<usize> = members.iter().copied().filter(stays).collect();
        if kept.len() < 2 {
            return Vec::new();
        }
        members = kept;
    }
    members
}

/// By which share of what the member has more of the others have less; none if it is there too short.
fn gives_way(sum: &SharedSum, total: &[f64], member: usize, cells: &[bool]) -> Option<f64> {
    let own = &sum.parts[member];
    let pairs: Vec<(f64, f64)> =
        sum.life(member).filter(|&cell| cells[cell]).map(|cell| (own[cell], total[cell] - own[cell])).collect();
    if pairs.len() < FEWEST_CELLS {
        return None;
    }
    let count = pairs.len() as f64;
    let [mean, mean_others] =
        [pairs.iter().map(|pair| pair.0).sum::<f64>() / count, pairs.iter().map(|pair| pair.1).sum::<f64>() / count];
    let together: f64 = pairs.iter().map(|(own, others)| (own - mean) * (others - mean_others)).sum();
    let alone: f64 = pairs.iter().map(|(own, _)| (own - mean).powi(2)).sum();
    (alone > 0.0).then(|| -together / alone)
}
