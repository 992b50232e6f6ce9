//! Link types: what the frames of a capture begin with (the LINKTYPE_ registry of the tcpdump group, which pcap and pcapng share).
#![allow(missing_docs, reason = "the names are the registry's")]

pub const NULL: u16 = 0;
pub const ETHERNET: u16 = 1;
pub const TOKEN_RING: u16 = 6;
pub const ARCNET_BSD: u16 = 7;
pub const SLIP: u16 = 8;
pub const PPP: u16 = 9;
pub const FDDI: u16 = 10;
/// DLT_RAW as some systems number it; files should have 101.
pub const RAW_BSD: u16 = 12;
/// DLT_RAW of OpenBSD.
pub const RAW_OPENBSD: u16 = 14;
pub const PPP_HDLC: u16 = 50;
pub const PPP_ETHER: u16 = 51;
pub const RAW: u16 = 101;
pub const C_HDLC: u16 = 104;
pub const IEEE802_11: u16 = 105;
pub const FRELAY: u16 = 107;
pub const LOOP: u16 = 108;
pub const LINUX_SLL: u16 = 113;
pub const IEEE802_11_PRISM: u16 = 119;
pub const IEEE802_11_RADIOTAP: u16 = 127;
pub const IEEE802_11_AVS: u16 = 163;
pub const PPP_WITH_DIR: u16 = 204;
pub const MPLS: u16 = 219;
pub const IPV4: u16 = 228;
pub const IPV6: u16 = 229;
pub const LINUX_SLL2: u16 = 276;

/// The protocol of a BSD loopback frame (NULL, LOOP).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoopbackFamily {
    Ipv4,
    Ipv6,
    Other,
}

impl LoopbackFamily {
    /// By the frame's first four bytes: an address family in the byte order of the capturing machine (NULL) or of the
    /// network (LOOP). The number is small, so its order shows; the value for IPv6 differs from system to system.
    pub(crate) fn read(bytes: [u8; 4]) -> Self {
        match u32::from_be_bytes(bytes).min(u32::from_le_bytes(bytes)) {
            2 => Self::Ipv4,
            // Linux, Windows, NetBSD and OpenBSD, FreeBSD, macOS.
            10 | 23 | 24 | 28 | 30 => Self::Ipv6,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loopback_family_is_known_in_the_numbers_and_the_byte_order_of_any_system() {
        for (number, family) in [
            (2, LoopbackFamily::Ipv4),
            (10, LoopbackFamily::Ipv6),
            (23, LoopbackFamily::Ipv6),
            (24, LoopbackFamily::Ipv6),
            (28, LoopbackFamily::Ipv6),
            (30, LoopbackFamily::Ipv6),
            (7, LoopbackFamily::Other),
            (0, LoopbackFamily::Other),
        ] {
            let number: u32 = number;
            assert_eq!([number.to_le_bytes(), number.to_be_bytes()].map(LoopbackFamily::read), [family; 2], "{number}");
        }
    }
}
