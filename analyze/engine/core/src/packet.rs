//! What decoding leaves of a frame: one flat record for each TCP segment, the only thing the TCP analysis sees.
//!
//! A [`Packet`] holds no borrowed data: it points into the bytes of the [`crate::read::record::Chunk`] it was decoded from, so
//! that a batch of packets is one flat allocation which threads can pass on.

/// TCP control bits as they stand in the header (RFC 9293 section 3.1, AE of RFC 9768 as bit 8).
pub mod tcp_flags {
    /// No more data from the sender.
    pub const FIN: u16 = 0x001;
    /// Synchronise sequence numbers.
    pub const SYN: u16 = 0x002;
    /// Reset the connection.
    pub const RST: u16 = 0x004;
    /// Push function.
    pub const PSH: u16 = 0x008;
    /// The acknowledgement field is significant.
    pub const ACK: u16 = 0x010;
    /// The urgent pointer is significant.
    pub const URG: u16 = 0x020;
    /// ECN echo (RFC 3168).
    pub const ECE: u16 = 0x040;
    /// Congestion window reduced (RFC 3168).
    pub const CWR: u16 = 0x080;
    /// Accurate ECN (RFC 9768).
    pub const AE: u16 = 0x100;
    /// All that may stand in a header.
    pub const OF_HEADER: u16 = 0xfff;
    /// Of the datagram and no bit of TCP: the segment came in IP fragments.
    pub const IN_FRAGMENTS: u16 = 0x8000;
}
/// What kinds of TCP options a segment carries, as far as its captured bytes show.
pub mod option_bits {
    /// `tsval` and `tsecr` are valid (RFC 7323).
    pub const TIMESTAMPS: u8 = 0x01;
    /// There is something besides timestamps and padding: read it with the option parser from `options_offset`.
    pub const OTHERS: u8 = 0x02;
    /// The option area goes beyond the captured bytes: options may be missing.
    pub const CUT: u8 = 0x04;
    /// The option area is malformed from some point on.
    pub const MALFORMED: u8 = 0x08;
    /// Of IPv6 and no option of TCP: a routing header says where the packet goes, and cannot be read.
    pub const HIDDEN_DESTINATION: u8 = 0x10;
}

/// One decoded TCP segment (or superpacket, when segmentation offload was on).
///
/// All lengths come from the IP header (from the frame where the IP length is 0, as with TSO and BIG TCP), never from
/// the number of captured bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Packet {
    /// Capture time, Unix nanoseconds.
    pub time_ns: i64,
    /// IPv4: source address in the high 32 bits, destination in the low ones. IPv6: a hash of both, which is the same
    /// for both directions only in [`Packet::flow_hash`]; compare addresses through `address_offset`.
    pub address_key: u64,
    /// Hash of addresses and ports, equal for both directions.
    pub flow_hash: u32,
    /// Source port in the high 16 bits, destination port in the low ones.
    pub ports: u32,
    /// Sequence number.
    pub sequence: u32,
    /// Acknowledgement number (meaningful if the ACK flag is set).
    pub acknowledgement: u32,
    /// Timestamp value, if `options & TIMESTAMPS`.
    pub tsval: u32,
    /// TCP payload bytes on the wire, by the IP length.
    pub payload_length: u32,
    /// Timestamp echo reply, if `options & TIMESTAMPS`.
    pub tsecr: u32,
    /// Where the payload starts in the chunk's bytes.
    pub payload_offset: u32,
    /// How many payload bytes were captured (0 ..= payload_length).
    pub payload_captured: u32,
    /// Length of the whole frame on the wire (all fragments together), bytes.
    pub wire_length: u32,
    /// Where the source address starts in the chunk's bytes (destination follows directly): 8 bytes of IPv4 or 32 of IPv6.
    pub address_offset: u32,
    /// Where the TCP options start in the chunk's bytes.
    pub options_offset: u32,
    /// Number of the frame within its input, from 1 (as Wireshark counts).
    pub frame: u32,
    /// Advertised window as in the header, not scaled.
    pub window: u16,
    /// IPv4 identification (low 16 bits of the fragment header's for IPv6 fragments, else 0).
    pub ip_id: u16,
    /// TCP checksum field.
    pub checksum: u16,
    /// TCP control bits, see [`tcp_flags`].
    pub flags: u16,
    /// Bytes of IP header including extension headers (innermost IP only).
    pub ip_header_length: u16,
    /// Number of the input file.
    pub input: u16,
    /// Captured bytes of the TCP option area (0 ..= tcp_header_length - 20).
    pub options_captured: u8,
    /// TCP header length with options, bytes (20 ..= 60).
    pub tcp_header_length: u8,
    /// TTL or hop limit of the innermost IP header.
    pub ttl: u8,
    /// 4 or 6.
    pub ip_version: u8,
    /// Option kinds, see [`option_bits`].
    pub options: u8,
}

impl Packet {
    /// The time of what has not happened yet: later than that of any packet.
    pub const NEVER_NS: i64 = crate::read::record::Record::FARTHEST_TIME_NS;

    /// True if all of `flags` are set.
    #[inline]
    pub fn has(&self, flags: u16) -> bool {
        self.flags & flags == flags
    }

    /// Its timestamp (RFC 7323), if it has one.
    #[inline]
    pub fn timestamp(&self) -> Option<u32> {
        (self.options & option_bits::TIMESTAMPS != 0).then_some(self.tsval)
    }

    /// Of which direction of which connection it is, by hash and ports, and the opposite direction.
    pub fn flows(&self) -> [(u32, u32); 2] {
        [(self.flow_hash, self.ports), (self.flow_hash, self.ports.rotate_left(16))]
    }

    /// Sequence space the segment takes: payload plus one each for SYN and FIN (RFC 9293 section 3.4).
    #[inline]
    pub fn sequence_length(&self) -> u32 {
        self.payload_length + u32::from(self.has(tcp_flags::SYN)) + u32::from(self.has(tcp_flags::FIN))
    }

    /// What of the payload was captured: `bytes` are those of its frame.
    #[inline]
    pub fn captured_payload<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        let offset = self.payload_offset as usize;
        bytes.get(offset..offset + self.payload_captured as usize).unwrap_or_default()
    }
}
#[cfg(test)]
mod tests {
    use super::*;
    use tcp_flags::{ACK, FIN, PSH, SYN};

    #[test]
    fn all_flags_asked_for_must_be_set() {
        let packet = Packet { flags: SYN | ACK, ..Packet::default() };
        assert!(packet.has(SYN) && packet.has(ACK) && packet.has(SYN | ACK));
        assert!(!packet.has(FIN) && !packet.has(SYN | FIN));
    }

    #[test]
    fn syn_and_fin_take_one_number_each() {
        let length = |flags, payload_length| Packet { flags, payload_length, ..Packet::default() }.sequence_length();
        assert_eq!([length(ACK, 0), length(ACK | PSH, 700)], [0, 700]);
        assert_eq!([length(SYN, 0), length(FIN | ACK, 700), length(SYN | FIN, 5)], [1, 701, 7]);
    }

    #[test]
    fn flags_are_the_bits_of_the_header() {
        let in_order =
            [FIN, SYN, tcp_flags::RST, PSH, ACK, tcp_flags::URG, tcp_flags::ECE, tcp_flags::CWR, tcp_flags::AE];
        assert!(in_order.into_iter().enumerate().all(|(bit, flag)| flag == 1 << bit));
    }

    #[test]
    fn a_batch_of_packets_stays_small() {
        assert!(size_of::<Packet>() <= 96, "one and a half cache lines, {} bytes", size_of::<Packet>());
    }
}
