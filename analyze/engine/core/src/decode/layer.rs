//! The layers that a frame is walked through.

/// What the rest of the frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layer {
    /// LINKTYPE_ number.
    Link(u16),
    Ethernet,
    /// The payload of this EtherType.
    EtherType(u16),
    /// IEEE 802.2.
    Llc,
    /// IEEE 802.11 header.
    Wifi,
    /// Protocol field of PPP, perhaps after address and control.
    Ppp,
    /// Label stack.
    Mpls,
    /// IPv4 or IPv6, by its first four bits.
    Ip,
    /// Network service header (RFC 8300).
    ServiceHeader,
    /// The payload of this IP protocol.
    Protocol(u8),
}
