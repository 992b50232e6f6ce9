//! Gaps of which only what the path can carry tells whether a host stood still, while that is not known yet: no queue has stood
//! before it, and too few trains of packets have passed ([`super::trains`]). What waited then came at a rate that is kept with
//! the gap; if later trains show the path to carry less, the gap was a host's stall. A queue that stood later tells nothing: the
//! holds of a path look like one.
//!
//! Until then such a gap counts with what can be said without ([`super::limits`] sees rounds as they end); at the end of the
//! connection its time is moved.

use super::connection::Connection;
use super::gap_cause::cause;
use super::gap_evidence::{GapEvidence, Place};
use super::gap_pending::Pending;
use super::gaps::Gap;
use super::half::Live;

/// Gaps of one direction that are kept so; those after them stay as they are.
const MOST_UNSETTLED: usize = 32;

/// A gap, and what it is if the path carries less than was needed.
#[derive(Debug, Clone, Copy)]
pub struct Unsettled {
    gap: Gap,
    stall: Gap,
    needed_bytes_per_s: u64,
}

/// A host stood still from one time to another.
pub type Stalled = (i64, i64);

impl Unsettled {
    /// None if what the path carries makes no stall of it.
    pub(super) fn of(pending: &Pending, gap: &Gap) -> Option<Self> {
        if gap.cause.is_host_stall() {
            return None;
        }
        let mut evidence: GapEvidence = pending.evidence;
        let needed_bytes_per_s = match &mut evidence.answer {
            _ if evidence.place == Place::Receiver => {
                evidence.data_beyond_path = true;
                pending.needed_bytes_per_s
            }
            Some(answer) => {
                answer.beyond_path = true;
                answer.needed_bytes_per_s
            }
            None => 0,
        };
        if needed_bytes_per_s == 0 {
            return None;
        }
        let (cause, confidence) = cause(&evidence);
        let stall = Gap { cause, confidence, ..*gap };
        cause.is_host_stall().then_some(Self { gap: *gap, stall, needed_bytes_per_s })
    }
}

impl Live {
    /// The gap waits for what will be known of the path.
    #[cold]
    pub(super) fn keep_unsettled(&mut self, unsettled: Unsettled, limit_ns: Option<u64>) {
        let list = &mut self.watch.get_or_insert_default().unsettled;
        if list.len() < MOST_UNSETTLED {
            list.push(unsettled);
        } else {
            self.gaps.add(unsettled.gap, limit_ns);
        }
    }
}

impl Connection {
    /// The connection is over: what is known of the path now is all that ever will be.
    pub(super) fn settle_gaps(&mut self, side: usize, limit_ns: Option<u64>) {
        let place = self.place(side);
        let Some(live) = self.halves[side].live.as_deref_mut() else { return };
        let list = live.watch.as_deref_mut().map(|watch| std::mem::take(&mut watch.unsettled)).unwrap_or_default();
        if list.is_empty() {
            return;
        }
        let (answers, arrivals) = (live.answers.bytes_per_ns(), live.arrivals.bytes_per_ns());
        let path = match place {
            Place::Sender => answers,
            Place::Receiver => arrivals,
            Place::Elsewhere => answers.or(arrivals),
        };
        for Unsettled { gap, stall, needed_bytes_per_s } in list {
            if path.is_none_or(|bytes_per_ns| bytes_per_ns * 1e9 >= needed_bytes_per_s as f64) {
                live.gaps.add(gap, limit_ns);
                continue;
            }
            live.gaps.add(stall, limit_ns);
            let end_ns = stall.start_ns.saturating_add_unsigned(stall.gap_ns);
            live.watch.get_or_insert_default().settled_stalls.push((stall.start_ns, end_ns));
        }
    }
}
