//! The other direction of a packet: what it says of data received.

use crate::decode::options::SackBlocks;
use crate::packet::{Packet, option_bits, tcp_flags};
use crate::tcp::connection::connection::{Connection, offers_are_known};
use crate::tcp::connection::groups::{Agreed, Doubts, Endings, Streams, Terms};
use crate::tcp::connection::{closing, crossing, ending_notes, loops, payload_feed, watching};
use crate::tcp::direction::direction::Direction;
use crate::tcp::direction::on_ack;
use crate::tcp::events::acked::AckProgress;
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
) -> AckProgress {
    let Connection { terms, directions, endings, doubts, streams, watch, .. } = connection;
    let answer = match take_plain(terms, directions, packet, side, proved) {
        Some(answer) => {
            ending_notes::note_window(endings, packet, side);
            take_news(terms, directions, streams, packet, side, answer);
            answer
        }
        None if packet.has(tcp_flags::ACK) && !only_waits_for_copies(endings, doubts, directions, packet) => {
            ending_notes::note_window(endings, packet, side);
            take_acknowledgement(terms, directions, streams, packet, bytes, side)
        }
        None => AckProgress::default(),
    };
    watching::answered(watch, directions, packet, side, answer.rtt_ns());
    watching::check_round(watch, directions, terms, packet, side, rules);
    answer
}

/// Takes what is proved, if nothing else is to be said of it. None if there is; then nothing has changed.
#[inline(always)]
fn take_plain(
    terms: &Terms,
    directions: &mut [Direction; 2],
    packet: &Packet,
    side: usize,
    proved: Proved,
) -> Option<AckProgress> {
    let (sender, window_shift) = (1 - side, terms.agreed.shifts[side]);
    let acknowledges = packet.has(tcp_flags::ACK);
    match proved {
        Proved::WithNextData if acknowledges => {
            on_ack::repeated_while_idle(&mut directions[sender], packet, window_shift).then(AckProgress::default)
        }
        Proved::UpTo(position) if acknowledges && position > directions[sender].una => {
            let context = terms.context(sender);
            let direction = &mut directions[sender];
            on_ack::more_acknowledged(direction, packet, position, window_shift, &context)
        }
        _ => None,
    }
}

/// What both sides show by an acknowledgement that has been taken.
#[inline(always)]
fn take_news(
    terms: &mut Terms,
    directions: &mut [Direction; 2],
    streams: &mut Streams,
    packet: &Packet,
    side: usize,
    answer: AckProgress,
) {
    loops::take_round_trip(terms, directions, answer, side);
    payload_feed::pass_tls_holes(&directions[1 - side], streams, packet, 1 - side);
}

#[inline(never)]
fn take_acknowledgement(
    terms: &mut Terms,
    directions: &mut [Direction; 2],
    streams: &mut Streams,
    packet: &Packet,
    bytes: &[u8],
    side: usize,
) -> AckProgress {
    let (sender, agreed) = (1 - side, &mut terms.agreed);
    if agreed.copied_opening.is_some() && side == 0 && packet.options & option_bits::OTHERS != 0 {
        crossing::refute_copied_syn_ack(agreed, &mut directions[1], packet, bytes);
    }
    if shows_sack(agreed, directions, packet, bytes) {
        agreed.sack = true;
    }
    let (context, shift) = (terms.context(sender), terms.agreed.shifts[side]);
    let answer = on_ack::acknowledgement(&mut directions[sender], packet, bytes, shift, &context);
    take_news(terms, directions, streams, packet, side, answer);
    answer
}

/// A capture that begins in mid-stream learns from the first report that both sides use SACK.
#[inline]
fn shows_sack(agreed: &Agreed, directions: &[Direction; 2], packet: &Packet, bytes: &[u8]) -> bool {
    !agreed.sack
        && packet.options & option_bits::OTHERS != 0
        && !offers_are_known(directions)
        && !SackBlocks::of_packet(packet, bytes).as_slice().is_empty()
}

/// Both sides have closed it; it is there still since all comes twice, and nothing else that comes shows it.
#[inline]
fn only_waits_for_copies(endings: &Endings, doubts: &Doubts, directions: &[Direction; 2], packet: &Packet) -> bool {
    let is_kept = endings.over_since.is_some() && doubts.two_points.is_some();
    is_kept && packet.payload_length == 0 && closing::both_have_closed(directions)
}
