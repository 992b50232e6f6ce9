//! Frames and bytes by protocol. What is no TCP is counted here; TCP is the rest, so that counting it costs nothing.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::decode::batch::OtherAt;
use crate::decode::other::OtherKind;
use crate::decode::reason::Undecoded;

/// EtherTypes that are told apart: made-up frames have any.
const MOST_ETHER_TYPES: usize = 64;

/// Frames, and their bytes on the wire.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Amount {
    /// Frames.
    pub packets: u64,
    /// Bytes.
    pub wire_bytes: u64,
}

impl Amount {
    /// Adds another.
    pub fn add(&mut self, other: Self) {
        self.packets += other.packets;
        self.wire_bytes += other.wire_bytes;
    }
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Protocols {
    ip: BTreeMap<u8, Amount>,
    ether_types: BTreeMap<u16, Amount>,
    other_ether_types: Amount,
    unread: BTreeMap<Undecoded, Amount>,
    /// The last IP protocol and what came of it in a row.
    row: (u8, Amount),
}

impl Protocols {
    /// Counts one.
    #[inline]
    pub fn add(&mut self, at: &OtherAt) {
        let amount = Amount { packets: at.frames, wire_bytes: at.wire_bytes };
        match at.other.kind {
            OtherKind::Ip(number) => {
                if number != self.row.0 {
                    self.end_row();
                    self.row.0 = number;
                }
                self.row.1.add(amount);
            }
            OtherKind::EtherType(number) => {
                let is_kept = self.ether_types.len() < MOST_ETHER_TYPES || self.ether_types.contains_key(&number);
                let kept =
                    if is_kept { self.ether_types.entry(number).or_default() } else { &mut self.other_ether_types };
                kept.add(amount);
            }
            OtherKind::Unread => self.unread.entry(at.other.reason).or_default().add(amount),
        }
    }

    /// Counts what could not be read for another reason.
    pub fn add_unread(&mut self, reason: Undecoded, amount: Amount) {
        if amount.packets > 0 {
            self.unread.entry(reason).or_default().add(amount);
        }
    }

    fn end_row(&mut self) {
        let (number, amount) = std::mem::take(&mut self.row);
        if amount.packets > 0 {
            self.ip.entry(number).or_default().add(amount);
        }
    }

    /// The most bytes first, then by name; `all` is what the files hold, of which the rest is TCP.
    pub fn finish(mut self, all: Amount) -> Vec<(Cow<'static, str>, Amount)> {
        self.end_row();
        let ip = self.ip.into_iter().map(|(number, amount)| (ip_name(number), amount));
        let frames = self.ether_types.into_iter().map(|(number, amount)| (ether_name(number), amount));
        let unread = self.unread.into_iter().map(|(reason, amount)| (reason.name(), amount));
        let rest = [(Cow::Borrowed("other_ether_types"), self.other_ether_types)];
        let mut list: Vec<_> = ip.chain(frames).chain(unread).chain(rest).collect();
        let mut tcp = all;
        for (_, amount) in &list {
            tcp.packets = tcp.packets.saturating_sub(amount.packets);
            tcp.wire_bytes = tcp.wire_bytes.saturating_sub(amount.wire_bytes);
        }
        list.push((Cow::Borrowed("tcp"), tcp));
        list.retain(|(_, amount)| amount.packets > 0);
        list.sort_by(|(name, one), (other, next)| (next.wire_bytes, name).cmp(&(one.wire_bytes, other)));
        list
    }
}

/// Name of an IP protocol (IANA), e.g. `udp` or `ip_99`.
pub fn ip_name(number: u8) -> Cow<'static, str> {
    Cow::Borrowed(match number {
        1 => "icmp",
        2 => "igmp",
        6 => "tcp",
        17 => "udp",
        47 => "gre",
        50 => "esp",
        51 => "ah",
        58 => "icmpv6",
        89 => "ospf",
        103 => "pim",
        112 => "vrrp",
        115 => "l2tp",
        132 => "sctp",
        136 => "udplite",
        other => return Cow::Owned(format!("ip_{other}")),
    })
}

fn ether_name(number: u16) -> Cow<'static, str> {
    Cow::Borrowed(match number {
        0x0806 => "arp",
        0x8035 => "rarp",
        0x8809 => "slow_protocols",
        0x8863 => "pppoe_discovery",
        0x888e => "eapol",
        0x88cc => "lldp",
        0x88e5 => "macsec",
        0x88f7 => "ptp",
        other => return Cow::Owned(format!("ether_type_{other:04x}")),
    })
}
