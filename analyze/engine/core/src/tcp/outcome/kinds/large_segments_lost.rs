//! `large_segments_lost`: packets above some size never arrive, smaller ones do: a black hole of path MTU discovery (RFC 2923).
//!
//! Rule: docs/verdict.md, "Large segments lost".

use crate::decode::icmp::Meaning;
use crate::tcp::events::outcome_kind::OutcomeKind;
use crate::tcp::events::place::Place;
use crate::tcp::events::sent::SentKind;
use crate::tcp::kernel::LONG_IDLE_NS;
use crate::tcp::outcome::case::{Finding, OutcomeCase};
use crate::tcp::outcome::words::{grouped, lasting, name, times};
use crate::tcp::summary::ending::SideAtEnd;

/// Every path carries less than this (RFC 791: 576 bytes with headers).
const SMALLEST_LARGE: u32 = 536;

/// Transmissions after the first that must have been in vain.
const FEWEST_AGAIN: u32 = 2;

const LEAST_NS: i64 = 1_000_000_000;

/// At the receiver a hole is no mere loss after this.
const LEAST_MISSING_NS: i64 = 3_000_000_000;

const REMEDY: &str = "lower the MTU or clamp the MSS to what the path carries (tunnel, VPN, peering), let ICMP \"fragmentation \
                      needed\" through, or turn on net.ipv4.tcp_mtu_probing";

/// See the module.
pub fn find(case: &OutcomeCase) -> Option<Finding> {
    [0, 1].into_iter().find_map(|sender| unacknowledged(case, sender).or_else(|| never_seen(case, sender)))
}

/// The sender's large segments pass the capture point and are never acknowledged.
fn unacknowledged(case: &OutcomeCase, sender: usize) -> Option<Finding> {
    let side = case.side(sender);
    let fates = &side.fates;
    let (size, acknowledged) = (fates.smallest_lost, fates.largest_acknowledged);
    let since = side.oldest?;
    let lasted_ns = case.summary.end_ns.saturating_sub(since.time_ns);
    let is_forgotten = acknowledged == 0 && side.acknowledged_bytes > 0;
    let too_big = case.icmp_of(&[Meaning::TooBig]);
    let again = side.times_again >= if too_big.is_some() { 1 } else { FEWEST_AGAIN };
    let is_seen = case.side(1 - sender).missing_bytes == 0;
    if !is_seen || size < SMALLEST_LARGE || acknowledged >= size || is_forgotten || side.closed.is_some() || !again {
        return None;
    }
    let confidence = match too_big {
        Some(_) => 0.95,
        None => confidence(case, sender, since.time_ns)?,
    };
    if lasted_ns < LEAST_NS {
        return None;
    }
    let retransmissions = case.sent_again(sender, i64::MIN, &[SentKind::Retransmission]);
    let places: Vec<Place> = [since].into_iter().chain(retransmissions.iter().map(|sent| sent.place)).collect();
    let packet = |payload: u32| grouped(u64::from(payload + side.header_bytes));
    let passing = match acknowledged {
        0 => "packets without data pass".to_owned(),
        _ => format!("packets of up to {} bytes pass", packet(acknowledged)),
    };
    Some(Finding {
        kind: OutcomeKind::LargeSegmentsLost,
        sentence: format!(
            "Only large segments from the {} are lost: packets of {} bytes and more were never acknowledged in {}, {passing}. The \
             first was sent {}",
            name(sender),
            packet(size),
            lasting(lasted_ns),
            times(u64::from(side.times_again) + 1),
        ),
        confidence,
        shown: vec![(format!("a packet of {} bytes, and its retransmissions", packet(fates.first_lost)), places)],
        remedy: REMEDY.to_owned(),
    })
}

/// How sure it is that the peer is there; none if it seems to be gone.
fn confidence(case: &OutcomeCase, sender: usize, since_ns: i64) -> Option<f64> {
    let side = case.side(sender);
    let heard_ns = case.last_ns(1 - sender)?;
    let is_alive = heard_ns > since_ns.saturating_add(case.ending.rtt_ns.unwrap_or(LEAST_NS).saturating_mul(2));
    match (is_alive, side.fates.reported > 0, side.fates.largest_acknowledged > 0) {
        (_, true, _) => Some(0.95),
        (true, false, true) => Some(0.9),
        (true, false, false) => Some(0.85),
        // After a long silence it is likelier that nobody is there any more.
        (false, ..) if since_ns.saturating_sub(heard_ns) >= LONG_IDLE_NS => None,
        (false, false, true) => Some(0.75),
        (false, false, false) => Some(0.7),
    }
}

/// At the receiver: what was passed over never comes, what came behind it was small.
fn never_seen(case: &OutcomeCase, sender: usize) -> Option<Finding> {
    let side = case.side(sender);
    let since_ns = side.missing_since_ns?;
    let offered = full_size(side);
    let lasted_ns = case.ending.capture_end_ns.min(case.summary.end_ns.saturating_add(LEAST_MISSING_NS)) - since_ns;
    let stuck = side.missing_bytes > 0 && side.outstanding_bytes >= side.missing_bytes;
    if !stuck || side.largest_payload >= offered || side.missing_bytes < u64::from(offered) {
        return None;
    }
    if lasted_ns < LEAST_MISSING_NS || side.data_packets == 0 || side.largest_payload == 0 {
        return None;
    }
    let packet = |payload: u32| grouped(u64::from(payload + side.header_bytes));
    Some(Finding {
        kind: OutcomeKind::LargeSegmentsLost,
        sentence: format!(
            "Only small segments from the {} arrive: {} bytes before them are missing, and no packet above {} bytes was seen. \
             Full-sized packets have {} bytes",
            name(sender),
            grouped(side.missing_bytes),
            packet(side.largest_payload),
            packet(offered),
        ),
        confidence: 0.75,
        shown: vec![("what arrived after the missing bytes".to_owned(), side.last_data.into_iter().collect())],
        remedy: REMEDY.to_owned(),
    })
}

/// Payload of a full segment.
fn full_size(side: &SideAtEnd) -> u32 {
    let options = side.header_bytes.saturating_sub(if side.header_bytes >= 60 { 60 } else { 40 });
    match side.offered_segment_size {
        0 => SMALLEST_LARGE,
        size => u32::from(size).saturating_sub(options),
    }
}
