//! The throughput with one limit removed: its time passes at the reference rate instead, or at twice its own rate where the
//! reference says nothing of it. Never more than is known to be allowed.

use crate::tcp::limits::factor::Factor;
use crate::tcp::verdict::case::{Case, WhatIf};
use crate::tcp::verdict::decide::Decision;

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
    let change = match factor {
        Factor::HostStall => "no stalls",
        Factor::TimeoutWait | Factor::LossRecovery => "no loss",
        Factor::CongestionWindow if case.direction.lost_inferred() > 0 => "no loss",
        Factor::CongestionWindow if case.direction.congestion_events() > 0 => "no marks of congestion",
        Factor::CongestionWindow => "a congestion window that grows at once",
        Factor::ReceiverWindow => "twice the receiver's window",
        Factor::Application => "an application that always has data to send",
        Factor::SlowStart => "a connection that is used again, past slow start",
        Factor::Setup => "a connection that is open already",
        Factor::SendBuffer => "twice the send buffer",
        Factor::BottleneckBandwidth => "twice the path's bandwidth",
        Factor::TokenBucket => "no token bucket",
        Factor::Idle | Factor::Unknown => return None,
    };
    let of_loss = [Factor::LossRecovery, Factor::TimeoutWait, Factor::CongestionWindow];
    let removed: &[Factor] = if change == "no loss" { &of_loss } else { std::slice::from_ref(&factor) };
    let all_s = case.limits.time_ns() as f64 / 1e9;
    let saved_s: f64 = removed.iter().map(|&factor| saved_s(case, factor)).sum();
    let bytes = case.direction.unique_payload_bytes as f64;
    let rest_s =
        (all_s - saved_s).max(case.limits.allowed_bytes_s.map_or(0.0, |allowed_bytes_s| bytes / allowed_bytes_s));
    (rest_s > 0.0 && rest_s < all_s).then(|| WhatIf { change, goodput_bps: bytes * 8.0 / rest_s })
}

/// Seconds that would not have passed without a factor.
fn saved_s(case: &Case, factor: Factor) -> f64 {
    let share = case.blame()[factor as usize];
    let time_s = share.time_ns as f64 / 1e9;
    let reference = case.limits.reference_bytes_s.unwrap_or(0.0);
    let at_reference_s = if reference > 0.0 { share.bytes as f64 / reference } else { time_s };
    match factor {
        Factor::ReceiverWindow | Factor::SendBuffer => {
            let own_rate = if time_s > 0.0 { share.bytes as f64 / time_s } else { 0.0 };
            // Twice the window is twice the rate, up to what the path was seen to carry, if it was seen to carry more.
            let most = if reference > 1.2 * own_rate { reference.min(2.0 * own_rate) } else { 2.0 * own_rate };
            if most > 0.0 { (time_s - share.bytes as f64 / most).max(0.0) } else { time_s }
        }
        Factor::BottleneckBandwidth | Factor::TokenBucket if at_reference_s >= 0.8 * time_s => time_s / 2.0,
        _ => (time_s - at_reference_s).max(0.0),
    }
}
