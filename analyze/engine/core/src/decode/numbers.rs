//! Numbers that several layers ask for: EtherTypes, IP protocols, the port of DNS.

/// EtherTypes (IANA, IEEE registry).
pub(crate) mod ether_type {
    pub const IPV4: u16 = 0x0800;
    pub const ARP: u16 = 0x0806;
    /// Ethernet in GRE, GENEVE (Transparent Ethernet Bridging).
    pub const BRIDGED: u16 = 0x6558;
    /// IEEE 802.1Q.
    pub const VLAN: u16 = 0x8100;
    pub const TRILL: u16 = 0x22f3;
    pub const IPV6: u16 = 0x86dd;
    pub const MPLS: u16 = 0x8847;
    pub const MPLS_MULTICAST: u16 = 0x8848;
    pub const PPPOE_SESSION: u16 = 0x8864;
    pub const JUMBO_LLC: u16 = 0x8870;
    /// IEEE 802.1ad.
    pub const SERVICE_VLAN: u16 = 0x88a8;
    /// IEEE 802.1ah.
    pub const BACKBONE: u16 = 0x88e7;
    /// IEEE 802.1AE.
    pub const MACSEC: u16 = 0x88e5;
    /// Cisco's.
    pub const FABRIC_PATH: u16 = 0x8903;
    /// Cisco MetaData.
    pub const METADATA: u16 = 0x8909;
    pub const VN_TAG: u16 = 0x8926;
    pub const HSR: u16 = 0x892f;
    /// IEEE 802.1BR.
    pub const PORT_EXTENSION: u16 = 0x893f;
    /// Network service header (RFC 8300).
    pub const NSH: u16 = 0x894f;
    /// Outer tags of QinQ before IEEE 802.1ad: each maker of switches had its own.
    pub const OLD_QINQ: u16 = 0x9100;
    pub const OLD_QINQ_2: u16 = 0x9200;
    pub const OLD_QINQ_3: u16 = 0x9300;
    /// Of a switch's port (Linux gives it no number of the registry).
    pub const DSA: u16 = 0xdada;
    /// IEEE 802.1CB.
    pub const REDUNDANCY: u16 = 0xf1c1;
}

/// IP protocol numbers (IANA).
pub(crate) mod protocol {
    pub const HOP_BY_HOP: u8 = 0;
    pub const ICMP: u8 = 1;
    pub const IGMP: u8 = 2;
    pub const IPV4: u8 = 4;
    pub const TCP: u8 = 6;
    pub const UDP: u8 = 17;
    pub const IPV6: u8 = 41;
    pub const ROUTING: u8 = 43;
    pub const FRAGMENT: u8 = 44;
    pub const GRE: u8 = 47;
    pub const ESP: u8 = 50;
    pub const AUTHENTICATION: u8 = 51;
    pub const ICMP_V6: u8 = 58;
    pub const DESTINATION: u8 = 60;
    pub const SCTP: u8 = 132;
    pub const UDP_LITE: u8 = 136;
    pub const ETHER_IP: u8 = 97;
    pub const L2TP: u8 = 115;
    pub const MPLS: u8 = 137;
    pub const ETHERNET: u8 = 143;
}

/// The port of DNS, over either transport (RFC 1035 section 4.2).
pub const DNS_PORT: u16 = 53;

/// True if a datagram of this protocol can lead to TCP, so that its fragments are worth collecting.
pub(super) fn leads_to_tcp(number: u8) -> bool {
    matches!(
        number,
        protocol::TCP
            | protocol::IPV4
            | protocol::IPV6
            | protocol::GRE
            | protocol::UDP
            | protocol::AUTHENTICATION
            | protocol::ETHER_IP
            | protocol::L2TP
            | protocol::MPLS
            | protocol::ETHERNET
            | protocol::DESTINATION
            | protocol::ROUTING
    )
}
