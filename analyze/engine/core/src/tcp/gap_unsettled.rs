//! Gaps of which the rest of the connection tells more than they do themselves:
//! * A host's stall that only the rate of what waited tells. Something behind the bottleneck that holds packets gives them out
//!   as fast as a host that wakes. It is believed of a receiver that certainly stood still another time, or did so
//!   several times; not where the path is seen to hold packets, nor where the sender's host would have to have stood as well.
//! * A gap that a host or the path may have made ([`Suspicion`]): the host, if it is one that stands still.
//! * One before which no queue has stood yet and too few trains of packets have passed ([`super::trains`]). What waited came at
//!   a rate that is kept with the gap; if later trains show the path to carry less, it is as the first kind. A queue that
//!   stood later tells nothing: the holds of a path look like one.
//!
//! Until then such a gap counts with what can be said so far ([`super::limits`] sees rounds as they end); at the end of the
//! connection its time is moved.

use super::connection::Connection;
use super::gap_cause::{Cause, Host, Suspicion, cause, suspicion};
use super::gap_evidence::{GapEvidence, Place};
use super::gap_pending::Pending;
use super::gaps::Gap;
use super::half::Live;
use super::limits::factor::Factor;
use super::limits::watch::factor_of;

/// Gaps of one direction that are kept so; those after them stay as they are.
const MOST_UNSETTLED: usize = 256;
/// One hold of the path that is seen explains so many stalls that only their rate tells.
const STALLS_FOR_A_HOLD: usize = 4;
/// A receiver of which nothing else is known stood still if the rate tells so this often.
const STALLS_BY_RATE: usize = 3;
/// What a gap is believed to be because of others.
const BY_OTHERS: f64 = 0.6;

/// A gap with and without what the rest of the connection may tell.
#[derive(Debug, Clone, Copy)]
pub struct Unsettled {
    gap: Gap,
    stall: Gap,
    by: By,
    ended_by_timer: bool,
}

/// What would make a stall of a gap.
#[derive(Debug, Clone, Copy, PartialEq)]
enum By {
    /// The rate of what waited.
    Rate,
    /// The same, if the path carries less than so many bytes in a second.
    RateAbove(u64),
    /// Other stalls of the host.
    Others(Host),
}

/// What the gaps of a direction have told of its hosts and the path.
#[derive(Debug, Clone, Copy, Default)]
pub struct Told {
    /// How often the path was seen to hold packets.
    path_holds: usize,
    /// How often the sender's host stood still.
    sender_stalls: usize,
    /// How often the receiver's did, whatever the rate.
    receiver_stalls: usize,
    /// How often the sender's may have.
    suspicions_of_sender: usize,
}

/// Time that another factor limited than was thought at first.
#[derive(Debug, Clone, Copy)]
pub struct Settled {
    /// When it began.
    pub start_ns: i64,
    /// When it was over.
    pub end_ns: i64,
    /// Whose time it was taken for; none for any.
    pub from: Option<Factor>,
    /// Whose it was.
    pub to: Factor,
}

impl Unsettled {
    /// None if what is known later can make nothing else of it.
    fn of(pending: &Pending, gap: &Gap, suspicion: Option<Suspicion>) -> Option<Self> {
        let evidence = &pending.evidence;
        let ended_by_timer = evidence.is_timer();
        if gap.cause.is_host_stall() {
            let (cause, confidence) = cause(&with_rate(*evidence, false));
            let unsure = Gap { cause, confidence, ..*gap };
            return (!cause.is_host_stall()).then_some(Self { gap: unsure, stall: *gap, by: By::Rate, ended_by_timer });
        }
        let needed_bytes_per_s = match evidence.answer {
            _ if evidence.place == Place::Receiver => pending.needed_bytes_per_s,
            Some(answer) => answer.needed_bytes_per_s,
            None => 0,
        };
        // Most gaps have been judged like this already, and are none.
        if (needed_bytes_per_s > 0) != is_beyond_path(evidence) {
            let (cause, confidence) = cause(&with_rate(*evidence, needed_bytes_per_s > 0));
            if cause.is_host_stall() {
                let stall = Gap { cause, confidence, ..*gap };
                return Some(Self { gap: *gap, stall, by: By::RateAbove(needed_bytes_per_s), ended_by_timer });
            }
        }
        let Suspicion { host, stall, .. } = suspicion.filter(|suspicion| suspicion.past_probe)?;
        let stall = Gap { cause: stall, confidence: BY_OTHERS, ..*gap };
        Some(Self { gap: *gap, stall, by: By::Others(host), ended_by_timer })
    }

    /// What has to be moved once it is known whether it is a stall.
    fn settled(&self, is_stall: bool) -> Option<Settled> {
        let [start_ns, end_ns] = self.gap.span();
        match (self.by, is_stall) {
            (By::Rate, false) => {
                let to = factor_of(self.gap.cause, self.ended_by_timer, false).unwrap_or(Factor::Unknown);
                Some(Settled { start_ns, end_ns, from: Some(Factor::HostStall), to })
            }
            (By::RateAbove(_) | By::Others(_), true) => {
                Some(Settled { start_ns, end_ns, from: None, to: Factor::HostStall })
            }
            _ => None,
        }
    }
}

/// What waited came faster than the path can carry.
fn is_beyond_path(evidence: &GapEvidence) -> bool {
    match &evidence.answer {
        _ if evidence.place == Place::Receiver => evidence.data_beyond_path,
        Some(answer) => answer.beyond_path,
        None => false,
    }
}

/// As if what waited had come faster than the path can carry, or had not.
fn with_rate(mut evidence: GapEvidence, beyond_path: bool) -> GapEvidence {
    match &mut evidence.answer {
        _ if evidence.place == Place::Receiver => evidence.data_beyond_path = beyond_path,
        Some(answer) => answer.beyond_path = beyond_path,
        None => {}
    }
    evidence
}

impl Told {
    /// Takes a gap of which no more will be known.
    fn add(&mut self, place: Place, gap: &Gap, suspicion: Option<Suspicion>) {
        match (gap.cause, place) {
            (Cause::PathHold, _) => self.path_holds += 1,
            (Cause::LocalHostStall, Place::Receiver) | (Cause::RemoteHostStall, Place::Sender) => {
                self.receiver_stalls += 1
            }
            // Between the hosts only its rate tells of a receiver's.
            (Cause::LocalHostStall | Cause::RemoteHostStall, _) => self.sender_stalls += 1,
            _ if suspicion.is_some_and(|suspicion| suspicion.host == Host::Sender) => self.suspicions_of_sender += 1,
            _ => {}
        }
    }

    /// The receiver's host stood still where the rate tells so, which it does in so many silences.
    fn receiver_stood(&self, silences_by_rate: usize) -> bool {
        // One path is more likely than two hosts.
        let certain = self.sender_stalls + self.receiver_stalls > 0;
        let holds = self.path_holds + if certain { 0 } else { self.suspicions_of_sender };
        let path_held = holds > 0 && holds.saturating_mul(STALLS_FOR_A_HOLD) >= silences_by_rate;
        !path_held && (self.receiver_stalls > 0 || silences_by_rate >= STALLS_BY_RATE)
    }

    /// The sender's host is one that stands still, and the path is none that holds packets.
    fn sender_stood(&self) -> bool {
        self.sender_stalls > 0 && self.path_holds == 0
    }
}

/// How many silences these gaps make up: one that begins where another ended, with a probe, is the same.
fn silences<'a>(gaps: impl Iterator<Item = &'a Gap>) -> usize {
    let mut last_end_ns = i64::MIN;
    gaps.filter(|gap| {
        let begins = gap.start_ns > last_end_ns;
        last_end_ns = gap.span()[1];
        begins
    })
    .count()
}

impl Live {
    /// Counts a gap as what it is, or keeps it until more is known of the path and the hosts.
    #[cold]
    pub(super) fn take_gap(&mut self, pending: &Pending, gap: Gap, limit_ns: Option<u64>) {
        let evidence = &pending.evidence;
        let suspicion = Some(evidence).filter(|_| gap.cause == Cause::HostOrPath).and_then(suspicion);
        let unsettled = Unsettled::of(pending, &gap, suspicion);
        if unsettled.is_none() && suspicion.is_none() && gap.cause != Cause::PathHold && !gap.cause.is_host_stall() {
            if let Some(watch) = self.watch.as_deref_mut() {
                watch.covering.forget(gap.span());
            }
            return self.gaps.add(gap, limit_ns);
        }
        let watch = self.watch.get_or_insert_default();
        if unsettled.is_none_or(|unsettled| unsettled.by != By::Rate) {
            watch.told.add(evidence.place, &gap, suspicion);
        }
        match unsettled {
            Some(unsettled) if watch.unsettled.len() < MOST_UNSETTLED => watch.unsettled.push(unsettled),
            _ => self.gaps.add(gap, limit_ns),
        }
    }
}

impl Connection {
    /// The connection is over: what is known of the path now is all that ever will be.
    pub(super) fn settle_gaps(&mut self, side: usize, limit_ns: Option<u64>) {
        let place = self.place(side);
        let Some(live) = self.halves[side].live.as_deref_mut() else { return };
        let Some(watch) = live.watch.as_deref_mut().filter(|watch| !watch.unsettled.is_empty()) else { return };
        let (answers, arrivals) = (live.answers.bytes_per_ns(), live.arrivals.bytes_per_ns());
        let path = match place {
            Place::Sender => answers,
            Place::Receiver => arrivals,
            Place::Elsewhere => answers.or(arrivals),
        };
        let unsettled = std::mem::take(&mut watch.unsettled);
        let carries_less = |needed: u64| path.is_some_and(|bytes_per_ns| bytes_per_ns * 1e9 < needed as f64);
        let by_rate = |by: By| by == By::Rate || matches!(by, By::RateAbove(needed) if carries_less(needed));
        let silences_by_rate = silences(unsettled.iter().filter(|each| by_rate(each.by)).map(|each| &each.gap));
        let receiver_stood = watch.told.receiver_stood(silences_by_rate);
        let sender_stood = watch.told.sender_stood();
        for unsettled in unsettled {
            let is_stall = match unsettled.by {
                By::Others(Host::Sender) => sender_stood,
                By::Others(Host::Receiver) => receiver_stood,
                by => receiver_stood && (by_rate(by) || unsettled.gap.cause == Cause::HostOrPath),
            };
            live.gaps.add(if is_stall { unsettled.stall } else { unsettled.gap }, limit_ns);
            watch.settled.extend(unsettled.settled(is_stall));
        }
    }
}
