//! An allowance that is known of: a transfer cannot reach more than it permits, so nothing more was lost either
//! (docs/verdict.md, "The verdict").
//!
//! Rule: docs/verdict.md, "Allowance".

use crate::tcp::limits::summary::LimitsSummary;
use crate::tcp::summary::summary::ConnectionSummary;

impl ConnectionSummary {
    /// Either direction may carry so much at most, bits of IP packets a second.
    pub fn allow(&mut self, allowed_bps: f64) {
        let Some(judgement) = self.judgement.as_deref_mut() else { return };
        for (limits, direction) in judgement.limits.iter_mut().zip(&self.directions) {
            let segment_bytes = direction.payload_bytes as f64 / direction.data_segments.max(1) as f64;
            let allowed_bytes_s = allowed_bps / 8.0 / direction.ledger.ip_bytes_for_each(segment_bytes);
            limits.iter_mut().for_each(|limits| limits.allow(allowed_bytes_s));
        }
    }
}

impl LimitsSummary {
    /// It may carry so much payload at most. What the whole transfer reached was possible, whatever is said to be allowed.
    fn allow(&mut self, allowed_bytes_s: f64) {
        let bytes: u64 = self.shares.iter().map(|share| share.bytes).sum();
        let reached_bytes_s = bytes as f64 * 1e9 / self.time_ns().saturating_sub(self.after_data_ns).max(1) as f64;
        let allowed_bytes_s = allowed_bytes_s.max(reached_bytes_s);
        self.allowed_bytes_s = Some(allowed_bytes_s);
        self.reference_bytes_s = self.reference_bytes_s.map(|reference| reference.min(allowed_bytes_s));
    }
}
