//! Frames of tunnels and link layers that are not read: what they look like, how many there were, of which ports.

use std::borrow::Cow;

/// What an unread frame looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Look {
    /// VXLAN, with or without its extension, that was cut before the packet inside proves it. The same holds for the next four.
    Vxlan,
    /// GENEVE.
    Geneve,
    /// An IP packet directly in UDP.
    Ip,
    /// Generic UDP encapsulation.
    Gue,
    /// GRE in UDP.
    Gre,
    /// WireGuard.
    WireGuard,
    /// IPsec ESP, in UDP or alone.
    Esp,
    /// OpenVPN.
    OpenVpn,
    /// DTLS around CAPWAP.
    Dtls,
    /// MACsec with encryption.
    Macsec,
    /// A link type that is not read.
    LinkType(u16),
}

impl Look {
    /// Name in JSON.
    #[must_use]
    pub fn name(self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Vxlan => "vxlan",
            Self::Geneve => "geneve",
            Self::Ip => "ip_in_udp",
            Self::Gue => "gue",
            Self::Gre => "gre_in_udp",
            Self::WireGuard => "wireguard",
            Self::Esp => "esp",
            Self::OpenVpn => "openvpn",
            Self::Dtls => "capwap_dtls",
            Self::Macsec => "macsec",
            Self::LinkType(number) => return Cow::Owned(format!("link_type_{number}")),
        })
    }
}

/// Ports that are listed of one look.
const MOST_PORTS: usize = 16;

/// Looks that are listed: there are few, but files may have many link types.
const MOST_LOOKS: usize = 64;

/// Frames of one look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// What they look like.
    pub look: Look,
    /// How many.
    pub packets: u64,
    /// Their length on the wire.
    pub bytes: u64,
    /// Destination ports, the first sixteen.
    pub ports: Vec<u16>,
}

/// Unread frames by look, in order of appearance.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnreadFrames(Vec<Unread>);

impl UnreadFrames {
    /// Adds frames.
    pub fn add(&mut self, look: Look, port: Option<u16>, packets: u64, bytes: u64) {
        let index = self.0.iter().position(|known| known.look == look).unwrap_or(self.0.len());
        if index == self.0.len() && index < MOST_LOOKS {
            self.0.push(Unread { look, packets: 0, bytes: 0, ports: Vec::new() });
        }
        if let Some(entry) = self.0.get_mut(index) {
            entry.packets += packets;
            entry.bytes += bytes;
            if let Some(port) = port
                && entry.ports.len() < MOST_PORTS
                && !entry.ports.contains(&port)
            {
                entry.ports.push(port);
            }
        }
    }

    /// Adds those of another part of the input.
    pub fn merge(&mut self, other: &Self) {
        for entry in &other.0 {
            self.add(entry.look, None, entry.packets, entry.bytes);
            entry.ports.iter().for_each(|&port| self.add(entry.look, Some(port), 0, 0));
        }
    }

    /// Each look.
    pub fn iter(&self) -> impl Iterator<Item = &Unread> {
        self.0.iter()
    }
}
