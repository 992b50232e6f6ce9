//! A frame without a TCP segment: what it is, and where its addresses and its payload stand. Whatever is beyond TCP (names,
//! datagrams, echoes, neighbours) is read from this, so that no frame is walked through twice.

use std::net::IpAddr;

use crate::decode::ip_header::{Addresses, IpHeader};
use crate::decode::numbers::protocol;
use crate::decode::reason::Undecoded;
use crate::decode::view::View;

/// What such a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherKind {
    /// A packet of this IP protocol.
    Ip(u8),
    /// A frame of this EtherType, which is not IP's.
    EtherType(u16),
    /// It could not be read; the reason says why.
    Unread,
}

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Other {
    /// What it is.
    pub kind: OtherKind,
    /// Why it gave no TCP segment.
    pub reason: Undecoded,
    /// It was found in a tunnel.
    pub(crate) is_tunnelled: bool,
    /// IP version of the addresses; 0 where there are none.
    version: u8,
    /// Where the source address stands in the chunk's bytes.
    address_offset: u32,
    payload_offset: u32,
    payload_captured: u32,
    /// Payload of the layer, bytes on the wire: for UDP with its header.
    pub payload_length: u32,
}

impl Other {
    pub(super) fn unread(reason: Undecoded) -> Self {
        Self {
            kind: OtherKind::Unread,
            reason,
            is_tunnelled: false,
            version: 0,
            address_offset: 0,
            payload_offset: 0,
            payload_captured: 0,
            payload_length: 0,
        }
    }

    pub(super) fn frame(view: &View<'_>, ether_type: u16) -> Self {
        Self { kind: OtherKind::EtherType(ether_type), ..Self::unread(Undecoded::NotIp) }.behind(view)
    }

    pub(super) fn packet(view: &View<'_>, header: &IpHeader<'_>, number: u8, reason: Undecoded) -> Self {
        let version = match header.addresses {
            Addresses::V4(_) => 4,
            Addresses::V6(..) => 6,
        };
        let address_offset = header.address_offset;
        Self { kind: OtherKind::Ip(number), version, address_offset, ..Self::unread(reason) }.behind(view)
    }

    /// The same, found in a tunnel or not.
    pub(crate) fn tunnelled(self, is_tunnelled: bool) -> Self {
        Self { is_tunnelled, ..self }
    }

    fn behind(self, view: &View<'_>) -> Self {
        let (payload_offset, payload_captured) = (view.offset, view.data.len() as u32);
        Self { payload_offset, payload_captured, payload_length: view.wire, ..self }
    }

    /// One that was written down elsewhere: where its addresses (of this IP version, or 0) and what was captured of its payload stand now.
    pub(crate) fn placed(
        kind: OtherKind,
        version: u8,
        address_offset: u32,
        payload: std::ops::Range<u32>,
        length: u32,
    ) -> Self {
        let (payload_offset, payload_captured) = (payload.start, payload.end.saturating_sub(payload.start));
        let nothing = Self::unread(Undecoded::NotTcp);
        Self { kind, version, address_offset, payload_offset, payload_captured, payload_length: length, ..nothing }
    }

    /// Source and destination as they stand in the packet, and the IP version; nothing and 0 where there are none.
    pub(crate) fn address_bytes<'a>(&self, bytes: &'a [u8]) -> (&'a [u8], u8) {
        let length = match self.version {
            4 => 8,
            6 => 32,
            _ => 0,
        };
        match bytes.get(self.address_offset as usize..).and_then(|rest| rest.get(..length)) {
            Some(found) if length > 0 => (found, self.version),
            _ => (&[], 0),
        }
    }

    /// What was captured of the payload.
    #[inline]
    #[must_use]
    pub fn payload<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        let rest = bytes.get(self.payload_offset as usize..).unwrap_or_default();
        rest.get(..self.payload_captured as usize).unwrap_or(rest)
    }

    /// Source and destination, each as IPv6 has them (an IPv4 address as the mapped one), and the version.
    #[inline]
    #[must_use]
    pub fn ends(&self, bytes: &[u8]) -> Option<([u128; 2], u8)> {
        let both = bytes.get(self.address_offset as usize..)?;
        let ends = match self.version {
            4 => {
                let mapped = |at: usize| {
                    let octets = both.get(at..).and_then(<[u8]>::first_chunk)?;
                    Some(0xffff_0000_0000 | u128::from(u32::from_be_bytes(*octets)))
                };
                [mapped(0)?, mapped(4)?]
            }
            6 => {
                let plain = |at: usize| Some(u128::from_be_bytes(*both.get(at..).and_then(<[u8]>::first_chunk)?));
                [plain(0)?, plain(16)?]
            }
            _ => return None,
        };
        Some((ends, self.version))
    }

    /// Source and destination.
    #[must_use]
    pub fn addresses(&self, bytes: &[u8]) -> Option<[IpAddr; 2]> {
        let (ends, version) = self.ends(bytes)?;
        Some(ends.map(|end| address(end, version)))
    }

    /// The UDP datagram that it is.
    #[inline]
    #[must_use]
    pub fn udp<'a>(&self, bytes: &'a [u8]) -> Option<Udp<'a>> {
        const HEADER_BYTES: u32 = 8;
        if self.kind != OtherKind::Ip(protocol::UDP) {
            return None;
        }
        let payload = self.payload(bytes);
        let &[s0, s1, d0, d1, l0, l1, ..] = payload.first_chunk::<8>()?;
        let said = u32::from(u16::from_be_bytes([l0, l1]));
        // Segmentation offload leaves 0, or more than fits.
        let length = if (HEADER_BYTES..=self.payload_length).contains(&said) { said } else { self.payload_length };
        let data = payload.get(HEADER_BYTES as usize..payload.len().min(length as usize)).unwrap_or_default();
        let ports = [u16::from_be_bytes([s0, s1]), u16::from_be_bytes([d0, d1])];
        Some(Udp { ports, data, length: length.saturating_sub(HEADER_BYTES) })
    }
}

/// The address of one of [`Other::ends`].
#[must_use]
pub fn address(end: u128, version: u8) -> IpAddr {
    if version == 4 { IpAddr::from((end as u32).to_be_bytes()) } else { IpAddr::from(end.to_be_bytes()) }
}

/// An address as one of [`Other::ends`].
#[must_use]
pub fn end(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => 0xffff_0000_0000 | u128::from(u32::from(address)),
        IpAddr::V6(address) => address.into(),
    }
}

/// A UDP datagram (RFC 768).
#[derive(Debug, Clone, Copy)]
pub struct Udp<'a> {
    /// Source and destination.
    pub ports: [u16; 2],
    /// What was captured of its payload.
    pub data: &'a [u8],
    /// Bytes of payload on the wire.
    pub length: u32,
}

impl Udp<'_> {
    /// The snap length cut it.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.data.len() < self.length as usize
    }
}
