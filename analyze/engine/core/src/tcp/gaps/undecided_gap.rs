//! A pause whose cause hangs on the rest of the connection: what is kept of it, and how it is decided at the end.
//!
//! Rule: docs/methods.md, "Pauses that others decide".

use crate::tcp::gaps::cause::Cause;
use crate::tcp::gaps::causes::cause;
use crate::tcp::gaps::evidence::{CapturePlace, GapEvidence};
use crate::tcp::gaps::pending::Pending;
use crate::tcp::gaps::suspicion::{Host, Suspicion};
use crate::tcp::gaps::totals::Gap;

/// One hold of the path that is seen explains so many stalls that only their rate tells.
const STALLS_FOR_A_HOLD: usize = 4;

/// A receiver of which nothing else is known stalled if the rate tells so this often.
const STALLS_BY_RATE: usize = 3;

/// What a gap is believed to be because of others.
const BY_OTHERS: f64 = 0.6;

/// A gap with and without what the rest of the connection may tell.
#[derive(Debug, Clone, Copy)]
pub struct Unsettled {
    pub(crate) gap: Gap,
    pub(crate) stall: Gap,
    pub(crate) by: By,
    ended_by_timer: bool,
}

/// What would make a stall of a gap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum By {
    /// The rate of what waited.
    Rate,
    /// The same, if the path carries less than so many bytes in a second.
    RateAbove(u64),
    /// Other stalls of the host.
    Others(Host),
}

/// What the gaps of a direction have shown of its hosts and the path.
#[derive(Debug, Clone, Copy, Default)]
pub struct ShownByGaps {
    /// How often the path was seen to hold packets.
    path_holds: usize,
    /// How often the sender's host stalled.
    sender_stalls: usize,
    /// How often the receiver's did, whatever the rate.
    receiver_stalls: usize,
    /// How often the sender's may have.
    suspicions_of_sender: usize,
}

/// A gap that proved at the end to be something else than was thought at first.
#[derive(Debug, Clone, Copy)]
pub struct Settled {
    /// When it began.
    pub start_ns: i64,
    /// When it was over.
    pub end_ns: i64,
    /// What it proved to be.
    pub proved: GapProof,
}

/// See [`Settled`].
#[derive(Debug, Clone, Copy)]
pub enum GapProof {
    /// A host's stall, which it was not taken for.
    Stall,
    /// No stall, for which it was taken, but a gap of this cause, ended by a timer or not.
    NoStall(Cause, bool),
}

impl Unsettled {
    /// None if what is known later can make nothing else of it.
    pub(crate) fn of(pending: &Pending, gap: &Gap, suspicion: Option<Suspicion>) -> Option<Self> {
        let evidence = &pending.evidence;
        let ended_by_timer = evidence.is_timer();
        if gap.cause.is_host_stall() {
            let (cause, confidence) = cause(&with_rate(*evidence, false));
            let unsure = Gap { cause, confidence, ..*gap };
            return (!cause.is_host_stall()).then_some(Self { gap: unsure, stall: *gap, by: By::Rate, ended_by_timer });
        }
        let needed_bytes_per_s = match evidence.answer {
            _ if evidence.place == CapturePlace::Receiver => pending.needed_bytes_per_s,
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
    pub(crate) fn settled(&self, is_stall: bool) -> Option<Settled> {
        let [start_ns, end_ns] = self.gap.span();
        match (self.by, is_stall) {
            (By::Rate, false) => {
                let proved = GapProof::NoStall(self.gap.cause, self.ended_by_timer);
                Some(Settled { start_ns, end_ns, proved })
            }
            (By::RateAbove(_) | By::Others(_), true) => Some(Settled { start_ns, end_ns, proved: GapProof::Stall }),
            _ => None,
        }
    }
}

/// What waited came faster than the path can carry.
fn is_beyond_path(evidence: &GapEvidence) -> bool {
    match &evidence.answer {
        _ if evidence.place == CapturePlace::Receiver => evidence.data_beyond_path,
        Some(answer) => answer.beyond_path,
        None => false,
    }
}

/// As if what waited had come faster than the path can carry, or had not.
fn with_rate(mut evidence: GapEvidence, beyond_path: bool) -> GapEvidence {
    match &mut evidence.answer {
        _ if evidence.place == CapturePlace::Receiver => evidence.data_beyond_path = beyond_path,
        Some(answer) => answer.beyond_path = beyond_path,
        None => {}
    }
    evidence
}

impl ShownByGaps {
    /// Takes a gap of which no more will be known.
    pub(crate) fn add(&mut self, place: CapturePlace, gap: &Gap, suspicion: Option<Suspicion>) {
        match (gap.cause, place) {
            (Cause::PathHold, _) => self.path_holds += 1,
            (Cause::LocalHostStall, CapturePlace::Receiver) | (Cause::RemoteHostStall, CapturePlace::Sender) => {
                self.receiver_stalls += 1
            }
            // Between the hosts only its rate shows a receiver's.
            (Cause::LocalHostStall | Cause::RemoteHostStall, _) => self.sender_stalls += 1,
            _ if suspicion.is_some_and(|suspicion| suspicion.host == Host::Sender) => self.suspicions_of_sender += 1,
            _ => {}
        }
    }

    /// The receiver's host stalled where the rate tells so, which it does in so many silences.
    pub(crate) fn receiver_stood(&self, silences_by_rate: usize) -> bool {
        // One path is more likely than two hosts.
        let certain = self.sender_stalls + self.receiver_stalls > 0;
        let holds = self.path_holds + if certain { 0 } else { self.suspicions_of_sender };
        let path_held = holds > 0 && holds.saturating_mul(STALLS_FOR_A_HOLD) >= silences_by_rate;
        !path_held && (self.receiver_stalls > 0 || silences_by_rate >= STALLS_BY_RATE)
    }

    /// The sender's host is one that stalls, and the path is none that holds packets.
    pub(crate) fn sender_stood(&self) -> bool {
        self.sender_stalls > 0 && self.path_holds == 0
    }
}

/// How many silences these gaps make up: one that begins where another ended, with a probe, is the same.
pub(crate) fn silences<'a>(gaps: impl Iterator<Item = &'a Gap>) -> usize {
    let mut last_end_ns = i64::MIN;
    gaps.filter(|gap| {
        let begins = gap.start_ns > last_end_ns;
        last_end_ns = gap.span()[1];
        begins
    })
    .count()
}
