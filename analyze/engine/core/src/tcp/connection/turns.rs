//! A turn of a side, in the clear or opened by keys: where it begins, and what is said of it when it is over.

use crate::packet::{Packet, tcp_flags};
use crate::tcp::direction::direction::Direction;
use crate::tcp::requests::exchanges::Exchanges;
use crate::tcp::requests::opening::{Expects, MessageOpening};
use crate::tcp::requests::said::{Interim, Moment, Said};
use crate::tcp::requests::talk::Turn;
use crate::tcp::stats::sequence::unwrap;
use crate::tls::{CONTINUE_BYTES, Records};

/// Packets of a request of HTTP that are looked at for another one.
pub(super) const MOST_LOOKED_AT: u8 = 8;

/// An interim response has no body.
const MOST_INTERIM_BYTES: u64 = 1024;

/// A turn that begins with a packet, behind `before`.
pub(super) fn turn_of(
    directions: &[Direction; 2],
    packet: &Packet,
    opening: MessageOpening,
    side: usize,
    before: Option<&Turn>,
) -> Turn {
    let [direction, peer] = [&directions[side], &directions[1 - side]];
    let acknowledged = unwrap(peer.una, packet.acknowledgement);
    let informed = packet.has(tcp_flags::ACK)
        && match (side, before) {
            (0, _) => acknowledged >= payload_end(peer),
            (_, Some(request)) => acknowledged > request.position,
            (_, None) => true,
        };
    Turn {
        side: side as u8,
        looked_at: 0,
        informed,
        partial: before.is_none() && !direction.opening_seen,
        opening,
        expects_continue: Expects::No,
        start: (packet.time_ns, packet.frame),
        position: unwrap(direction.max, packet.sequence),
    }
}

/// A turn is over that ends there and is so long.
pub(super) fn hand_over(exchanges: &mut Exchanges, turn: &Turn, end: Moment, bytes: u64) {
    let Turn { side, start, informed, partial, opening, .. } = *turn;
    let interim = match opening {
        MessageOpening::HttpInterim if bytes <= MOST_INTERIM_BYTES => Interim::Yes,
        MessageOpening::Cut if side == 1 && bytes == CONTINUE_BYTES => Interim::Maybe,
        _ => Interim::No,
    };
    exchanges.said(&Said { side, start, end, bytes, records: Records::default(), informed, interim }, partial);
    if opening == MessageOpening::HttpUpgraded {
        exchanges.upgraded();
    }
}

/// Position after the last byte of data; a FIN takes one that is none.
pub(super) fn payload_end(direction: &Direction) -> u64 {
    direction.fin.map_or(direction.max, |fin| fin.min(direction.max))
}
