//! A packet that is believed though it lies farther ahead than any window is wide: the capture has missed what is between, as a filter
//! or a rotation leaves it out.
//! How far that is says [`crate::tcp::kernel`].

use crate::packet::{Packet, tcp_flags};
use crate::tcp::direction::acknowledged_unseen::acknowledge_unseen;
use crate::tcp::direction::direction::Direction;
use crate::tcp::kernel::FARTHEST_JUMP;
use crate::tcp::stats::sequence::unwrap;

/// Passes over what lies between the numbers that were seen and those of a packet that is believed.
#[cold]
pub(crate) fn pass_over(directions: &mut [Direction; 2], packet: &Packet, side: usize) {
    let acknowledges = packet.has(tcp_flags::ACK);
    let numbers = [(side, packet.sequence, true), (1 - side, packet.acknowledgement, acknowledges)];
    for (side, number, is_said) in numbers {
        let direction = &mut directions[side];
        let position = unwrap(direction.max, number);
        // The first data of a side begins its stream wherever it stands.
        let is_known = direction.begun && direction.data_packets > 0;
        if is_said && is_known && position.saturating_sub(direction.max) > FARTHEST_JUMP {
            acknowledge_unseen(direction, packet, position);
        }
    }
}
