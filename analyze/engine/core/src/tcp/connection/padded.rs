//! What is known of packets that may have been padded ([`crate::tcp::connection::padding`]).

use crate::packet::{Packet, tcp_flags};

/// Most that is padded, behind headers without options.
const MOST_PADDING: u32 = 6;

/// What is known of the padding of one side.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct SidePadding {
    /// The last packet that was taken for padded, while its side may still go on behind these bytes: without its payload.
    pub last: Option<Packet>,
    /// The side went on at the number of one: they were padding.
    pub is_proven: bool,
    /// It went on behind one: it sends short segments of zeros.
    pub is_data: bool,
}

/// See the module; client, server.
#[derive(Debug, Clone, Default)]
pub(crate) struct Padding(pub [SidePadding; 2]);

/// The packet has the form of one: nothing pushes these bytes, and they make the frame as long as it has to be.
#[inline(always)]
pub(crate) fn may_be_padded(packet: &Packet) -> bool {
    packet.payload_length.wrapping_sub(1) < MOST_PADDING
        && packet.flags & (tcp_flags::PSH | tcp_flags::ACK) == tcp_flags::ACK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_few_bytes_that_nothing_pushes_may_be_padding() {
        let may_be = |payload_length, flags| may_be_padded(&Packet { payload_length, flags, ..Packet::default() });
        assert_eq!([0, 1, 6, 7].map(|length| may_be(length, tcp_flags::ACK)), [false, true, true, false]);
        assert!(!may_be(6, tcp_flags::ACK | tcp_flags::PSH) && !may_be(6, 0));
    }
}
