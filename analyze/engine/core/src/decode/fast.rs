//! Frames of the commonest shapes in one go: Ethernet (with up to two VLAN tags), Linux cooked or raw IP; IPv4 without
//! options or fragmentation, or IPv6 without extension headers; TCP.
//!
//! Of these the commonest have all fields at constant places, and are read by [`crate::decode::fixed`]. Of the others bounds are
//! checked twice (link header, then IP and TCP header together), and all fields then read from arrays of known length.
//! It takes a third of the time of the walk.
//!
//! Everything else is `None` and goes through [`crate::decode::walk`], which is the oracle for this file: a test holds both to
//! the same answer.

use crate::decode::numbers::{ether_type, protocol};
use crate::decode::{fixed, hash, options};
use crate::link_type;
use crate::packet::Packet;
use crate::read::record::Record;

/// TCP header without options, bytes.
const TCP_LENGTH: usize = 20;

/// Decodes the frame if it has one of the common shapes. The packet is written where it is to stay: moving a struct just
/// written field by field costs more than all the parsing, because the wide loads wait for the narrow stores.
#[inline(always)]
pub(super) fn packet(bytes: &[u8], record: &Record, packet: &mut Packet) -> Option<()> {
    let frame = bytes.get(record.offset as usize..)?.get(..record.captured_length as usize)?;
    // By far the commonest; the others are kept out of the loop over records.
    let found = if record.link_type == link_type::ETHERNET {
        fixed::packet::<{ fixed::ETHERNET }>(frame, record, packet)
    } else {
        cooked(frame, record, packet)
    };
    if found.is_some() { found } else { other(frame, record, packet) }
}

/// Frames of Linux cooked captures with all fields at constant places.
#[inline(never)]
fn cooked(frame: &[u8], record: &Record, packet: &mut Packet) -> Option<()> {
    match record.link_type {
        link_type::LINUX_SLL => fixed::packet::<16>(frame, record, packet),
        link_type::LINUX_SLL2 => fixed::packet::<20>(frame, record, packet),
        _ => None,
    }
}

/// Frames that [`fixed`] does not know.
#[inline(never)]
fn other(frame: &[u8], record: &Record, packet: &mut Packet) -> Option<()> {
    let (kind, header_length) = match record.link_type {
        link_type::ETHERNET => match u16_at::<12>(frame)? {
            ether_type::VLAN | ether_type::SERVICE_VLAN => tagged(frame)?,
            kind => (kind, 14),
        },
        link_type::LINUX_SLL => (u16_at::<14>(frame)?, 16),
        link_type::LINUX_SLL2 => (u16_at::<0>(frame)?, 20),
        link_type::RAW | link_type::IPV4 | link_type::IPV6 if frame.first()? >> 4 == 6 => (ether_type::IPV6, 0),
        link_type::RAW | link_type::IPV4 | link_type::IPV6 => (ether_type::IPV4, 0),
        _ => return None,
    };
    // Where the frame's last bytes are no payload, the walk takes them off.
    if record.fcs_length != 0 {
        return None;
    }
    let datagram =
        DatagramBytes { bytes: frame.get(header_length..)?, offset: record.offset.wrapping_add(header_length as u32) };
    match kind {
        ether_type::IPV4 => datagram.ipv4(record, packet),
        ether_type::IPV6 => datagram.ipv6(record, packet),
        _ => None,
    }
}

#[inline]
fn u16_at<const OFFSET: usize>(frame: &[u8]) -> Option<u16> {
    frame.get(OFFSET..)?.first_chunk().map(|bytes| u16::from_be_bytes(*bytes))
}

/// EtherType behind one or two VLAN tags, and where its payload starts.
#[inline]
fn tagged(frame: &[u8]) -> Option<(u16, usize)> {
    match u16_at::<16>(frame)? {
        ether_type::VLAN => u16_at::<20>(frame).map(|kind| (kind, 22)),
        kind => Some((kind, 18)),
    }
}

/// From the IP header to the end of the captured bytes.
struct DatagramBytes<'a> {
    bytes: &'a [u8],
    /// Where it starts in the chunk's bytes.
    offset: u32,
}

/// What the two IP versions have in different places.
struct Ip {
    header_length: usize,
    /// With the header.
    total_length: u32,
    address_offset: usize,
    identification: u16,
    ttl: u8,
    version: u8,
}

impl DatagramBytes<'_> {
    #[inline]
    fn ipv4(&self, record: &Record, packet: &mut Packet) -> Option<()> {
        let headers: &[u8; 20 + TCP_LENGTH] = self.bytes.first_chunk()?;
        let (ip, tcp) = (headers.first_chunk::<20>()?, headers.last_chunk()?);
        let fragment_field = u16::from_be_bytes([ip[6], ip[7]]);
        if ip[0] != 0x45 || ip[9] != protocol::TCP || fragment_field & 0x3fff != 0 {
            return None;
        }
        let addresses = u64::from_be_bytes(*ip.last_chunk()?);
        let ip = Ip {
            header_length: 20,
            total_length: u32::from(u16::from_be_bytes([ip[2], ip[3]])),
            address_offset: 12,
            identification: u16::from_be_bytes([ip[4], ip[5]]),
            ttl: ip[8],
            version: 4,
        };
        self.segment(record, packet, &ip, tcp, |ports| (addresses, hash::flow_v4(addresses, ports)))
    }

    #[inline(never)]
    fn ipv6(&self, record: &Record, packet: &mut Packet) -> Option<()> {
        let headers: &[u8; 40 + TCP_LENGTH] = self.bytes.first_chunk()?;
        let (ip, tcp) = (headers.first_chunk::<40>()?, headers.last_chunk()?);
        let payload_length = u16::from_be_bytes([ip[4], ip[5]]);
        if ip[0] >> 4 != 6 || ip[6] != protocol::TCP || payload_length == 0 {
            return None;
        }
        let (source, destination) = (ip.get(8..)?.first_chunk()?, ip.last_chunk()?);
        let ip = Ip {
            header_length: 40,
            total_length: 40 + u32::from(payload_length),
            address_offset: 8,
            identification: 0,
            ttl: ip[7],
            version: 6,
        };
        self.segment(record, packet, &ip, tcp, |ports| hash::flow_v6(source, destination, ports))
    }

    #[inline(always)]
    fn segment(
        &self,
        record: &Record,
        packet: &mut Packet,
        ip: &Ip,
        tcp: &[u8; TCP_LENGTH],
        flow: impl FnOnce(u32) -> (u64, u32),
    ) -> Option<()> {
        let header_length = u32::from(tcp[12] >> 4) * 4;
        let headers_length = ip.header_length as u32 + header_length;
        if header_length < 20 || ip.total_length < headers_length {
            return None;
        }
        let captured = self.bytes.get(..ip.total_length as usize).unwrap_or(self.bytes);
        let options_at = ip.header_length + TCP_LENGTH;
        let (options_captured, noted) = match captured.get(options_at..headers_length as usize) {
            Some(area) => (area.len(), options::note(area, area.len())),
            None => cut_options(captured.get(options_at..)?, header_length),
        };
        let captured_headers = options_at + options_captured;
        let ports = u32::from_be_bytes([tcp[0], tcp[1], tcp[2], tcp[3]]);
        let (address_key, flow_hash) = flow(ports);
        *packet = Packet {
            time_ns: record.time_ns,
            address_key,
            flow_hash,
            ports,
            sequence: u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]),
            acknowledgement: u32::from_be_bytes([tcp[8], tcp[9], tcp[10], tcp[11]]),
            tsval: noted.tsval,
            tsecr: noted.tsecr,
            payload_length: ip.total_length - headers_length,
            payload_offset: self.offset.wrapping_add(captured_headers as u32),
            payload_captured: (captured.len() - captured_headers) as u32,
            wire_length: record.original_length.max(record.captured_length),
            address_offset: self.offset.wrapping_add(ip.address_offset as u32),
            options_offset: self.offset.wrapping_add(options_at as u32),
            frame: record.frame,
            window: u16::from_be_bytes([tcp[14], tcp[15]]),
            ip_id: ip.identification,
            checksum: u16::from_be_bytes([tcp[16], tcp[17]]),
            flags: u16::from_be_bytes([tcp[12] & 1, tcp[13]]),
            ip_header_length: ip.header_length as u16,
            input: record.input,
            options_captured: options_captured as u8,
            tcp_header_length: header_length as u8,
            ttl: ip.ttl,
            ip_version: ip.version,
            options: noted.bits,
        };
        Some(())
    }
}

/// Options of which only a part was captured.
#[cold]
fn cut_options(captured: &[u8], header_length: u32) -> (usize, options::Noted) {
    (captured.len(), options::note(captured, (header_length - 20) as usize))
}
