//! The throughput with one limit removed: its time passes at the reference rate instead, or at twice its own rate where the
//! reference says nothing of it. Never more than is known to be allowed.
//!
//! Rule: docs/verdict.md, "What if".

use crate::tcp::events::factor::Factor;
use crate::tcp::summary::decision::Decision;
use crate::tcp::verdict::case::{Case, WhatIf};
use crate::tcp::verdict::factors::rule;
use crate::tcp::verdict::factors::rule::NO_LOSS;

/// What would help against the factor and against the runner-up. They may have the same remedy, which is said once.
pub fn what_if(case: &Case, decision: &Decision) -> Vec<WhatIf> {
    let mut found: Vec<WhatIf> = Vec::new();
    for what_if in decision.candidates().into_iter().filter_map(|factor| without(case, factor)) {
        if found.iter().all(|other| other.change != what_if.change) {
            found.push(what_if);
        }
    }
    found
}

fn without(case: &Case, factor: Factor) -> Option<WhatIf> {
    let change = (rule(factor).change)(case)?;
    let of_loss = [Factor::LossRecovery, Factor::TimeoutWait, Factor::CongestionWindow];
    let removed: &[Factor] = if change == NO_LOSS { &of_loss } else { std::slice::from_ref(&factor) };
    let all_s = case.limits.time_ns().saturating_sub(case.limits.after_data_ns) as f64 / 1e9;
    let shares = case.blame();
    let saved_s: f64 = removed.iter().map(|&factor| (rule(factor).saved_s)(case, &shares[factor as usize])).sum();
    let bytes = case.direction.unique_payload_bytes as f64;
    let rest_s =
        (all_s - saved_s).max(case.limits.allowed_bytes_s.map_or(0.0, |allowed_bytes_s| bytes / allowed_bytes_s));
    (rest_s > 0.0 && rest_s < all_s).then(|| WhatIf { change, goodput_bps: bytes * 8.0 / rest_s })
}
