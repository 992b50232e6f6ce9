//! The other direction of a packet: what it says of data received.

use crate::decode::options::SackBlocks;
use crate::packet::{Packet, option_bits, tcp_flags};
use crate::tcp::connection::closing;
use crate::tcp::connection::connection::Connection;
use crate::tcp::connection::crossing;
use crate::tcp::connection::ending_notes;
use crate::tcp::connection::loops;
use crate::tcp::connection::payload_feed;
use crate::tcp::connection::watching;
use crate::tcp::direction::on_ack;
use crate::tcp::events::acked::Answer;
use crate::tcp::limits::rules::RoundRule;

/// What is known of an acknowledgement before it is taken.
pub(super) enum Proved {
    /// Nothing.
    Nothing,
    /// It comes with the next data, and most often says what the one before it did.
    WithNextData,
    /// It comes alone, and acknowledges so much.
    UpTo(u64),
}

/// The other direction: what the packet says of data received, and what that ends.
#[inline(always)]
pub(super) fn take_answer(
    connection: &mut Connection,
    packet: &Packet,
    bytes: &[u8],
    side: usize,
    proved: Proved,
    rules: &[RoundRule],
) -> Answer {
    let answer = match take_plain(connection, packet, side, proved) {
        Some(answer) => {
            take_news(connection, packet, side, answer);
            answer
        }
        None => take_acknowledgement(connection, packet, bytes, side),
    };
    watching::answered(&mut connection.watch, &connection.directions, packet, side, answer.rtt_ns());
    watching::check_round(connection, packet, side, rules);
    answer
}

/// Takes what is proved, if nothing else is to be said of it. None if there is; then nothing has changed.
#[inline(always)]
fn take_plain(connection: &mut Connection, packet: &Packet, side: usize, proved: Proved) -> Option<Answer> {
    let (sender, window_shift) = (1 - side, connection.agreed.shifts[side]);
    let acknowledges = packet.has(tcp_flags::ACK);
    match proved {
        Proved::WithNextData if acknowledges => {
            on_ack::repeated_while_idle(&mut connection.directions[sender], packet, window_shift).then(Answer::default)
        }
        Proved::UpTo(position) if acknowledges && position > connection.directions[sender].una => {
            let context = connection.context(sender);
            let direction = &mut connection.directions[sender];
            on_ack::more_acknowledged(direction, packet, position, window_shift, &context)
        }
        _ => None,
    }
}

/// What both sides show by an acknowledgement that has been taken.
#[inline(always)]
fn take_news(connection: &mut Connection, packet: &Packet, side: usize, answer: Answer) {
    ending_notes::note_window(&mut connection.endings, packet, side);
    loops::take_round_trip(connection, answer, side);
    payload_feed::pass_tls_holes(&connection.directions[1 - side], &mut connection.streams, packet, 1 - side);
}

#[inline(never)]
fn take_acknowledgement(connection: &mut Connection, packet: &Packet, bytes: &[u8], side: usize) -> Answer {
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
    take_news(connection, packet, side, answer);
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
