//! Why frames give no TCP segment, and how many of each there were.
//!
//! Together with the decoded packets the counts cover every frame exactly once, so a report can say what was left out.

use std::borrow::Cow;

use crate::decode::unread::{Look, UnreadFrames};

/// Why a frame gives no TCP segment. Counted per reason; never an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Undecoded {
    /// Not IP (ARP, LLDP, ...): nothing wrong with it.
    NotIp,
    /// IP but not TCP (UDP, ICMP, ...) and no tunnel that is read: nothing wrong with it.
    NotTcp,
    /// The same, but it looks like a tunnel; the port that it went to. Counted with [`Self::NotTcp`], and by look.
    UnreadTunnel(Look, u16),
    /// The frame's link type (LINKTYPE_ number) is none that is read.
    UnknownLinkType(u16),
    /// The snap length cut the link layer's header.
    CutLinkHeader,
    /// The link layer's header contradicts itself or the frame ends within it.
    BadLinkHeader,
    /// The snap length cut the IP header or one of its extension headers.
    CutIpHeader,
    /// The IP header contradicts itself or the frame ends within it.
    BadIpHeader,
    /// The snap length cut the header of a tunnel protocol.
    CutTunnelHeader,
    /// The header of a tunnel protocol contradicts itself or its datagram ends within it.
    BadTunnelHeader,
    /// The snap length cut the TCP header before the end of the window field.
    CutTcpHeader,
    /// The TCP header contradicts itself or is longer than the IP datagram.
    BadTcpHeader,
    /// More layers or nested IP headers than are followed.
    TunnelTooDeep,
    /// An IEEE 802.11 data frame that is still encrypted.
    EncryptedWifi,
    /// An IEEE 802.11 data frame in pieces (fragmented MSDU) or bundled (A-MSDU).
    WifiAggregate,
    /// A frame that the capturing hardware marked as received with errors (802.11 in monitor mode).
    CorruptFrame,
    /// A frame that MACsec (IEEE 802.1AE) has encrypted.
    EncryptedMacsec,
    /// IPsec ESP.
    EncryptedIpsec,
    /// Part of a fragmented datagram that was put together: its TCP segment counts at the fragment that completed it.
    FragmentJoined,
    /// Fragment of a datagram of which some fragment never came (or came too late, or there were too many).
    FragmentIncomplete,
}

impl Undecoded {
    /// Number of reasons.
    pub const COUNT: usize = 19;

    /// One reason of each kind, in the order of their index.
    pub const ALL: [Self; Self::COUNT] = [
        Self::NotIp,
        Self::NotTcp,
        Self::UnknownLinkType(0),
        Self::CutLinkHeader,
        Self::BadLinkHeader,
        Self::CutIpHeader,
        Self::BadIpHeader,
        Self::CutTunnelHeader,
        Self::BadTunnelHeader,
        Self::CutTcpHeader,
        Self::BadTcpHeader,
        Self::TunnelTooDeep,
        Self::EncryptedWifi,
        Self::WifiAggregate,
        Self::CorruptFrame,
        Self::EncryptedIpsec,
        Self::FragmentJoined,
        Self::FragmentIncomplete,
        Self::EncryptedMacsec,
    ];

    /// Index and fixed text of the reason.
    fn entry(self) -> (usize, &'static str) {
        match self {
            Self::NotIp => (0, "not_ip"),
            Self::NotTcp | Self::UnreadTunnel(..) => (1, "not_tcp"),
            Self::UnknownLinkType(_) => (2, "unknown_link_type"),
            Self::CutLinkHeader => (3, "cut_link_header"),
            Self::BadLinkHeader => (4, "bad_link_header"),
            Self::CutIpHeader => (5, "cut_ip_header"),
            Self::BadIpHeader => (6, "bad_ip_header"),
            Self::CutTunnelHeader => (7, "cut_tunnel_header"),
            Self::BadTunnelHeader => (8, "bad_tunnel_header"),
            Self::CutTcpHeader => (9, "cut_tcp_header"),
            Self::BadTcpHeader => (10, "bad_tcp_header"),
            Self::TunnelTooDeep => (11, "tunnel_too_deep"),
            Self::EncryptedWifi => (12, "encrypted_wifi"),
            Self::WifiAggregate => (13, "wifi_aggregate"),
            Self::CorruptFrame => (14, "corrupt_frame"),
            Self::EncryptedIpsec => (15, "encrypted_ipsec"),
            Self::FragmentJoined => (16, "fragment_joined"),
            Self::FragmentIncomplete => (17, "fragment_incomplete"),
            Self::EncryptedMacsec => (18, "encrypted_macsec"),
        }
    }

    /// The packet is sound, and another protocol's, or one that nobody reads without a key.
    pub(super) fn is_sound(self) -> bool {
        matches!(self, Self::NotTcp | Self::UnreadTunnel(..) | Self::EncryptedIpsec)
    }

    /// What of a tunnel or link layer is not read, and of which port.
    fn unread(self) -> Option<(Look, Option<u16>)> {
        match self {
            Self::UnreadTunnel(look, port) => Some((look, Some(port))),
            Self::UnknownLinkType(number) => Some((Look::LinkType(number), None)),
            Self::EncryptedIpsec => Some((Look::Esp, None)),
            Self::EncryptedMacsec => Some((Look::Macsec, None)),
            _ => None,
        }
    }

    /// Name for people and JSON keys, e.g. `not_tcp` or `unknown_link_type_147`.
    #[must_use]
    pub fn name(self) -> Cow<'static, str> {
        match self {
            Self::UnknownLinkType(number) => Cow::Owned(format!("unknown_link_type_{number}")),
            other => Cow::Borrowed(other.entry().1),
        }
    }
}

/// Frames per reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReasonCounts {
    frames: [u64; Undecoded::COUNT],
    /// Frames per unknown link type; their sum stands in `frames`, too. A capture has few link types.
    link_types: Vec<(u16, u64)>,
    /// What looks like a tunnel, or a link layer, that is not read.
    pub unread: UnreadFrames,
}

impl ReasonCounts {
    /// Counts one frame.
    #[inline]
    pub fn count(&mut self, reason: Undecoded) {
        self.add(reason, 1);
    }

    /// Counts several frames.
    #[inline]
    pub fn add(&mut self, reason: Undecoded, frames: u64) {
        if let Some(total) = self.frames.get_mut(reason.entry().0) {
            *total += frames;
        }
        if let Undecoded::UnknownLinkType(number) = reason {
            self.add_link_type(number, frames);
        }
    }

    fn add_link_type(&mut self, number: u16, frames: u64) {
        match self.link_types.iter_mut().find(|(known, _)| *known == number) {
            Some((_, total)) => *total += frames,
            None => self.link_types.push((number, frames)),
        }
    }

    /// Adds the counts of another part of the input.
    pub fn merge(&mut self, other: &Self) {
        for (total, more) in self.frames.iter_mut().zip(other.frames) {
            *total += more;
        }
        for &(number, frames) in &other.link_types {
            self.add_link_type(number, frames);
        }
        self.unread.merge(&other.unread);
    }

    /// Frames of one reason (of one link type only, for [`Undecoded::UnknownLinkType`]).
    #[must_use]
    pub fn of(&self, reason: Undecoded) -> u64 {
        match reason {
            Undecoded::UnknownLinkType(number) => {
                self.link_types.iter().find(|(known, _)| *known == number).map_or(0, |(_, frames)| *frames)
            }
            other => self.frames.get(other.entry().0).copied().unwrap_or(0),
        }
    }

    /// All frames counted here.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.frames.iter().sum()
    }

    /// The reasons that occurred, each unknown link type on its own.
    pub fn iter(&self) -> impl Iterator<Item = (Undecoded, u64)> + '_ {
        let fixed = Undecoded::ALL.into_iter().zip(self.frames);
        let fixed = fixed.filter(|(reason, frames)| *frames > 0 && !matches!(reason, Undecoded::UnknownLinkType(_)));
        let links = self.link_types.iter().map(|&(number, frames)| (Undecoded::UnknownLinkType(number), frames));
        fixed.chain(links)
    }
}

/// Frames per reason, told apart by the input that they are of: the records of a chunk may be of several.
#[derive(Debug, Clone, Default)]
pub struct CountsByInput {
    /// Those inputs that have any. A chunk's records are of few.
    inputs: Vec<(u16, ReasonCounts)>,
}

impl CountsByInput {
    /// Counts `frames` of `input`.
    pub fn add(&mut self, input: u16, reason: Undecoded, frames: u64) {
        if let Some(counts) = self.of(input) {
            counts.add(reason, frames);
        }
    }

    /// Counts one frame of `input`, of so many bytes on the wire.
    #[inline]
    pub fn add_frame(&mut self, input: u16, reason: Undecoded, bytes: u32) {
        if let Some(counts) = self.of(input) {
            counts.add(reason, 1);
            if let Some((look, port)) = reason.unread() {
                counts.unread.add(look, port, 1, u64::from(bytes));
            }
        }
    }

    fn of(&mut self, input: u16) -> Option<&mut ReasonCounts> {
        let index = self.inputs.iter().position(|(known, _)| *known == input);
        if index.is_none() {
            self.inputs.push((input, ReasonCounts::default()));
        }
        let last = self.inputs.len().saturating_sub(1);
        self.inputs.get_mut(index.unwrap_or(last)).map(|(_, counts)| counts)
    }

    /// Forgets all, keeping its allocation.
    pub fn clear(&mut self) {
        self.inputs.clear();
    }

    /// Each input that has any, with its counts.
    pub fn iter(&self) -> impl Iterator<Item = (u16, &ReasonCounts)> {
        self.inputs.iter().map(|(input, counts)| (*input, counts))
    }

    /// Those of all inputs together.
    #[must_use]
    pub fn together(&self) -> ReasonCounts {
        let mut all = ReasonCounts::default();
        self.inputs.iter().for_each(|(_, counts)| all.merge(counts));
        all
    }
}
