//! The other direction of a packet: what it says of data received.

use crate::decode::options::SackBlocks;
use crate::packet::{Packet, option_bits, tcp_flags};
use crate::tcp::connection::closing;
use crate::tcp::connection::connection::Connection;
use crate::tcp::connection::crossing;
use crate::tcp::connection::ending_notes;
use crate::tcp::connection::loops;
use crate::tcp::connection::payload_feed;
use crate::tcp::direction::on_ack;
use crate::tcp::events::acked::Answer;

/// The other direction: what the packet says of data received.
#[inline(never)]
pub(super) fn take_acknowledgement(connection: &mut Connection, packet: &Packet, bytes: &[u8], side: usize) -> Answer {
    if !packet.has(tcp_flags::ACK) || only_waits_for_copies(connection, packet) {
        return Answer::default();
    }
    let sender = 1 - side;
    if connection.agreed.copied_opening.is_some() && side == 0 && packet.options & option_bits::OTHERS != 0 {
        crossing::refute_copied_syn_ack(connection, packet, bytes);
    }
    if !connection.agreed.sack && shows_sack(connection, packet, bytes) {
        connection.agreed.sack = true;
    }
    let context = connection.context(sender);
    let answer = on_ack::acknowledgement(
        &mut connection.directions[sender],
        packet,
        bytes,
        connection.agreed.shifts[side],
        &context,
    );
    ending_notes::note_window(connection, packet, side);
    loops::take_round_trip(connection, answer, side);
    payload_feed::pass_tls_holes(connection, packet, sender);
    answer
}

/// A capture that begins in mid-stream learns from the first report that both sides use SACK.
#[inline]
pub(super) fn shows_sack(connection: &Connection, packet: &Packet, bytes: &[u8]) -> bool {
    packet.options & option_bits::OTHERS != 0
        && !connection.offers_are_known()
        && !SackBlocks::of_packet(packet, bytes).as_slice().is_empty()
}

/// Both sides have closed it; it is there still since all comes twice, and nothing else that comes shows it.
pub(super) fn only_waits_for_copies(connection: &Connection, packet: &Packet) -> bool {
    let is_kept = connection.endings.over_since.is_some() && connection.doubts.two_points.is_some();
    is_kept && packet.payload_length == 0 && closing::both_have_closed(connection)
}
