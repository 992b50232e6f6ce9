//! A place of the flow table: the addresses and ports of a connection, and the connection or what is left of it.

use crate::packet::Packet;
use crate::tcp::capture::recent_packets::signature;
use crate::tcp::connection::connection::Connection;
use crate::tcp::events::ends::Ends;
use crate::tcp::flow::by_flow::{is_reverse_v4, is_reverse_v6};
use crate::tcp::summary::summary::ConnectionSummary;

#[derive(Clone)]
pub(super) enum State {
    /// Its first packet is of the chunk in hand and not taken yet. Its record is made with that: made with the slot, those of all
    /// connections that begin in a chunk would stand side by side, and none be left over from the one before.
    Awaited,
    Live(Box<Connection>),
    Done(Box<ConnectionSummary>),
}
#[derive(Clone)]
pub(super) struct Slot {
    /// Addresses and ports, the client's first.
    pub(super) address_key: u64,
    pub(super) addresses_v6: Option<Box<[u8; 32]>>,
    pub(super) ports: u32,
    pub(super) hash: u32,
    /// The slot of the connection that uses them now, [`NONE`] if it is this one.
    pub(super) successor: u32,
    pub(super) state: State,
}

/// No slot, no packet.
pub(super) const NONE: u32 = u32::MAX;

impl Slot {
    /// A slot that begins with `packet`, and whether the client sent that.
    pub(super) fn new(packet: &Packet, bytes: &[u8]) -> (Self, bool) {
        let Ends { from_client, addresses, ports } = Ends::of(packet, bytes);
        let slot = Self {
            address_key: if from_client { packet.address_key } else { packet.address_key.rotate_left(32) },
            addresses_v6: (packet.ip_version == 6).then(|| Box::new(addresses)),
            ports: u32::from(ports[0]) << 16 | u32::from(ports[1]),
            hash: packet.flow_hash,
            successor: NONE,
            state: State::Awaited,
        };
        // Asked as for all later packets: where both ends are one, the answer is another.
        let from_client = slot.sent_by_client(packet, bytes).unwrap_or(from_client);
        (slot, from_client)
    }

    /// The packet that ended the connection may be captured once more.
    pub(super) fn remember_last(&mut self, packet: &Packet, bytes: &[u8]) {
        if let State::Done(summary) = &mut self.state {
            (summary.ended_by, summary.ended_by_ns) = (signature(packet, bytes), packet.time_ns);
        }
    }

    /// Whether the packet has these addresses and ports, and then whether the client sent it.
    #[inline]
    pub(super) fn sent_by_client(&self, packet: &Packet, bytes: &[u8]) -> Option<bool> {
        let is_reverse = match &self.addresses_v6 {
            None if packet.ip_version == 4 => is_reverse_v4(self.address_key, self.ports, packet),
            Some(pair) if packet.ip_version == 6 => is_reverse_v6(pair, self.ports, packet, bytes),
            _ => None,
        };
        is_reverse.map(|is_reverse| !is_reverse)
    }
}

/// Slots of the connections seen last, by the low bits of their hash: found again without asking the table.
#[derive(Clone)]
pub(super) struct Nearby([u32; Nearby::PLACES]);

impl Nearby {
    const PLACES: usize = 128;

    #[inline]
    pub(super) fn place(&mut self, hash: u32) -> &mut u32 {
        &mut self.0[hash as usize % Self::PLACES]
    }
}

impl Default for Nearby {
    fn default() -> Self {
        Self([NONE; Self::PLACES])
    }
}

/// A line of packets whose connection is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownLine {
    pub(super) slot: u32,
    pub(super) first: u32,
    /// The client sent the first packet.
    pub(super) from_client: bool,
}
