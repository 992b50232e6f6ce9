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

pub const ARCNET_LINUX: u16 = 129;

pub const IEEE802_11_AVS: u16 = 163;

pub const PPI: u16 = 192;

pub const ERF: u16 = 197;

pub const PPP_WITH_DIR: u16 = 204;

pub const MPLS: u16 = 219;

pub const IPV4: u16 = 228;

pub const IPV6: u16 = 229;

pub const IPOIB: u16 = 242;

pub const PKTAP: u16 = 258;

pub const LINUX_SLL2: u16 = 276;
