//! Frames with every field at a place that is known beforehand: a link header with nothing between it and IPv4, IPv4
//! without options or fragmentation, TCP with no options or with timestamps alone in the layout that nearly every stack
//! uses (RFC 7323 appendix A). Most packets of most captures are such.
//!
//! One comparison of lengths covers all fields, and nothing is sliced: half the instructions of [`crate::decode::fast`], which
//! takes every other frame, as the walk takes what that leaves. The test that holds both to the walk's answers goes through
//! here, too.

use crate::decode::hash;
use crate::decode::numbers::{ether_type, protocol};
use crate::packet::{Packet, option_bits};
use crate::read::record::Record;

/// Bytes of an Ethernet header without tags.
pub(super) const ETHERNET: usize = 14;

/// IPv4 and TCP headers without options, bytes.
const HEADERS: usize = 40;

/// Timestamps with the two paddings before them, bytes.
const TIMESTAMPS: usize = 12;

/// No operation twice, kind and length of the timestamps option.
const TIMESTAMPS_BEGIN: u32 = 0x0101_080a;

/// The packet of a frame whose link header of `LINK` bytes ends with an EtherType (in Linux cooked v2 it begins with it).
#[inline(always)]
pub(super) fn packet<const LINK: usize>(frame: &[u8], record: &Record, packet: &mut Packet) -> Option<()> {
    match frame.get(LINK + 32)? >> 4 {
        // By far the commonest.
        8 if LINK == ETHERNET => segment::<LINK, TIMESTAMPS>(frame, record, packet),
        8 => segment_apart::<LINK, TIMESTAMPS>(frame, record, packet),
        5 => segment_apart::<LINK, 0>(frame, record, packet),
        _ => None,
    }
}

// Apart for each kind of frame: merged into one, they would pass all fields through the stack.
#[inline(never)]
fn segment_apart<const LINK: usize, const OPTIONS: usize>(
    frame: &[u8],
    record: &Record,
    packet: &mut Packet,
) -> Option<()> {
    segment::<LINK, OPTIONS>(frame, record, packet)
}

#[inline(always)]
fn segment<const LINK: usize, const OPTIONS: usize>(frame: &[u8], record: &Record, packet: &mut Packet) -> Option<()> {
    let headers = frame.get(..LINK + HEADERS + OPTIONS)?;
    let (ip, tcp) = (LINK, LINK + 20);
    let kind = u16_at(headers, if LINK == 20 { 0 } else { LINK - 2 });
    let total_length = u32::from(u16_at(headers, ip + 2));
    let headers_length = (HEADERS + OPTIONS) as u32;
    if kind != ether_type::IPV4
        || headers[ip] != 0x45
        || headers[ip + 9] != protocol::TCP
        || u16_at(headers, ip + 6) & 0x3fff != 0
        || total_length < headers_length
        || record.fcs_length != 0
        || (OPTIONS > 0 && u32_at(headers, tcp + 20) != TIMESTAMPS_BEGIN)
    {
        return None;
    }
    let port_pair = u32_at(headers, tcp);
    let address_pair = u64::from(u32_at(headers, ip + 12)) << 32 | u64::from(u32_at(headers, ip + 16));
    let at = |place: usize| record.offset.wrapping_add(place as u32);
    let captured_length = (frame.len() - LINK) as u32;
    // Field by field, each read right before it is written: read all at once they would pass through the stack.
    let Packet {
        time_ns,
        address_key,
        flow_hash,
        ports,
        sequence,
        acknowledgement,
        tsval,
        tsecr,
        payload_length,
        payload_offset,
        payload_captured,
        wire_length,
        address_offset,
        options_offset,
        frame,
        window,
        ip_id,
        checksum,
        flags,
        ip_header_length,
        input,
        options_captured,
        tcp_header_length,
        ttl,
        ip_version,
        options,
    } = packet;
    *time_ns = record.time_ns;
    *address_key = address_pair;
    *flow_hash = hash::flow_v4(address_pair, port_pair);
    *ports = port_pair;
    *sequence = u32_at(headers, tcp + 4);
    *acknowledgement = u32_at(headers, tcp + 8);
    *tsval = if OPTIONS > 0 { u32_at(headers, tcp + 24) } else { 0 };
    *tsecr = if OPTIONS > 0 { u32_at(headers, tcp + 28) } else { 0 };
    *payload_length = total_length - headers_length;
    *payload_offset = at(tcp + 20 + OPTIONS);
    *payload_captured = captured_length.min(total_length) - headers_length;
    *wire_length = record.original_length.max(record.captured_length);
    *address_offset = at(ip + 12);
    *options_offset = at(tcp + 20);
    *frame = record.frame;
    *window = u16_at(headers, tcp + 14);
    *ip_id = u16_at(headers, ip + 4);
    *checksum = u16_at(headers, tcp + 16);
    *flags = u16_at(headers, tcp + 12) & 0x01ff;
    *ip_header_length = 20;
    *input = record.input;
    *options_captured = OPTIONS as u8;
    *tcp_header_length = (20 + OPTIONS) as u8;
    *ttl = headers[ip + 8];
    *ip_version = 4;
    *options = if OPTIONS > 0 { option_bits::TIMESTAMPS } else { 0 };
    Some(())
}

/// Big-endian number; `at` is a constant within `headers`, so that neither check nor zero is left of it.
#[inline(always)]
fn u16_at(headers: &[u8], at: usize) -> u16 {
    headers.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u16::from_be_bytes(*bytes))
}

/// As [`u16_at`].
#[inline(always)]
fn u32_at(headers: &[u8], at: usize) -> u32 {
    headers.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u32::from_be_bytes(*bytes))
}
