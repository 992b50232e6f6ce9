//! `idle_then_silent` and `peer_silent`: one side sends again and again, of the other nothing comes any more.
//!
//! Rule: docs/verdict.md, "Peer silent".

use crate::tcp::connection::ending_notes::MOST_PLACES;
use crate::tcp::events::ending::SentAgain;
use crate::tcp::events::outcome_kind::OutcomeKind;
use crate::tcp::events::place::Place;
use crate::tcp::events::sent::SentKind;
use crate::tcp::outcome::case::{Finding, OutcomeCase};
use crate::tcp::outcome::words::{lasting, name, plural, times};
use crate::tcp::verdict::words::bytes;

/// The shortest silence that is one, and so many round trips.
const LEAST_NS: i64 = 1_000_000_000;

const LEAST_ROUND_TRIPS: i64 = 4;

/// With a single retransmission it must have lasted so long.
const LEAST_AFTER_ONE_NS: i64 = 3_000_000_000;

/// Keep-alive probes in vain from which on a side is gone.
const FEWEST_PROBES: usize = 3;

/// What one side sent in vain.
struct SentInVain {
    sender: usize,
    /// Since when.
    since: Place,
    /// When the peer was heard last.
    heard_ns: i64,
    again: Vec<SentAgain>,
    times_again: u64,
    /// Keep-alive probes, no data.
    of_probes: bool,
}

/// After a long silence of both.
///
/// Rule: docs/verdict.md, "Idle, then silent".
pub fn idle_then_silent(case: &OutcomeCase) -> Option<Finding> {
    let silence = silence(case)?;
    let resumed = case
        .ending
        .resumed
        .filter(|resumed| usize::from(resumed.side) == silence.sender && silence.heard_ns <= resumed.from_ns)?;
    let peer = name(1 - silence.sender);
    let what = if silence.of_probes { "keep-alive probes" } else { "the next data" };
    Some(Finding {
        kind: OutcomeKind::IdleThenSilent,
        sentence: format!(
            "Idle for {}, then {what} got no reply: {}. A device on the path has dropped the idle connection, or the {peer} is \
             gone",
            lasting(resumed.idle_ns()),
            in_vain(case, &silence),
        ),
        confidence: confidence(&silence),
        shown: vec![shown(case, &silence)],
        remedy: format!(
            "send keep-alives more often than every {}: load balancers, NAT and firewalls drop idle connections",
            lasting(resumed.idle_ns())
        ),
    })
}

/// In the middle of its work.
pub fn peer_silent(case: &OutcomeCase) -> Option<Finding> {
    let silence = silence(case)?;
    let peer = name(1 - silence.sender);
    Some(Finding {
        kind: OutcomeKind::PeerSilent,
        sentence: format!("The {peer} fell silent: {}", in_vain(case, &silence)),
        confidence: confidence(&silence),
        shown: vec![shown(case, &silence)],
        remedy: format!(
            "check whether the {peer} still runs, and whether its packets are lost on the return path: capture there, too"
        ),
    })
}

fn silence(case: &OutcomeCase) -> Option<SentInVain> {
    [0, 1].into_iter().find_map(|sender| of_sender(case, sender))
}

fn of_sender(case: &OutcomeCase, sender: usize) -> Option<SentInVain> {
    let side = case.side(sender);
    let heard_ns = case.last_ns(1 - sender).filter(|_| case.side(1 - sender).packets > 0)?;
    let spoke =
        case.ending.resets.iter().any(|reset| usize::from(reset.side) != sender && reset.place.time_ns > heard_ns);
    let of_probes = side.outstanding_bytes == 0;
    let (kinds, fewest): (&[SentKind], usize) = match of_probes {
        true => (&[SentKind::KeepAlive], FEWEST_PROBES),
        false => (&[SentKind::Retransmission, SentKind::Fin, SentKind::WindowProbe], 1),
    };
    let again = case.sent_again(sender, heard_ns, kinds);
    let are_all_known = of_probes && again.len() < MOST_PLACES;
    let times_again = if are_all_known { again.len() as u64 } else { u64::from(side.times_again) };
    // Where packets of the peer are missing from the capture, it is the capture that is silent.
    let is_seen = case.side(1 - sender).missing_bytes == 0;
    if spoke || again.len() < fewest || !is_seen || side.closed.is_some() {
        return None;
    }
    let since = if of_probes { again.first()?.place } else { side.oldest.or(again.first().map(|sent| sent.place))? };
    let waited_ns = case.summary.end_ns.saturating_sub(since.time_ns.max(heard_ns));
    let all_ns = waited_ns.saturating_add(case.capture_goes_on_ns());
    let least_ns = case.ending.rtt_ns.unwrap_or(0).saturating_mul(LEAST_ROUND_TRIPS).max(LEAST_NS);
    let is_long = waited_ns >= least_ns && (again.len() > 1 || all_ns >= LEAST_AFTER_ONE_NS);
    is_long.then_some(SentInVain { sender, since, heard_ns, again, times_again, of_probes })
}

/// What was sent, and what of it came back.
fn in_vain(case: &OutcomeCase, silence: &SentInVain) -> String {
    let side = case.side(silence.sender);
    let (sender, peer) = (name(silence.sender), name(1 - silence.sender));
    let lasted = lasting(case.summary.end_ns.saturating_sub(silence.since.time_ns));
    if silence.of_probes {
        return format!("{} in {lasted}, and no packet from the {peer}", plural(silence.times_again, "probe"));
    }
    let amount = match side.outstanding_bytes {
        1 if side.fin => "FIN".to_owned(),
        count => bytes(count as f64),
    };
    let sent = times(silence.times_again + 1);
    format!("the {sender} sent {amount} in {lasted}, the first of it {sent}, and nothing came from the {peer}")
}

fn confidence(silence: &SentInVain) -> f64 {
    match silence.times_again {
        0 | 1 => 0.7,
        2 => 0.8,
        3 | 4 => 0.9,
        _ => 0.95,
    }
}

fn shown(case: &OutcomeCase, silence: &SentInVain) -> (String, Vec<Place>) {
    let what = if silence.of_probes { "keep-alive probes" } else { "unacknowledged data, and its retransmissions" };
    let heard = lasting(case.summary.end_ns.saturating_sub(silence.heard_ns));
    let text = format!("{what}; the last packet of the {} came {heard} before the end", name(1 - silence.sender));
    (text, [silence.since].into_iter().chain(silence.again.iter().map(|sent| sent.place)).collect())
}
