//! Headers that capture programs and adapters put before the link layer's own: PKTAP, PPI, IP over InfiniBand, ARCnet.

use crate::decode::layer::Layer;
use crate::decode::reason::Undecoded;
use crate::decode::view::{HeaderPart, View};
use crate::link_type;

/// PKTAP of macOS: its length and the link type of what follows, in the byte order of the capturing machine.
pub(super) fn pktap(view: &mut View<'_>) -> Result<Layer, Undecoded> {
    let &[l0, l1, l2, l3, .., t0, t1, t2, t3] = view.head::<12>(HeaderPart::Link)?;
    let (length, kind) = ([l0, l1, l2, l3], [t0, t1, t2, t3]);
    // The length is small, so that its byte order shows.
    let little = u32::from_le_bytes(length) < u32::from_be_bytes(length);
    let number = |bytes| if little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) };
    enclosed(view, number(length), 12, number(kind))
}

/// PPI's field of IEEE 802.11: type, and where its flags stand behind the field's header.
const PPI_WIFI: u16 = 2;

const PPI_WIFI_FLAGS_AT: usize = 8;

/// A frame check sequence is at the frame's end.
const PPI_HAS_CHECK: u16 = 1;

/// Per-Packet Information: little-endian version, flags, length, link type; then fields.
pub(super) fn ppi(view: &mut View<'_>) -> Result<Layer, Undecoded> {
    let &[version, _, l0, l1, t0, t1, t2, t3] = view.head::<8>(HeaderPart::Link)?;
    if version != 0 {
        return Err(Undecoded::BadLinkHeader);
    }
    let length = u16::from_le_bytes([l0, l1]);
    let mut fields = view.data.get(8..usize::from(length)).unwrap_or_default();
    let mut has_check = false;
    while let [k0, k1, n0, n1, rest @ ..] = fields {
        if u16::from_le_bytes([*k0, *k1]) == PPI_WIFI {
            let flags = rest.get(PPI_WIFI_FLAGS_AT..).and_then(|flags| flags.first_chunk());
            has_check = flags.is_some_and(|flags| u16::from_le_bytes(*flags) & PPI_HAS_CHECK != 0);
        }
        fields = rest.get(usize::from(u16::from_le_bytes([*n0, *n1]))..).unwrap_or_default();
    }
    if has_check {
        view.drop_tail(4);
    }
    enclosed(view, u32::from(length), 8, u32::from_le_bytes([t0, t1, t2, t3]))
}

/// Steps over a header that names its length, of at least `least` bytes, and the link type behind it.
fn enclosed(view: &mut View<'_>, length: u32, least: u32, kind: u32) -> Result<Layer, Undecoded> {
    if length < least {
        return Err(Undecoded::BadLinkHeader);
    }
    view.skip(length as usize, HeaderPart::Link)?;
    match u16::try_from(kind) {
        Ok(link_type::PKTAP | link_type::PPI) | Err(_) => Err(Undecoded::BadLinkHeader),
        Ok(number) => Ok(Layer::Link(number)),
    }
}

/// IP over InfiniBand (RFC 4391): a global route header, then the EtherType and two bytes that are reserved.
pub(super) fn infiniband(view: &mut View<'_>) -> Result<Layer, Undecoded> {
    let &[.., t0, t1, _, _] = view.take::<44>(HeaderPart::Link)?;
    Ok(Layer::EtherType(u16::from_be_bytes([t0, t1])))
}

/// ARCnet (RFC 1201, RFC 1051): two addresses, on Linux two bytes of offset, and the protocol.
pub(super) fn arcnet(view: &mut View<'_>, before_protocol: usize) -> Result<Layer, Undecoded> {
    view.skip(before_protocol, HeaderPart::Link)?;
    match view.take::<1>(HeaderPart::Link)?[0] {
        // RFC 1051: nothing but the packet.
        240 => Ok(Layer::Ip),
        212 | 196 => {
            let &[split, ..] = view.head::<3>(HeaderPart::Link)?;
            // An exception packet begins anew behind its filling.
            let header = if split == 0xff { 6 } else { 3 };
            view.skip(header, HeaderPart::Link)?;
            // Of a packet in several frames only the first has headers: it is marked by an odd number.
            if split == 0 || split & 1 == 1 { Ok(Layer::Ip) } else { Err(Undecoded::NotIp) }
        }
        _ => Err(Undecoded::NotIp),
    }
}
