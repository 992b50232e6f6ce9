//! Where the bytes of a direction went: each byte on the wire in exactly one part (docs/methods.md, section 9).
//!
//! Rule: docs/methods.md, "Ledger of bytes".

use crate::packet::Packet;

/// Wire bytes of one direction by purpose. TLS parts are split off the payload at the end.
#[derive(Debug, Default, Clone, Copy)]
pub struct ByteLedger {
    /// Link headers, padding, trailers, tunnel headers.
    pub link: u64,
    /// IP headers with extension headers.
    pub ip: u64,
    /// TCP headers without options.
    pub tcp_header: u64,
    /// TCP options.
    pub tcp_options: u64,
    /// Whole packets that only acknowledge (keep-alives and window probes too).
    pub pure_acknowledgements: u64,
    /// Whole packets that repeat data, SYN or FIN, less any payload in them that is new.
    pub retransmitted: u64,
    /// Payload of first transmissions.
    pub payload: u64,
}

impl ByteLedger {
    /// A packet that only acknowledges.
    #[inline]
    pub fn add_acknowledgement(&mut self, packet: &Packet) {
        self.pure_acknowledgements += u64::from(packet.wire_length);
    }

    /// A packet whose payload (if any) is new, or which opens or closes.
    #[inline]
    pub fn add_first_transmission(&mut self, packet: &Packet) {
        // Headers first: what a malformed length claims beyond the frame is in no part.
        let mut rest = packet.wire_length;
        let options = u32::from(packet.tcp_header_length).saturating_sub(20);
        let parts = [u32::from(packet.ip_header_length), 20, options, packet.payload_length].map(|wanted| {
            let taken = wanted.min(rest);
            rest -= taken;
            u64::from(taken)
        });
        self.add_parts(parts, u64::from(packet.wire_length));
    }

    /// Packets as for [`Self::add_first_transmission`], all at once.
    pub fn add_together(&mut self, together: &Together) {
        let (packets, payload_bytes, wire_bytes) =
            (together.packets(), together.payload_bytes(), together.wire_bytes());
        let Shape { ip_header_length, tcp_header_length, .. } = together.shape;
        let [ip, tcp, tcp_header] =
            [u64::from(ip_header_length), u64::from(tcp_header_length), 20].map(|one| one * packets);
        self.add_parts([ip, tcp_header, tcp - tcp_header, payload_bytes], wire_bytes);
    }

    /// IP header, TCP header, its options and payload of what is sent first. What is left of its bytes on the wire is the link's.
    #[inline(always)]
    fn add_parts(&mut self, parts: [u64; 4], wire_bytes: u64) {
        let [ip, tcp_header, tcp_options, payload] = parts;
        self.ip += ip;
        self.tcp_header += tcp_header;
        self.tcp_options += tcp_options;
        self.payload += payload;
        self.link += wire_bytes - parts.iter().sum::<u64>();
    }

    /// A packet that repeats what was sent, of whose payload `new_payload` bytes are new.
    pub fn add_retransmission(&mut self, packet: &Packet, new_payload: u32) {
        let new_payload = new_payload.min(packet.wire_length);
        self.retransmitted += u64::from(packet.wire_length - new_payload);
        self.payload += u64::from(new_payload);
    }

    /// Payload taken for new was sent before.
    pub fn repeats_payload(&mut self, payload_bytes: u32) {
        let moved = u64::from(payload_bytes).min(self.payload);
        self.payload -= moved;
        self.retransmitted += moved;
    }

    /// IP bytes for each byte of payload, in segments of this size.
    pub fn ip_bytes_for_each(&self, segment_bytes: f64) -> f64 {
        // Each packet whose headers are counted here has 20 bytes of TCP header without options.
        let headers = (self.ip + self.tcp_header + self.tcp_options) as f64;
        1.0 + headers * 20.0 / self.tcp_header.max(20) as f64 / segment_bytes.max(1.0)
    }

    /// All bytes.
    pub fn total(&self) -> u64 {
        self.link
            + self.ip
            + self.tcp_header
            + self.tcp_options
            + self.pure_acknowledgements
            + self.retransmitted
            + self.payload
    }
}

/// Lengths of a data packet. A bulk transfer is made of packets of one shape.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Payload bytes.
    pub payload_length: u32,
    /// Bytes on the wire.
    pub wire_length: u32,
    /// Bytes of the IP header.
    pub ip_header_length: u16,
    /// Bytes of the TCP header.
    pub tcp_header_length: u8,
}

impl Shape {
    /// That of a packet.
    #[inline(always)]
    pub fn of(packet: &Packet) -> Self {
        let &Packet { payload_length, wire_length, ip_header_length, tcp_header_length, .. } = packet;
        Self { payload_length, wire_length, ip_header_length, tcp_header_length }
    }

    /// The frame is not shorter than its headers say.
    fn is_whole(&self) -> bool {
        let headers = u32::from(self.ip_header_length) + u32::from(self.tcp_header_length);
        self.wire_length >= headers.saturating_add(self.payload_length)
    }

    fn has_headers_of(&self, other: &Self) -> bool {
        (self.ip_header_length, self.tcp_header_length) == (other.ip_header_length, other.tcp_header_length)
    }
}

/// First transmissions with headers of the same lengths, counted together, and what follows from the shape of the latest.
#[derive(Debug, Default, Clone, Copy)]
pub struct Together {
    shape: Shape,
    /// Payload of a full wire segment with such headers.
    pub segment_size: u16,
    /// It ends with less than a full segment.
    pub is_short: bool,
    /// Wire segments it stands for.
    pub segments: u32,
    /// Flags that another one like it has.
    pub wanted_flags: u16,
    /// Packets of this shape that came last: they are not in the sums.
    row: u64,
    packets: u64,
    payload_bytes: u64,
    wire_bytes: u64,
}

impl Together {
    /// Another one like the last.
    #[inline(always)]
    pub fn goes_on(&self, packet: &Packet) -> bool {
        let Shape { payload_length, wire_length, ip_header_length, tcp_header_length } = self.shape;
        // All differences at once: a branch for each would nearly always go the same way.
        let differs = (packet.payload_length ^ payload_length)
            | (packet.wire_length ^ wire_length)
            | u32::from(packet.ip_header_length ^ ip_header_length)
            | u32::from(packet.tcp_header_length ^ tcp_header_length)
            | u32::from(!packet.flags & self.wanted_flags);
        differs == 0
    }

    /// Adds a packet with which it [`Self::goes_on`].
    #[inline(always)]
    pub fn add(&mut self) {
        self.row += 1;
    }

    /// Packets of another shape follow; false if they cannot be counted here.
    pub fn change(&mut self, packet: &Packet) -> bool {
        let shape = Shape::of(packet);
        let counted_here = shape.is_whole() && (self.packets() == 0 || shape.has_headers_of(&self.shape));
        if counted_here {
            let (packets, payload_bytes, wire_bytes) = (self.packets(), self.payload_bytes(), self.wire_bytes());
            *self = Self { shape, packets, payload_bytes, wire_bytes, ..Self::default() };
        }
        counted_here
    }

    /// How many.
    pub fn packets(&self) -> u64 {
        self.packets + self.row
    }

    /// Their payload.
    pub fn payload_bytes(&self) -> u64 {
        self.payload_bytes + self.row * u64::from(self.shape.payload_length)
    }

    /// Their bytes on the wire, at least headers and payload.
    pub fn wire_bytes(&self) -> u64 {
        self.wire_bytes + self.row * u64::from(self.shape.wire_length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_parts_sum_to_the_wire_bytes(wire_length in 0u32..3000, payload_length in 0u32..70_000, ip in 20u16..80, tcp in 20u8..61, new in 0u32..3000) {
            let packet = Packet { wire_length, payload_length, ip_header_length: ip, tcp_header_length: tcp, ..Packet::default() };
            let mut ledger = ByteLedger::default();
            ledger.add_first_transmission(&packet);
            ledger.add_retransmission(&packet, new);
            ledger.add_acknowledgement(&packet);
            prop_assert_eq!(ledger.total(), 3 * u64::from(wire_length));
        }
    }
}
