//! Names of link types, as libpcap prints them (LINKTYPE_ registry of the tcpdump group).

use std::borrow::Cow;

use crate::link_type;

/// The name of a link type, or its number.
pub fn link_type_name(number: u16) -> Cow<'static, str> {
    Cow::Borrowed(match number {
        link_type::NULL => "NULL",
        link_type::ETHERNET => "EN10MB",
        link_type::TOKEN_RING => "IEEE802",
        link_type::ARCNET_BSD => "ARCNET",
        link_type::SLIP => "SLIP",
        link_type::PPP => "PPP",
        link_type::FDDI => "FDDI",
        link_type::RAW_BSD | link_type::RAW_OPENBSD | link_type::RAW => "RAW",
        link_type::PPP_HDLC => "PPP_SERIAL",
        link_type::PPP_ETHER => "PPP_ETHER",
        link_type::C_HDLC => "C_HDLC",
        link_type::IEEE802_11 => "IEEE802_11",
        link_type::FRELAY => "FRELAY",
        link_type::LOOP => "LOOP",
        link_type::LINUX_SLL => "LINUX_SLL",
        link_type::IEEE802_11_PRISM => "PRISM_HEADER",
        link_type::IEEE802_11_RADIOTAP => "IEEE802_11_RADIO",
        link_type::IEEE802_11_AVS => "IEEE802_11_RADIO_AVS",
        link_type::MPLS => "MPLS",
        link_type::IPV4 => "IPV4",
        link_type::IPV6 => "IPV6",
        link_type::LINUX_SLL2 => "LINUX_SLL2",
        other => return Cow::Owned(format!("LINKTYPE_{other}")),
    })
}
