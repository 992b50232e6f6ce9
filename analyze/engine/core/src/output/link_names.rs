//! Names of link types, as libpcap prints them (LINKTYPE_ registry of the tcpdump group).

use std::borrow::Cow;

/// The name of a link type, or its number.
pub fn link_type_name(link_type: u16) -> Cow<'static, str> {
    Cow::Borrowed(match link_type {
        0 => "NULL",
        1 => "EN10MB",
        6 => "IEEE802",
        7 => "ARCNET",
        8 => "SLIP",
        9 => "PPP",
        10 => "FDDI",
        12 | 14 | 101 => "RAW",
        50 => "PPP_SERIAL",
        51 => "PPP_ETHER",
        104 => "C_HDLC",
        105 => "IEEE802_11",
        107 => "FRELAY",
        108 => "LOOP",
        113 => "LINUX_SLL",
        119 => "PRISM_HEADER",
        127 => "IEEE802_11_RADIO",
        163 => "IEEE802_11_RADIO_AVS",
        219 => "MPLS",
        228 => "IPV4",
        229 => "IPV6",
        276 => "LINUX_SLL2",
        other => return Cow::Owned(format!("LINKTYPE_{other}")),
    })
}
