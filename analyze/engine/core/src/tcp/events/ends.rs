//! Both ends of a connection, client first, as its first packet shows them.

use crate::packet::{Packet, tcp_flags};

/// Who is the client of a connection, and who the server, as its first packet tells.
pub struct Ends {
    /// The client sent that packet: the sender of a SYN, the receiver of a SYN-ACK, or the side with the higher port.
    pub from_client: bool,
    /// 4 bytes each at the front for IPv4, 16 each for IPv6.
    pub addresses: [u8; 32],
    /// Client's port and server's port.
    pub ports: [u16; 2],
}

impl Ends {
    /// Those of the packet's connection.
    pub fn of(packet: &Packet, bytes: &[u8]) -> Self {
        let [source, destination] = [(packet.ports >> 16) as u16, packet.ports as u16];
        let from_client = match (packet.has(tcp_flags::SYN), packet.has(tcp_flags::ACK)) {
            (true, false) => true,
            (true, true) => false,
            _ => source >= destination,
        };
        let length = if packet.ip_version == 4 { 4 } else { 16 };
        let offset = packet.address_offset as usize;
        let pair = bytes.get(offset..offset + 2 * length).unwrap_or_default();
        let mut addresses = [0; 32];
        if let Some((source, destination)) = pair.split_at_checked(length) {
            let (client, server) = if from_client { (source, destination) } else { (destination, source) };
            addresses[..length].copy_from_slice(client);
            addresses[length..2 * length].copy_from_slice(server);
        }
        Self { from_client, addresses, ports: if from_client { [source, destination] } else { [destination, source] } }
    }
}
