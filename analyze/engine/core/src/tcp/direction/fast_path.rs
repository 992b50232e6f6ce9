//! What is proved of the two packets that bulk transfers are made of: the next data in order, and pure acknowledgements, also
//! those that acknowledge nothing more and report what came behind a loss. Neither proves more of its own direction than that, so the
//! rules for what is late, repeated or doubtful need not be asked. What they change is changed where it is for every packet.
//!
//! What else may stand in the way of that is asked in `connection/steady.rs`. The result must be that of the general rules:
//! `tests/fast_path.rs` compares the state after every packet, `tests/short_ways.rs` what is written of whole captures.

use crate::packet::Packet;
use crate::tcp::direction::direction::{Direction, Live};
use crate::tcp::direction::segment_size;
use crate::tcp::events::context::Context;
use crate::tcp::stats::sequence::unwrap;

/// The packet is the next data in order, which proves nothing but that: the most frequent case. None if it is something else; then
/// nothing has changed. Otherwise whether its identification is the number after the newest.
#[inline(always)]
pub fn next_data(direction: &mut Direction, packet: &Packet, bytes: &[u8], context: &Context) -> Option<bool> {
    let start = direction.max;
    let live = direction.live.as_deref()?;
    let follows = live.loss.identifications.follows(packet.ip_id);
    if packet.sequence != start as u32
        || live.acks.window_closed
        || !(context.beside_sender
            || packet.ip_version != 4
            || numbers_go_on(live, packet, start + u64::from(packet.payload_length), follows))
        || !(direction.together.goes_on(packet) || segment_size::begin_together(direction, packet))
    {
        return None;
    }
    Live::of(&mut direction.live).capture.recent.remember(packet, bytes);
    Some(follows)
}

/// The packet is a pure acknowledgement of what `peer` sends, and no copy; as [`next_data`], with the position up to which it
/// acknowledges.
#[inline(always)]
pub fn pure_acknowledgement(direction: &mut Direction, packet: &Packet, bytes: &[u8], peer: &Direction) -> Option<u64> {
    let live = direction.live.as_deref_mut()?;
    let position = unwrap(peer.una, packet.acknowledgement);
    if packet.sequence != direction.max as u32 || direction.packets == 0 || !peer.begun {
        return None;
    }
    // What acknowledges more has not been seen before.
    let is_another = if position > peer.una {
        live.capture.recent.remember(packet, bytes);
        true
    } else {
        live.capture.recent.remember_another(packet, bytes)
    };
    is_another.then_some(position)
}

/// The packet's identification leaves none out, and no packet up to `end` is known to be missing.
#[inline(always)]
fn numbers_go_on(live: &Live, packet: &Packet, end: u64, follows: bool) -> bool {
    let leaves_out = || matches!(live.loss.identifications.missing_before(packet.ip_id), Some(1..));
    end > live.loss.sent_unseen && (follows || !leaves_out())
}
