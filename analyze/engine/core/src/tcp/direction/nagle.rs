//! Short segments that Nagle's algorithm kept back (RFC 9293 section 3.7.4) until an acknowledgement came, which most often the
//! receiver had delayed (RFC 1122 section 4.2.3.2): each waits for the other. An application that writes in pieces what belongs
//! together loses the delay each time.
//!
//! A segment is alone in flight, its acknowledgement comes late and without data, and right behind that comes a short segment. No
//! application hears of acknowledgements; it meets them by chance, once in forty times at most, so that one is no proof. Beside the
//! sender only: elsewhere nothing tells what is right behind. When the application wrote, nothing tells.

use crate::packet::Packet;
use crate::tcp::direction::direction::Live;
use crate::tcp::events::place::Place;
use crate::tcp::kernel::LEAST_DELAY_NS;
use crate::tcp::sender::nagle::{Delayed, NagleWaits, NagleWatch};

/// Fewer prove nothing; nor do they if data follows more often at another time.
const FEWEST: u32 = 3;

/// `packet` acknowledges all that was in flight, a single segment, by much later than others were acknowledged.
pub(crate) fn note_delayed(live: &mut Live, packet: &Packet) {
    settle_nagle(live);
    // With data of its own, the other side asks the application for more.
    let is_alone = packet.payload_length == 0 && packet.sequence == live.peer_max_then as u32;
    let last = live.segments.last().filter(|_| is_alone && !live.acks.window_closed).copied();
    if let Some(sent) = last {
        let took_ns = u64::try_from(packet.time_ns.saturating_sub(sent.time_ns)).unwrap_or(0);
        let came = Place { frame: packet.frame, time_ns: packet.time_ns };
        live.nagle.get_or_insert_default().last = Some(Delayed {
            sent: Place { frame: sent.frame, time_ns: sent.time_ns },
            came,
            position: sent.end(),
            late_ns: took_ns.saturating_sub(live.round_trips.moments.min_ns),
        });
    }
}

fn settle_nagle(live: &mut Live) {
    let segments = &live.segments;
    if let Some(watch) = live.nagle.as_deref_mut() {
        watch.followed_by(|position| segments.recent(position).copied());
    }
}

/// The waits of a sender beside the capture point, if there are enough of them to be told.
pub(crate) fn nagle_waits(live: &mut Live) -> Option<NagleWaits> {
    settle_nagle(live);
    let watch = live.nagle.take()?;
    let NagleWatch { followed, waits, .. } = *watch;
    (waits.count >= FEWEST && 2 * waits.count >= followed).then_some(waits)
}

/// An acknowledgement of a single segment took long: it was delayed if its receiver had nothing else to acknowledge, and
/// has not just acknowledged other data, which would have waited in the same queue.
#[cold]
pub(crate) fn check_delayed(live: &mut Live, packet: &Packet) {
    let heard_lately = |heard_ns: i64| packet.time_ns.saturating_sub(heard_ns).unsigned_abs() < LEAST_DELAY_NS;
    let is_first = live.round_trips.moments.count == 0;
    if !is_first && live.segments.is_empty() && !live.acks.last_acknowledgement_ns.is_some_and(heard_lately) {
        live.round_trips.delayed_by(packet);
        note_delayed(live, packet);
    }
}
