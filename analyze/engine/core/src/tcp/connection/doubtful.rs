//! Packets that no window allows, held while what follows may show that the capture has missed what lies between: when two of
//! them prove each other ([`crate::tcp::connection::acceptable`] asks).

use crate::packet::{Packet, tcp_flags};

/// What a capture passes over between two packets of one side that it shows, at most, if both are to prove each other.
pub(crate) const FARTHEST_STEP: u32 = 1 << 26;

/// The last packets of one side whose numbers lie outside every window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DoubtfulPackets {
    /// The first of them that the last one goes on with, and the last: without options and payload, which may be gone.
    pub first: Packet,
    pub last: Packet,
    /// Those that go on with each other.
    pub in_row: u8,
    /// Packets of the side that were believed until then: if it sends another, these were strays.
    pub believed: u64,
}

/// See [`DoubtfulPackets`]; client, server.
#[derive(Debug, Clone, Default)]
pub(crate) struct Doubtful(pub [Option<DoubtfulPackets>; 2]);

/// Both have the same numbers and length.
pub(crate) fn has_numbers_of(one: &Packet, other: &Packet) -> bool {
    one.sequence == other.sequence
        && one.acknowledgement == other.acknowledgement
        && one.payload_length == other.payload_length
}

/// `packet` goes on where `before`, of the same side, was: neither number goes back, and one goes on.
pub(crate) fn is_next(packet: &Packet, before: &Packet) -> bool {
    let sequence = packet.sequence.wrapping_sub(before.sequence);
    let acknowledgement = packet.acknowledgement.wrapping_sub(before.acknowledgement);
    sequence <= FARTHEST_STEP && acknowledgement <= FARTHEST_STEP && (sequence > 0 || acknowledgement > 0)
}

/// Either side has, within its window, what the other one says. `room_bytes`: of the data of the side that sent `packet`, of the other.
pub(crate) fn agree(packet: &Packet, other: &Packet, room_bytes: [u64; 2]) -> bool {
    let near = |one: u32, other: u32, room_bytes: u64| {
        u64::from((one.wrapping_sub(other) as i32).unsigned_abs()) <= room_bytes
    };
    let end = |packet: &Packet| packet.sequence.wrapping_add(packet.payload_length);
    packet.has(tcp_flags::ACK)
        && other.has(tcp_flags::ACK)
        && near(end(packet), other.acknowledgement, room_bytes[0])
        && near(packet.acknowledgement, end(other), room_bytes[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(sequence: u32, acknowledgement: u32, payload_length: u32) -> Packet {
        Packet { sequence, acknowledgement, payload_length, flags: tcp_flags::ACK, ..Packet::default() }
    }

    #[test]
    fn numbers_that_repeat_or_go_back_do_not_go_on() {
        let before = packet(u32::MAX - 9, 500, 10);
        let goes_on = [packet(0, 500, 10), packet(u32::MAX - 9, 501, 0), packet(1 << 25, 500, 0)];
        let does_not =
            [packet(u32::MAX - 9, 500, 10), packet(u32::MAX - 10, 500, 0), packet(0, 499, 10), packet(1 << 27, 500, 0)];
        assert!(goes_on.iter().all(|packet| is_next(packet, &before)));
        assert!(!does_not.iter().any(|packet| is_next(packet, &before)));
    }

    #[test]
    fn both_sides_agree_within_their_windows() {
        let data = packet(9_000, 70_000, 1000);
        assert!(agree(&packet(70_000, 10_000, 0), &data, [0, 0]));
        assert!(agree(&packet(70_500, 9_000, 0), &data, [500, 1000]));
        assert!(!agree(&packet(70_501, 9_000, 0), &data, [500, 1000]));
        assert!(!agree(&packet(70_000, 8_999, 0), &data, [500, 1000]));
    }
}
