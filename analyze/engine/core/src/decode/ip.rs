//! IPv4 (RFC 791) with options, IPv6 (RFC 8200) with extension headers and jumbo payloads (RFC 2675).
//!
//! An IP length of 0 stands for "as long as the frame": segmentation offload leaves it so where the segment does not
//! fit the field (TSO, BIG TCP).
//!
//! Rule: docs/methods.md, "Length".

use crate::decode::ip_header::{Address6, Addresses, Datagram, Fragment, IpHeader, Readdressed};
use crate::decode::layer::Layer;
use crate::decode::numbers::protocol;
use crate::decode::reason::Undecoded;
use crate::decode::routing::{self, Destination};
use crate::decode::view::{HeaderPart, View};

/// Extension headers that are followed in one IPv6 header; RFC 8200 section 4.1 expects at most 7.
const MAXIMUM_EXTENSIONS: usize = 16;

/// Fixed length of an IPv6 header, bytes.
const IPV6_LENGTH: usize = 40;

/// Jumbo payload option (RFC 2675 section 2).
const JUMBO_PAYLOAD: u8 = 0xc2;

/// Reads an IP header of either version and leaves `view` at the payload.
pub(super) fn read<'a>(view: &mut View<'a>) -> Result<Datagram<'a>, Undecoded> {
    match view.head::<1>(HeaderPart::Ip)?[0] >> 4 {
        4 => v4(view),
        6 => v6(view),
        _ => Err(Undecoded::BadIpHeader),
    }
}

/// True if the bytes look like an IP header, for protocols that do not say what they carry.
pub(super) fn plausible(view: &View<'_>) -> bool {
    match view.byte(0).map(|byte| byte >> 4) {
        Some(4) => {
            let length = view.u16(2).unwrap_or(0);
            view.byte(0).is_some_and(|byte| byte & 15 >= 5)
                && u32::from(length) <= view.wire
                && (length == 0 || length >= 20)
        }
        Some(6) => view.u16(4).is_some_and(|length| u32::from(length) + 40 <= view.wire),
        _ => false,
    }
}

fn v4<'a>(view: &mut View<'a>) -> Result<Datagram<'a>, Undecoded> {
    let whole = *view;
    let fixed = view.head::<20>(HeaderPart::Ip)?;
    let [first, _, l0, l1, i0, i1, f0, f1, ttl, protocol, _, _, addresses @ ..] = fixed;
    let header_length = u16::from(first & 15) * 4;
    let length = u32::from(u16::from_be_bytes([*l0, *l1]));
    if length != 0 {
        view.declare(length);
    }
    if header_length < 20 || view.wire < u32::from(header_length) {
        return Err(Undecoded::BadIpHeader);
    }
    view.skip(usize::from(header_length), HeaderPart::Ip)?;

    let identification = u16::from_be_bytes([*i0, *i1]);
    let fragment_field = u16::from_be_bytes([*f0, *f1]);
    // More fragments, or an offset other than 0 (RFC 791 section 3.1).
    if fragment_field & 0x3fff != 0 {
        return Fragment {
            header: whole.data.get(..usize::from(header_length)).unwrap_or_default(),
            next_header_at: 9,
            addresses: Addresses::V4(addresses),
            protocol: *protocol,
            identification: u32::from(identification),
            start: u32::from(fragment_field & 0x1fff) * 8,
            more: fragment_field & 0x2000 != 0,
            payload: *view,
        }
        .wanted();
    }
    let address_offset = whole.offset.wrapping_add(12);
    let header = IpHeader {
        addresses: Addresses::V4(addresses),
        address_offset,
        identification,
        header_length,
        ttl: *ttl,
        hides_destination: false,
    };
    Ok(Datagram::Whole(header, *protocol))
}

fn v6<'a>(view: &mut View<'a>) -> Result<Datagram<'a>, Undecoded> {
    let whole = *view;
    let fixed = view.take::<IPV6_LENGTH>(HeaderPart::Ip)?;
    let [_, _, _, _, l0, l1, next, hop_limit, addresses @ ..] = fixed;
    let missing = || Undecoded::CutIpHeader;
    let source = addresses.first_chunk().ok_or_else(missing)?;
    let destination = addresses.last_chunk().ok_or_else(missing)?;
    match u16::from_be_bytes([*l0, *l1]) {
        // As long as the frame, or as the jumbo payload option says.
        0 => {}
        length => view.declare(u32::from(length)),
    }
    let mut header = IpHeader {
        addresses: Addresses::V6(source, destination),
        address_offset: whole.offset.wrapping_add(8),
        identification: 0,
        header_length: IPV6_LENGTH as u16,
        ttl: *hop_limit,
        hides_destination: false,
    };
    let may_be_jumbo = [*l0, *l1] == [0, 0];
    let mut extensions = Extensions {
        next: *next,
        next_at: 6,
        length: IPV6_LENGTH,
        may_be_jumbo,
        home: None,
        destination: Destination::Reached,
    };
    for _ in 0..MAXIMUM_EXTENSIONS {
        let kind = extensions.next;
        if kind == protocol::FRAGMENT {
            let &[next, _, o0, o1, _, _, i0, i1] = view.head::<8>(HeaderPart::Ip)?;
            let offset = u16::from_be_bytes([o0, o1]);
            header.identification = u16::from_be_bytes([i0, i1]);
            if offset & 0xfff9 != 0 {
                return extensions.fragment(view, &whole, header.addresses, next);
            }
        }
        if !extensions.follow(view, kind, destination)? {
            if let Some(ends) = extensions.other_ends([source, destination]) {
                let [source, destination] = ends;
                let address_offset = header.address_offset;
                return Ok(Datagram::Readdressed(Readdressed { address_offset, source, destination }));
            }
            header.hides_destination = extensions.destination == Destination::Hidden;
            // Bounded: 16 extensions of at most 2 KiB each.
            header.header_length = extensions.length as u16;
            return Ok(Datagram::Whole(header, kind));
        }
    }
    Err(Undecoded::BadIpHeader)
}

/// How far a chain of IPv6 extension headers has been followed.
struct Extensions {
    next: u8,
    /// Where `next` stands, from the start of the IPv6 header.
    next_at: usize,
    /// IPv6 header and extension headers so far, bytes.
    length: usize,
    /// The payload length field is 0, and no header has been followed.
    may_be_jumbo: bool,
    /// Stands for the source.
    home: Option<Address6>,
    destination: Destination,
}

impl Extensions {
    /// Steps over an extension header; `false` if `kind` is none.
    fn follow(&mut self, view: &mut View<'_>, kind: u8, current: &Address6) -> Result<bool, Undecoded> {
        let &[next, units] = match kind {
            protocol::HOP_BY_HOP | protocol::ROUTING | protocol::DESTINATION => view.head::<2>(HeaderPart::Ip)?,
            protocol::FRAGMENT | protocol::AUTHENTICATION => view.head::<2>(HeaderPart::Ip)?,
            _ => return Ok(false),
        };
        let length = match kind {
            protocol::FRAGMENT => 8,
            // In 4-byte units, minus 2 (RFC 4302 section 2.2).
            protocol::AUTHENTICATION => (usize::from(units) + 2) * 4,
            // In 8-byte units, not counting the first (RFC 8200 section 4.3).
            _ => (usize::from(units) + 1) * 8,
        };
        if kind == protocol::HOP_BY_HOP
            && self.may_be_jumbo
            && let Some(jumbo) = view.data.get(2..length).and_then(|options| routing::option(options, JUMBO_PAYLOAD))
        {
            view.declare(u32::from_be_bytes(*jumbo));
        }
        let header = view.data.get(..length).unwrap_or_default();
        match kind {
            protocol::ROUTING => self.destination = routing::destination(header, current),
            protocol::DESTINATION => self.home = header.get(2..).and_then(routing::home_address).or(self.home),
            _ => {}
        }
        view.skip(length, HeaderPart::Ip)?;
        (self.next, self.next_at, self.may_be_jumbo) = (next, self.length, false);
        self.length += length;
        Ok(true)
    }

    /// The hosts that the packet goes between, if they are not those of its header.
    fn other_ends(&self, [source, destination]: [&Address6; 2]) -> Option<[Address6; 2]> {
        let from = self.home.unwrap_or(*source);
        let to = match self.destination {
            Destination::Final(address) => address,
            Destination::Reached | Destination::Hidden => *destination,
        };
        ([&from, &to] != [source, destination]).then_some([from, to])
    }

    /// The fragment whose header `view` is at.
    fn fragment<'a>(
        &self,
        view: &mut View<'a>,
        whole: &View<'a>,
        addresses: Addresses<'a>,
        next: u8,
    ) -> Result<Datagram<'a>, Undecoded> {
        let &[_, _, o0, o1, i0, i1, i2, i3] = view.take::<8>(HeaderPart::Ip)?;
        let offset = u16::from_be_bytes([o0, o1]);
        Fragment {
            header: whole.data.get(..self.length).unwrap_or_default(),
            next_header_at: self.next_at,
            addresses,
            protocol: next,
            identification: u32::from_be_bytes([i0, i1, i2, i3]),
            start: u32::from(offset & 0xfff8),
            more: offset & 1 != 0,
            payload: *view,
        }
        .wanted()
    }
}

/// Steps over an authentication header of IPv4 (RFC 4302) and returns the protocol it covers.
pub(super) fn authentication(view: &mut View<'_>) -> Result<Layer, Undecoded> {
    let &[next, units] = view.head::<2>(HeaderPart::Ip)?;
    view.skip((usize::from(units) + 2) * 4, HeaderPart::Ip)?;
    Ok(Layer::Protocol(next))
}
