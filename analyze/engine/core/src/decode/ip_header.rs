//! What the decoder keeps of an IP header, and of a fragment until its datagram is complete.

use crate::decode::numbers;
use crate::decode::numbers::protocol;
use crate::decode::reason::Undecoded;
use crate::decode::view::View;

/// Greatest length of an IP datagram, bytes.
pub(crate) const LONGEST_DATAGRAM: u32 = 65535;

/// Of IPv6.
pub(super) type Address6 = [u8; 16];

/// Source and destination.
#[derive(Debug, Clone, Copy)]
pub(super) enum Addresses<'a> {
    V4(&'a [u8; 8]),
    V6(&'a Address6, &'a Address6),
}

impl Addresses<'_> {
    pub(super) fn version(&self) -> u8 {
        match self {
            Self::V4(_) => 4,
            Self::V6(..) => 6,
        }
    }
}

/// What the segment's packet takes from the IP header.
#[derive(Debug, Clone, Copy)]
pub(super) struct IpHeader<'a> {
    pub(super) addresses: Addresses<'a>,
    /// Where the source address stands in the chunk's bytes.
    pub(super) address_offset: u32,
    /// Low 16 bits for IPv6 fragments, 0 for other IPv6.
    pub(super) identification: u16,
    /// With options and extension headers, bytes.
    pub(super) header_length: u16,
    pub(super) ttl: u8,
    /// A routing header that cannot be read says where the packet goes.
    pub(super) hides_destination: bool,
}

/// An IP datagram, or a part of one.
pub(super) enum Datagram<'a> {
    /// With the protocol of its payload.
    Whole(IpHeader<'a>, u8),
    Fragment(Fragment<'a>),
    /// One to be read again with other addresses.
    Readdressed(Readdressed),
}

/// One fragment as its IP header describes it.
#[derive(Debug, Clone)]
pub(super) struct Fragment<'a> {
    /// IP header of the datagram, without the fragment extension header.
    pub(super) header: &'a [u8],
    /// Where in `header` the payload's protocol has to stand.
    pub(super) next_header_at: usize,
    pub(super) addresses: Addresses<'a>,
    /// Protocol of the datagram's payload.
    pub(super) protocol: u8,
    pub(super) identification: u32,
    /// Where in the datagram's payload the fragment starts, bytes.
    pub(super) start: u32,
    /// More fragments follow.
    pub(super) more: bool,
    pub(super) payload: View<'a>,
}

impl<'a> Fragment<'a> {
    /// The fragment, if its header is sound and its datagram may hold a TCP segment.
    pub(super) fn wanted(self) -> Result<Datagram<'a>, Undecoded> {
        let length = self.payload.wire;
        // All but the last are multiples of eight bytes long (RFC 791 section 3.2).
        let unsound = length == 0
            || (self.more && !length.is_multiple_of(8))
            || self.start + length.min(1 << 16) > LONGEST_DATAGRAM;
        if self.protocol == protocol::ESP {
            Err(Undecoded::EncryptedIpsec)
        } else if !numbers::leads_to_tcp(self.protocol) {
            Err(Undecoded::NotTcp)
        } else if unsound {
            Err(Undecoded::BadIpHeader)
        } else {
            Ok(Datagram::Fragment(self))
        }
    }

    pub(crate) fn end(&self) -> u32 {
        self.start.saturating_add(self.payload.wire)
    }

    pub(crate) fn key(&self, input: u16) -> FragmentKey {
        let mut addresses = [0; 32];
        let (source, destination): (&[u8], &[u8]) = match self.addresses {
            Addresses::V4(both) => (both, &[]),
            Addresses::V6(source, destination) => (source, destination),
        };
        for (to, from) in addresses.iter_mut().zip(source.iter().chain(destination)) {
            *to = *from;
        }
        // IPv6 tells datagrams apart by addresses and identification alone (RFC 8200 section 4.5).
        let protocol = if self.addresses.version() == 4 { self.protocol } else { 0 };
        FragmentKey {
            addresses,
            identification: self.identification,
            input,
            protocol,
            version: self.addresses.version(),
        }
    }
}

/// What the fragments of one datagram have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FragmentKey {
    addresses: [u8; 32],
    identification: u32,
    pub(crate) input: u16,
    protocol: u8,
    pub(crate) version: u8,
}

/// Other addresses for a header than it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Readdressed {
    /// Where the source stands in the chunk's bytes; the destination follows.
    pub(super) address_offset: u32,
    pub(super) source: Address6,
    pub(super) destination: Address6,
}

impl Readdressed {
    /// Writes them.
    pub(super) fn write(&self, bytes: &mut [u8]) {
        let room = bytes.get_mut(self.address_offset as usize..).and_then(<[u8]>::first_chunk_mut::<32>);
        if let Some(room) = room {
            room[..16].copy_from_slice(&self.source);
            room[16..].copy_from_slice(&self.destination);
        }
    }
}
