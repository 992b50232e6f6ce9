//! The verdict in one sentence that a reader without the field's words understands.

use crate::tcp::events::retransmission::Trigger;
use crate::tcp::limits::factor::Factor;
use crate::tcp::summary::summary::DirectionSummary;
use crate::tcp::verdict::case::{Case, LEAST_CONFIDENCE};
use crate::tcp::verdict::decide::Decision;

/// Round trips are told with and without stalls if these make them so many times as long.
const PLAINLY_LONGER: f64 = 1.2;

/// The sentence.
pub fn sentence(case: &Case, decision: &Decision) -> String {
    if decision.confidence < LEAST_CONFIDENCE {
        return undetermined(case, decision);
    }
    let weight = if decision.by_lost_bytes {
        format!("{} of the lost throughput", percent(decision.share))
    } else {
        format!("{} of the data", percent(decision.share))
    };
    let waits = if decision.factor == Factor::Application { waits_for_acknowledgements(case) } else { String::new() };
    format!("{} ({weight}){waits}.", because(case, decision.factor))
}

fn undetermined(case: &Case, decision: &Decision) -> String {
    if decision.factor == Factor::Unknown {
        let time = seconds(case.limits.shares[Factor::Unknown as usize].time_ns);
        return format!(
            "Undetermined: packets stopped for {time} in all, at a host or on the path; {} would decide.",
            decision.needed.unwrap_or("a second capture")
        );
    }
    let names: Vec<&str> = decision.candidates().into_iter().map(in_words).collect();
    let needed = decision.needed.unwrap_or("a longer transfer");
    match names.as_slice() {
        [only] => format!("Undetermined: probably {only}; {needed} would decide."),
        _ => format!("Undetermined: {}; {needed} would decide.", names.join(" or ")),
    }
}

/// A factor as a noun.
pub fn in_words(factor: Factor) -> &'static str {
    match factor {
        Factor::Setup => "opening the connection",
        Factor::HostStall => "a host that stood still",
        Factor::TimeoutWait => "waiting for timeouts",
        Factor::LossRecovery => "repairing losses",
        Factor::ReceiverWindow => "the receiver's window",
        Factor::Application => "the sending application",
        Factor::SlowStart => "slow start",
        Factor::TokenBucket => "a token bucket",
        Factor::BottleneckBandwidth => "the path's bandwidth",
        Factor::SendBuffer => "the sender's own limit (send buffer or pacing)",
        Factor::CongestionWindow => "the congestion window",
        Factor::Idle => "waiting for the other side",
        Factor::Unknown => "nothing that could be told",
    }
}

fn because(case: &Case, factor: Factor) -> String {
    let direction = case.direction;
    let share = &case.limits.shares[factor as usize];
    let time = seconds(share.time_ns);
    let rate_bps = if share.time_ns > 0 { share.bytes as f64 * 8e9 / share.time_ns as f64 } else { 0.0 };
    let reference_bps = case.limits.reference_bytes_s.unwrap_or(0.0) * 8.0;
    let (rate, reference) = (rate(rate_bps), rate(reference_bps));
    let possible = || {
        if reference_bps > rate_bps {
            format!("{rate} where {reference} was possible")
        } else {
            format!("it allowed {rate}")
        }
    };
    let loss = direction.loss_rate().map_or_else(String::new, |loss| format!(" ({} lost)", fine_percent(loss)));
    match factor {
        Factor::Setup => format!("Opening the connection took {time} before data could flow"),
        Factor::HostStall => {
            let trips = stalled_round_trips(direction);
            format!("A host stood still for {time} in all, while the path could carry {reference}{trips}")
        }
        Factor::TimeoutWait => {
            let of = |trigger: Trigger| u64::from(direction.loss.by_trigger[trigger as usize]);
            let by_timers = match of(Trigger::Rto) + of(Trigger::Tlp) {
                0 => String::new(),
                1 => " (1 segment sent again by a timer)".to_owned(),
                segments => format!(" ({segments} segments sent again by timers)"),
            };
            format!("The sender waited {time} for timeouts after losses{by_timers}")
        }
        Factor::LossRecovery => format!("Repairing losses held the transfer back for {time}{loss}"),
        Factor::ReceiverWindow => {
            let window = direction.window.extremes.map_or(0, |(_, _, most)| most);
            if direction.window.zero_time_ns * 2 > share.time_ns {
                format!(
                    "The receiver closed its window for {}: its application read too slowly",
                    seconds(direction.window.zero_time_ns)
                )
            } else {
                format!("The receiver's window of at most {} allowed no more than {rate}", bytes(window as f64))
            }
        }
        Factor::Application => {
            format!("The sending application gave too little to send: the connection waited {time} for it")
        }
        Factor::SlowStart => {
            format!("The transfer was over before slow start had found the path's rate ({time} of growing)")
        }
        Factor::TokenBucket => format!("A token bucket ran empty and held the transfer at {rate}"),
        Factor::BottleneckBandwidth => {
            format!("The path's bandwidth was the limit: the transfer filled it with {reference}")
        }
        Factor::SendBuffer => {
            let flight = direction.flight.map_or(0.0, |(mean, _)| mean);
            format!(
                "The sender kept no more than {} in flight by its own limit (send buffer or pacing), {rate}",
                bytes(flight)
            )
        }
        Factor::CongestionWindow if direction.lost_inferred() > 0 => {
            format!("Losses kept the congestion window small{loss}: {}", possible())
        }
        Factor::CongestionWindow if direction.congestion_events() > 0 => format!(
            "Marks of congestion (ECN, {} times) kept the congestion window small: {}",
            direction.congestion_events(),
            possible()
        ),
        Factor::CongestionWindow => format!("The congestion window grew slowly: {}", possible()),
        Factor::Idle => format!("The direction waited {time} for the other side"),
        Factor::Unknown => "What limited the transfer cannot be told".to_owned(),
    }
}

/// What kept an application's small writes back.
fn waits_for_acknowledgements(case: &Case) -> String {
    case.direction.nagle_waits().map_or_else(String::new, |waits| {
        let (count, time) = (waits.count, seconds(waits.time_ns));
        format!(
            "; {count} of its small writes were kept back (Nagle's algorithm) until acknowledgements came, which took {time} \
             longer in all than the fastest: one write for what belongs together, or TCP_NODELAY, avoids that"
        )
    })
}

/// What the stalls did to round trips, if that shows.
fn stalled_round_trips(direction: &DirectionSummary) -> String {
    let with_ns = direction.round_trips.map(|trips| trips.quantiles_ns[2]);
    let without = direction.details.as_deref().and_then(|details| details.without_stalls);
    let without_ns = without.and_then(|rest| rest.quantiles_ns).map(|quantiles_ns| quantiles_ns[2]);
    match with_ns.zip(without_ns) {
        Some((with_ns, without_ns)) if with_ns > PLAINLY_LONGER * without_ns => {
            let [with, without] = [with_ns, without_ns].map(|ns| seconds(ns as u64));
            format!("; 99 % of round trips took {with} or less with that, {without} without")
        }
        _ => String::new(),
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

// What is little is not told as nothing.

fn fine_percent(share: f64) -> String {
    let is_seen = share <= 0.0 || share >= 0.00005;
    if is_seen { format!("{:.2} %", share * 100.0) } else { "less than 0.01 %".to_owned() }
}

fn seconds(time_ns: u64) -> String {
    match time_ns {
        1_000_000_000.. => format!("{:.1} s", time_ns as f64 / 1e9),
        1_000_000.. | 0 => format!("{:.0} ms", time_ns as f64 / 1e6),
        _ => format!("{:.0} µs", (time_ns as f64 / 1e3).ceil()),
    }
}

/// Bits per second with three digits.
pub fn rate(bps: f64) -> String {
    let (value, unit) = match bps {
        bps if bps < 1e3 => return format!("{bps:.0} bit/s"),
        bps if bps >= 1e9 => (bps / 1e9, "Gbit/s"),
        bps if bps >= 1e6 => (bps / 1e6, "Mbit/s"),
        bps => (bps / 1e3, "kbit/s"),
    };
    if value >= 100.0 { format!("{value:.0} {unit}") } else { format!("{value:.1} {unit}") }
}

fn bytes(count: f64) -> String {
    match count {
        count if count >= 1e6 => format!("{:.1} MB", count / 1e6),
        count if count >= 1e3 => format!("{:.0} kB", count / 1e3),
        count => format!("{count:.0} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_little_is_not_told_as_nothing() {
        assert_eq!(
            [0, 300, 400_000, 1_000_000, 1_500_000_000].map(seconds),
            ["0 ms", "1 µs", "400 µs", "1 ms", "1.5 s"]
        );
        assert_eq!([400.0, 1000.0, 64_256.0, 2.5e6].map(bytes), ["400 bytes", "1 kB", "64 kB", "2.5 MB"]);
        assert_eq!(
            [40.0, 999.0, 1000.0, 12e6, 345e6].map(rate),
            ["40 bit/s", "999 bit/s", "1.0 kbit/s", "12.0 Mbit/s", "345 Mbit/s"]
        );
        assert_eq!([0.0, 1e-6, 0.0123].map(fine_percent), ["0.00 %", "less than 0.01 %", "1.23 %"]);
    }
}
