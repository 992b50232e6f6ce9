//! Gaps of which the rest of the connection tells more than they do themselves:
//! * A host's stall that only the rate of what waited tells. Something behind the bottleneck that holds packets gives them out
//!   as fast as a host that wakes. It is believed of a receiver that certainly stalled another time, or did so
//!   several times; not where the path is seen to hold packets, nor where the sender's host would have to have stood as well.
//! * A gap that a host or the path may have made (`Suspicion`): the host, if it is one that stalls.
//! * One before which no queue has stood yet and too few trains of packets have passed (`rates/packet_trains.rs`). What waited came at
//!   a rate that is kept with the gap; if later trains show the path to carry less, it is as the first kind. A queue that
//!   stood later tells nothing: the holds of a path look like one.
//!
//! Until then such a gap counts with what can be said so far ([`crate::tcp::limits`] sees rounds as they end); at the end of the
//! connection its time is moved.

use crate::tcp::direction::direction::Live;
use crate::tcp::gaps::cause::Cause;
use crate::tcp::gaps::evidence::CapturePlace;
use crate::tcp::gaps::pauses::Pauses;
use crate::tcp::gaps::pending::Pending;
use crate::tcp::gaps::suspicion::{Host, suspicion};
use crate::tcp::gaps::totals::Gap;
use crate::tcp::gaps::undecided_gap::{By, Unsettled, silences};

/// Gaps of one direction that are kept so; those after them stay as they are.
const MOST_UNSETTLED: usize = 256;

impl Pauses {
    /// Counts a gap as what it is, or keeps it until more is known of the path and the hosts.
    #[cold]
    pub(crate) fn take_gap(&mut self, pending: &Pending, gap: Gap, limit_ns: Option<u64>) {
        let evidence = &pending.evidence;
        let suspicion = Some(evidence).filter(|_| gap.cause == Cause::HostOrPath).and_then(suspicion);
        let unsettled = Unsettled::of(pending, &gap, suspicion);
        if unsettled.is_none() && suspicion.is_none() && gap.cause != Cause::PathHold && !gap.cause.is_host_stall() {
            self.watch.covering.forget(gap.span());
            return self.totals.add(gap, limit_ns);
        }
        let watch = &mut self.watch;
        if unsettled.is_none_or(|unsettled| unsettled.by != By::Rate) {
            watch.told.add(evidence.place, &gap, suspicion);
        }
        match unsettled {
            Some(unsettled) if watch.unsettled.len() < MOST_UNSETTLED => watch.unsettled.push(unsettled),
            further => {
                watch.is_overfull |= further.is_some();
                self.totals.add(gap, limit_ns);
            }
        }
    }

    /// The connection is over: what is known of the path now is all that ever will be. `live` is of the direction that paused.
    pub(crate) fn settle(&mut self, live: &Live, place: CapturePlace, limit_ns: Option<u64>) {
        let watch = &mut self.watch;
        if watch.unsettled.is_empty() {
            return;
        }
        let (answers, arrivals) = (live.rates.answers.bytes_per_ns(), live.rates.arrivals.bytes_per_ns());
        let path = match place {
            CapturePlace::Sender => answers,
            CapturePlace::Receiver => arrivals,
            CapturePlace::Elsewhere => answers.or(arrivals),
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
            self.totals.add(if is_stall { unsettled.stall } else { unsettled.gap }, limit_ns);
            watch.settled.extend(unsettled.settled(is_stall));
        }
    }
}
