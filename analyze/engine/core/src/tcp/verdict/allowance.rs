//! An allowance that is known of: a transfer cannot reach more than it permits, so nothing more was lost either
//! (docs/verdict.md, "The verdict").
//!
//! Rule: docs/verdict.md, "Allowance".

use crate::tcp::limits::second_stage::{Facts, reassign};
use crate::tcp::summary::summary::ConnectionSummary;
use crate::tcp::verdict::factors::reassignments;

/// Either direction may carry so much at most, bits of IP packets a second.
pub fn allow(summary: &mut ConnectionSummary, allowed_bps: f64) {
    let Some(judgement) = summary.judgement.as_deref_mut() else { return };
    for (limits, direction) in judgement.limits.iter_mut().zip(&summary.directions) {
        let segment_bytes = direction.payload_bytes as f64 / direction.data_segments.max(1) as f64;
        let allowed_bytes_s = allowed_bps / 8.0 / direction.ledger.ip_bytes_for_each(segment_bytes);
        let facts = Facts { allowed_bytes_s: Some(allowed_bytes_s), ..Facts::default() };
        limits.iter_mut().for_each(|limits| reassign(reassignments(), limits, &facts));
    }
}
