//! What later packets show to have been sent, though it did not pass the capture point: stretches that were passed over, and holes
//! until they are filled ([`crate::tcp::direction::on_old_data`]).

use crate::packet::Packet;
use crate::tcp::direction::direction::{Direction, Live};
use crate::tcp::direction::holes::{Exposure, Hole};
use crate::tcp::kernel::FARTHEST_JUMP;
use crate::tcp::stats::sequence::unwrap;

/// `packet` shows that everything up to `end` has been sent.
pub(crate) fn pass_over(direction: &mut Direction, packet: &Packet, end: u64, beside_sender: bool) {
    let tsval = packet.timestamp();
    let exposure = Exposure { time_ns: packet.time_ns, tsval, ip_id: packet.ip_id, by_acknowledgement: false };
    let hole = Hole { start: direction.max, end, exposure };
    let nothing_new_seen = direction.max == direction.base;
    let live = Live::of(&mut direction.live);
    if let Some(before) = live.before.as_mut().filter(|_| nothing_new_seen) {
        // What came until now was retransmitted.
        before.holes.push(hole);
        return;
    }
    live.holes.push(hole);
    if !beside_sender {
        live.loss.recovering.start(packet.time_ns);
        live.rates.series.lost(packet.time_ns, end - direction.max);
    }
}

/// An acknowledgement's own sequence number is that of the next byte (RFC 9293 section 3.10.7.4): if it lies ahead of all
/// that was seen, what is between has been sent. A position alone may be that of a FIN.
#[cold]
pub(crate) fn shows_sent(direction: &mut Direction, packet: &Packet, peer: &Direction, beside_sender: bool) {
    let next = unwrap(direction.max, packet.sequence);
    let acknowledges = unwrap(peer.una, packet.acknowledgement);
    let believable = peer.begun && (peer.una..=peer.max).contains(&acknowledges);
    if believable && (2..=FARTHEST_JUMP).contains(&next.saturating_sub(direction.max)) && direction.fin.is_none() {
        pass_over(direction, packet, next, beside_sender);
        direction.max = next;
    }
}
