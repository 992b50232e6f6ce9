//! The TCP header (RFC 9293 section 3.1) to a [`Packet`].

use crate::decode::ip_header::{Addresses, IpHeader};
use crate::decode::reason::Undecoded;
use crate::decode::view::{HeaderPart, View};
use crate::decode::{hash, options};
use crate::packet::{Packet, option_bits};

/// Header length without options, bytes.
const FIXED_LENGTH: u32 = 20;

/// Bytes up to the end of the window field: the least from which a segment is still worth having.
const LEAST_CAPTURED: usize = 16;

/// Longest payload that is believed, bytes: half of what a window can hold (RFC 7323 section 2.3), far beyond any
/// segment, and small enough that lengths can be added without care.
const LONGEST_PAYLOAD: u32 = 1 << 29;

/// Reads the segment of an IP datagram; all but the record's own fields are set.
pub(super) fn read(view: &View<'_>, ip: &IpHeader<'_>) -> Result<Packet, Undecoded> {
    if view.wire < FIXED_LENGTH {
        return Err(Undecoded::BadTcpHeader);
    }
    let fixed = view.head::<LEAST_CAPTURED>(HeaderPart::Tcp)?;
    let [p0, p1, p2, p3, s0, s1, s2, s3, a0, a1, a2, a3, offset, flags, w0, w1] = *fixed;
    let header_length = u32::from(offset >> 4) * 4;
    let payload_length = view.wire.wrapping_sub(header_length);
    if header_length < FIXED_LENGTH || header_length > view.wire || payload_length > LONGEST_PAYLOAD {
        return Err(Undecoded::BadTcpHeader);
    }
    // Both are at most 60.
    let captured_header = (header_length as usize).min(view.data.len());
    let captured_options = view.data.get(FIXED_LENGTH as usize..captured_header).unwrap_or_default();
    let mut noted = options::note(captured_options, (header_length - FIXED_LENGTH) as usize);
    if captured_header < FIXED_LENGTH as usize && header_length > FIXED_LENGTH {
        noted.bits |= option_bits::CUT;
    }
    if ip.hides_destination {
        noted.bits |= option_bits::HIDDEN_DESTINATION;
    }
    let ports = u32::from_be_bytes([p0, p1, p2, p3]);
    let (address_key, flow_hash) = flow(&ip.addresses, ports);
    Ok(Packet {
        address_key,
        flow_hash,
        ports,
        sequence: u32::from_be_bytes([s0, s1, s2, s3]),
        acknowledgement: u32::from_be_bytes([a0, a1, a2, a3]),
        tsval: noted.tsval,
        tsecr: noted.tsecr,
        payload_length,
        payload_offset: view.offset.wrapping_add(captured_header as u32),
        payload_captured: (view.data.len() - captured_header) as u32,
        address_offset: ip.address_offset,
        options_offset: view.offset.wrapping_add(captured_header.min(FIXED_LENGTH as usize) as u32),
        window: u16::from_be_bytes([w0, w1]),
        ip_id: ip.identification,
        checksum: view.u16(16).unwrap_or(0),
        flags: u16::from(offset & 1) << 8 | u16::from(flags),
        ip_header_length: ip.header_length,
        options_captured: captured_options.len() as u8,
        tcp_header_length: header_length as u8,
        ttl: ip.ttl,
        ip_version: ip.addresses.version(),
        options: noted.bits,
        ..Packet::default()
    })
}

fn flow(addresses: &Addresses<'_>, ports: u32) -> (u64, u32) {
    match *addresses {
        Addresses::V4(both) => {
            let key = u64::from_be_bytes(*both);
            (key, hash::flow_v4(key, ports))
        }
        Addresses::V6(source, destination) => hash::flow_v6(source, destination, ports),
    }
}
