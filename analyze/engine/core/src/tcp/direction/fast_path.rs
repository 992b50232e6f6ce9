//! The two packets that bulk transfers are made of, taken by a short way: the next data in order, and pure acknowledgements, also
//! those that acknowledge nothing more and report what came behind a loss. Neither proves more of its own direction than that, so the
//! rules for what is late, repeated or doubtful need not be asked.
//!
//! What else may stand in the way of that is asked in `connection/steady.rs`. The result must be that of the general rules:
//! `tests/fast_path.rs` compares the state after every packet, `tests/short_ways.rs` what is written of whole captures.

use crate::packet::{Packet, option_bits};
use crate::tcp::direction::byte_ledger::Together;
use crate::tcp::direction::direction::{Direction, Live};
use crate::tcp::direction::observers;
use crate::tcp::direction::placed::Peer;
use crate::tcp::direction::sampling;
use crate::tcp::direction::segment_size;
use crate::tcp::events::context::Context;
use crate::tcp::events::segment::Segment;
use crate::tcp::events::sent::{Data, Kind};
use crate::tcp::loss::ip_id::Around;
use crate::tcp::stats::sequence::unwrap;

/// The next data in order, which proves nothing but that: the most frequent case, shown as [`data`] shows it. None if it is
/// something else; then nothing has changed. Otherwise by how much the capture clock ran ahead, 0 for not at all.
#[inline(always)]
pub fn next_data(
    direction: &mut Direction,
    packet: &Packet,
    bytes: &[u8],
    context: &Context,
    peer: Peer<'_>,
) -> Option<i64> {
    let start = direction.max;
    let end = start + u64::from(packet.payload_length);
    let live = direction.live.as_deref()?;
    let follows = live.loss.identifications.follows(packet.ip_id);
    if packet.sequence != start as u32
        || live.acks.window_closed
        || !(context.beside_sender || packet.ip_version != 4 || numbers_go_on(live, packet, end, follows))
        || !(direction.together.goes_on(packet) || segment_size::begin_together(direction, packet))
    {
        return None;
    }
    sampling::keep_steps(direction, packet);
    let live = direction.live.as_deref_mut()?;
    direction.together.add();
    let Together { segment_size, segments, is_short, .. } = direction.together;
    if segments > 1 {
        direction.superpackets += 1;
        direction.data_segments += u64::from(segments - 1);
    }
    direction.max = end;
    live.capture.recent.remember(packet, bytes);
    live.segments.push(Segment {
        start,
        time_ns: packet.time_ns,
        length: packet.payload_length,
        frame: packet.frame,
        tsval: packet.tsval,
        segment_size,
        state: 0,
    });
    let timestamps = packet.options & option_bits::TIMESTAMPS != 0;
    let ahead_ns = timestamps.then(|| live.capture.clock.add(packet.time_ns, packet.tsval)).flatten();
    let (is_contiguous, kind) = (true, Kind::Data);
    let data = Data { packet, start, end, highest: end, segments, segment_size, is_short, is_contiguous, kind };
    observers::show_sent(direction, data, follows, context, peer);
    Some(ahead_ns.unwrap_or(0))
}

/// A pure acknowledgement of what `peer` sends, which is no copy; as [`next_data`], with the position up to which it
/// acknowledges.
#[inline(always)]
pub fn pure_acknowledgement(
    direction: &mut Direction,
    packet: &Packet,
    bytes: &[u8],
    peer: &Direction,
) -> Option<(i64, u64)> {
    let live = direction.live.as_deref_mut()?;
    let position = unwrap(peer.una, packet.acknowledgement);
    if packet.sequence != direction.max as u32 || direction.packets == 0 || !peer.begun {
        return None;
    }
    // What acknowledges more has not been seen before.
    if position > peer.una {
        live.capture.recent.remember(packet, bytes);
    } else if !live.capture.recent.remember_another(packet, bytes) {
        return None;
    }
    direction.packets += 1;
    direction.wire_bytes += u64::from(packet.wire_length);
    direction.ledger.add_acknowledgement(packet);
    if packet.ip_version == 4 {
        let (holes, una) = (&live.holes, direction.una);
        let acknowledges = position.saturating_sub(peer.una);
        let around = || Around { whole: !holes.reach_beyond(una), acknowledges, ..Around::default() };
        live.loss.identifications.add(packet.ip_id, 1, false, around);
    }
    let timestamps = packet.options & option_bits::TIMESTAMPS != 0;
    let ahead_ns = timestamps.then(|| live.capture.clock.add(packet.time_ns, packet.tsval)).flatten().unwrap_or(0);
    Some((ahead_ns, position))
}

/// The packet's identification leaves none out, and no packet up to `end` is known to be missing.
#[inline(always)]
fn numbers_go_on(live: &Live, packet: &Packet, end: u64, follows: bool) -> bool {
    let leaves_out = || matches!(live.loss.identifications.missing_before(packet.ip_id), Some(1..));
    end > live.loss.sent_unseen && (follows || !leaves_out())
}
