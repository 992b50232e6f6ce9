//! Gaps of which only what the path can carry tells whether a host stood still. What is known of the path later may decide
//! otherwise, in two ways:
//! * No queue has stood before it yet, and too few trains of packets have passed ([`super::trains`]). What waited then came at
//!   a rate that is kept with the gap; if later trains show the path to carry less, the gap was a host's stall. A queue that
//!   stood later tells nothing: the holds of a path look like one.
//! * The path is seen to hold packets while both hosts run. Then something behind the bottleneck does, which gives out at once
//!   what it held, and the rate tells nothing of the hosts.
//!
//! Until then such a gap counts with what can be said so far ([`super::limits`] sees rounds as they end); at the end of the
//! connection its time is moved.

use super::connection::Connection;
use super::gap_cause::{Cause, cause};
use super::gap_evidence::{GapEvidence, Place};
use super::gap_pending::Pending;
use super::gap_watch::GapWatch;
use super::gaps::Gap;
use super::half::Live;
use super::limits::factor::Factor;
use super::limits::watch::factor_of;

/// Gaps of one direction that are kept so; those after them stay as they are.
const MOST_UNSETTLED: usize = 256;
/// One hold of the path that is seen explains so many stalls that only their rate tells.
const STALLS_FOR_A_HOLD: u64 = 4;

/// A gap with and without what its rate tells.
#[derive(Debug, Clone, Copy)]
pub struct Unsettled {
    gap: Gap,
    stall: Gap,
    /// It is a stall if the path carries less; none where that is known.
    needed_bytes_per_s: Option<u64>,
    ended_by_timer: bool,
}

/// Time that another factor limited than was thought at first.
#[derive(Debug, Clone, Copy)]
pub struct Settled {
    /// From, to.
    pub start_ns: i64,
    /// See above.
    pub end_ns: i64,
    /// Whose time it was taken for; none for any.
    pub from: Option<Factor>,
    /// Whose it was.
    pub to: Factor,
}

impl Unsettled {
    /// None if what the path does can neither make a stall of it nor another cause.
    pub(super) fn of(pending: &Pending, gap: &Gap) -> Option<Self> {
        let ended_by_timer = pending.evidence.is_timer();
        if gap.cause.is_host_stall() {
            let (cause, confidence) = cause(&with_rate(pending.evidence, false));
            let unsure = Gap { cause, confidence, ..*gap };
            return (!cause.is_host_stall()).then_some(Self {
                gap: unsure,
                stall: *gap,
                needed_bytes_per_s: None,
                ended_by_timer,
            });
        }
        let needed_bytes_per_s = match pending.evidence.answer {
            _ if pending.evidence.place == Place::Receiver => pending.needed_bytes_per_s,
            Some(answer) => answer.needed_bytes_per_s,
            None => 0,
        };
        if needed_bytes_per_s == 0 {
            return None;
        }
        let (cause, confidence) = cause(&with_rate(pending.evidence, true));
        let stall = Gap { cause, confidence, ..*gap };
        let needed_bytes_per_s = Some(needed_bytes_per_s);
        cause.is_host_stall().then_some(Self { gap: *gap, stall, needed_bytes_per_s, ended_by_timer })
    }

    /// What has to be moved once it is known whether it is a stall.
    fn settled(&self, is_stall: bool) -> Option<Settled> {
        let start_ns = self.gap.start_ns;
        let end_ns = start_ns.saturating_add_unsigned(self.gap.gap_ns);
        match (self.needed_bytes_per_s, is_stall) {
            (Some(_), true) => Some(Settled { start_ns, end_ns, from: None, to: Factor::HostStall }),
            (None, false) => {
                let to = factor_of(self.gap.cause, self.ended_by_timer, false).unwrap_or(Factor::Unknown);
                Some(Settled { start_ns, end_ns, from: Some(Factor::HostStall), to })
            }
            _ => None,
        }
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

impl GapWatch {
    /// The path was seen to hold packets often enough to have done so where only the rate speaks against it.
    fn path_may_have_held(&self) -> bool {
        self.path_holds > 0 && self.path_holds.saturating_mul(STALLS_FOR_A_HOLD) >= self.stalls_by_rate
    }
}

impl Live {
    /// Counts a gap as what it is, or keeps it until more is known of the path.
    #[cold]
    pub(super) fn take_gap(&mut self, pending: &Pending, gap: Gap, limit_ns: Option<u64>) {
        let unsettled = Unsettled::of(pending, &gap);
        if unsettled.is_none() && gap.cause != Cause::PathHold {
            return self.gaps.add(gap, limit_ns);
        }
        let watch = self.watch.get_or_insert_default();
        watch.path_holds += u64::from(gap.cause == Cause::PathHold);
        watch.stalls_by_rate += u64::from(gap.cause.is_host_stall());
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
        let path_may_have_held = watch.path_may_have_held();
        for unsettled in std::mem::take(&mut watch.unsettled) {
            let carries_less = |needed: u64| path.is_some_and(|bytes_per_ns| bytes_per_ns * 1e9 < needed as f64);
            let is_stall = !path_may_have_held && unsettled.needed_bytes_per_s.is_none_or(carries_less);
            live.gaps.add(if is_stall { unsettled.stall } else { unsettled.gap }, limit_ns);
            watch.settled.extend(unsettled.settled(is_stall));
        }
    }
}
