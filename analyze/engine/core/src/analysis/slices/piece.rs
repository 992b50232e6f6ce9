//! A piece of a slice: a header, then packets one behind the other, each with its addresses, TCP options and payload, and with the
//! fixed part of its TCP header where its checksum may be asked for. Behind them the tunnels of flows that were not seen before.
//!
//! All numbers are little-endian. A piece is whole or refused: its header says how many packets and bytes follow.

use std::io::{ErrorKind, Read};

use crate::analysis::tunnels::FlowTunnels;
use crate::packet::Packet;
use crate::tcp::capture::checksums::{FIXED_LENGTH, needs_header};
use crate::tcp::stats::packed::Packed;

/// What a piece begins with; the last letter is the version of the format.
const MAGIC: [u8; 4] = *b"vms2";

/// Magic, packets, bytes of packets behind the header, bytes of tunnels behind those.
const HEADER_BYTES: usize = 16;

/// Numbers of a packet, before its bytes.
const PACKET_BYTES: usize = 81;

/// No piece is longer.
const LONGEST_BYTES: usize = 64 << 20;

/// A piece that grows.
#[derive(Default)]
pub(super) struct PieceWriter {
    bytes: Vec<u8>,
    packets: u32,
    tunnels: Vec<u8>,
}

impl PieceWriter {
    /// Bytes so far.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Adds the tunnels of a flow, with a packet of which the piece begins or goes on.
    pub(super) fn push_tunnels(&mut self, found: &FlowTunnels) {
        found.write(&mut self.tunnels);
    }

    /// Adds a packet of `bytes` that is number `place` among all of its run.
    pub(super) fn push(&mut self, packet: &Packet, place: u64, bytes: &[u8]) {
        if self.bytes.is_empty() {
            self.bytes.extend_from_slice(&[0; HEADER_BYTES]);
        }
        self.packets += 1;
        self.bytes.extend_from_slice(&numbers(packet, place));
        let mut copy = |start: u32, length: usize| {
            let start = start as usize;
            let found = bytes.get(start..start + length).unwrap_or_default();
            self.bytes.extend_from_slice(found);
            self.bytes.resize(self.bytes.len() + length - found.len(), 0);
        };
        copy(packet.address_offset, address_bytes(packet.ip_version));
        copy(packet.options_offset.wrapping_sub(FIXED_LENGTH), header_bytes(packet));
        copy(packet.options_offset, usize::from(packet.options_captured));
        copy(packet.payload_offset, packet.payload_captured as usize);
    }

    /// The whole piece; nothing is left of it here. Empty if no packet was added.
    pub(super) fn take(&mut self) -> Vec<u8> {
        let mut piece = std::mem::take(&mut self.bytes);
        let packets = std::mem::take(&mut self.packets);
        let length = piece.len().saturating_sub(HEADER_BYTES) as u32;
        put_header(&mut piece, MAGIC, [packets, length, self.tunnels.len() as u32]);
        if packets > 0 {
            piece.append(&mut self.tunnels);
        }
        piece
    }
}

/// Of the fixed part of its TCP header, what is kept.
fn header_bytes(packet: &Packet) -> usize {
    if needs_header(packet) { FIXED_LENGTH as usize } else { 0 }
}

fn address_bytes(ip_version: u8) -> usize {
    if ip_version == 4 { 8 } else { 32 }
}

/// Numbers in the order in which [`packet_of`] reads them.
fn numbers(packet: &Packet, place: u64) -> [u8; PACKET_BYTES] {
    let mut out = [0; PACKET_BYTES];
    let mut rest = out.as_mut_slice();
    let mut put = |value: &[u8]| {
        if let Some((head, tail)) = std::mem::take(&mut rest).split_at_mut_checked(value.len()) {
            head.copy_from_slice(value);
            rest = tail;
        }
    };
    put(&place.to_le_bytes());
    put(&packet.time_ns.to_le_bytes());
    put(&packet.address_key.to_le_bytes());
    for value in [packet.flow_hash, packet.ports, packet.sequence, packet.acknowledgement, packet.tsval, packet.tsecr] {
        put(&value.to_le_bytes());
    }
    for value in [packet.payload_length, packet.payload_captured, packet.wire_length, packet.frame] {
        put(&value.to_le_bytes());
    }
    for value in [packet.window, packet.ip_id, packet.checksum, packet.flags, packet.ip_header_length, packet.input] {
        put(&value.to_le_bytes());
    }
    put(&[packet.options_captured, packet.tcp_header_length, packet.ttl, packet.ip_version, packet.options]);
    out
}

/// The packet of these numbers, whose bytes start at `at`, with its place and the number of its bytes.
fn packet_of(numbers: &[u8], at: u32) -> Option<(Packet, u64, usize)> {
    let mut read = Packed::new(numbers);
    let place = read.u64()?;
    // In the order of the fields below, which is that of their writing.
    let mut packet = Packet {
        time_ns: read.u64()? as i64,
        address_key: read.u64()?,
        flow_hash: read.u32()?,
        ports: read.u32()?,
        sequence: read.u32()?,
        acknowledgement: read.u32()?,
        tsval: read.u32()?,
        tsecr: read.u32()?,
        payload_length: read.u32()?,
        payload_captured: read.u32()?,
        wire_length: read.u32()?,
        frame: read.u32()?,
        window: read.u16()?,
        ip_id: read.u16()?,
        checksum: read.u16()?,
        flags: read.u16()?,
        ip_header_length: read.u16()?,
        input: read.u16()?,
        address_offset: at,
        options_offset: 0,
        payload_offset: 0,
        options_captured: 0,
        tcp_header_length: 0,
        ttl: 0,
        ip_version: 0,
        options: 0,
    };
    let [options_captured, tcp_header_length, ttl, ip_version, options] = read.bytes()?;
    packet = Packet { options_captured, tcp_header_length, ttl, ip_version, options, ..packet };
    let options_at = address_bytes(ip_version) + header_bytes(&packet);
    let payload_at = options_at + usize::from(options_captured);
    packet.options_offset = at + options_at as u32;
    packet.payload_offset = at + payload_at as u32;
    Some((packet, place, payload_at + packet.payload_captured as usize))
}

/// The packets of a piece.
#[derive(Default)]
pub(super) struct Piece {
    /// What the packets point into.
    pub(super) bytes: Vec<u8>,
    /// In the order of their places.
    pub(super) packets: Vec<Packet>,
    /// Each packet's place among all of its run.
    pub(super) places: Vec<u64>,
    /// Tunnels of flows that begin in this piece, or were not in a tunnel before.
    pub(super) tunnels: Vec<FlowTunnels>,
}

impl Piece {
    /// Reads the next piece in place of this one; false at the end.
    ///
    /// # Errors
    /// What the reader says, and [`ErrorKind::InvalidData`] for what is no piece or a part of one.
    pub(super) fn read(&mut self, reader: &mut dyn Read) -> std::io::Result<bool> {
        self.packets.clear();
        self.places.clear();
        self.tunnels.clear();
        let Some((count, [length, of_tunnels])) = read_header(reader, MAGIC)? else { return Ok(false) };
        read_whole(reader, &mut self.bytes, length)?;
        self.walk(count)?;
        let mut tunnels = Vec::new();
        read_whole(reader, &mut tunnels, of_tunnels)?;
        let mut rest = Packed::new(&tunnels);
        while !rest.is_empty() {
            self.tunnels.push(FlowTunnels::read(&mut rest).ok_or_else(|| broken("its tunnels do not fit together"))?);
        }
        Ok(true)
    }

    fn walk(&mut self, count: u32) -> std::io::Result<()> {
        let mut at = 0;
        for _ in 0..count {
            let numbers = self.bytes.get(at..at + PACKET_BYTES);
            at += PACKET_BYTES;
            let found = numbers.and_then(|numbers| packet_of(numbers, at as u32));
            let Some((packet, place, length)) = found else { return Err(broken("it is cut short")) };
            at += length;
            let is_later = self.places.last().is_none_or(|&last| last < place);
            if at > self.bytes.len() || !is_later || !matches!(packet.ip_version, 4 | 6) {
                return Err(broken("its packets do not fit together"));
            }
            self.packets.push(packet);
            self.places.push(place);
        }
        if at == self.bytes.len() { Ok(()) } else { Err(broken("it holds more than its packets")) }
    }
}

pub(super) fn broken(what: &str) -> std::io::Error {
    std::io::Error::new(ErrorKind::InvalidData, format!("a damaged slice: {what}; split its inputs again"))
}

/// Writes what a piece begins with into the room that was left for it: magic, packets or frames, and the bytes of each part behind it.
pub(super) fn put_header<const N: usize>(piece: &mut [u8], magic: [u8; 4], numbers: [u32; N]) {
    let header = [magic].into_iter().chain(numbers.map(u32::to_le_bytes)).flatten();
    piece.iter_mut().zip(header).for_each(|(place, byte)| *place = byte);
}

/// Reads that: packets or frames, and the bytes of each part. None at the end.
pub(super) fn read_header<const N: usize>(
    reader: &mut dyn Read,
    magic: [u8; 4],
) -> std::io::Result<Option<(u32, [usize; N])>> {
    let mut header = vec![0; size_of_val(&magic) + size_of::<u32>() * (1 + N)];
    match fill(reader, &mut header)? {
        0 => return Ok(None),
        found if found < header.len() => return Err(broken("it is cut short")),
        _ => {}
    }
    let mut read = Packed::new(&header);
    let (found, count) = (read.bytes(), read.u32().unwrap_or(0));
    let lengths = [(); N].map(|()| read.u32().unwrap_or(0) as usize);
    if found == Some(magic) && lengths.iter().all(|&length| length <= LONGEST_BYTES) {
        Ok(Some((count, lengths)))
    } else {
        Err(broken("it is no slice of this version"))
    }
}

/// Reads so many bytes in place of what is in `room`.
pub(super) fn read_whole(reader: &mut dyn Read, room: &mut Vec<u8>, length: usize) -> std::io::Result<()> {
    room.resize(length, 0);
    if fill(reader, room)? == length { Ok(()) } else { Err(broken("it is cut short")) }
}

/// Reads until `room` is full or the reader ends; how many bytes it were.
fn fill(reader: &mut dyn Read, room: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = room.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match reader.read(rest) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packet(seed: u32, payload: u32) -> Packet {
        Packet {
            time_ns: i64::from(seed) - 7,
            address_key: u64::from(seed) << 20 | 5,
            flow_hash: seed ^ 0xffff,
            ports: seed.rotate_left(3),
            sequence: seed + 1,
            acknowledgement: seed + 2,
            tsval: seed + 3,
            tsecr: seed + 4,
            payload_length: payload + 9,
            payload_offset: 44,
            payload_captured: payload,
            wire_length: seed + 5,
            address_offset: 0,
            options_offset: 32,
            frame: seed + 6,
            window: seed as u16,
            ip_id: seed as u16 + 1,
            checksum: seed as u16 + 2,
            flags: 0x18,
            ip_header_length: 20,
            input: seed as u16 % 5,
            options_captured: 12,
            tcp_header_length: 32,
            ttl: 64,
            ip_version: if seed.is_multiple_of(2) { 4 } else { 6 },
            options: 1,
        }
    }

    /// The piece of packets of one chunk, and what they point at.
    fn written(seeds: &[(u16, u8)], bytes: &[u8]) -> Vec<u8> {
        let mut writer = PieceWriter::default();
        for (place, &(seed, payload)) in seeds.iter().enumerate() {
            writer.push(&packet(u32::from(seed), u32::from(payload)), place as u64 * 3, bytes);
        }
        writer.take()
    }

    fn chunk() -> Vec<u8> {
        (0..400u32).map(|value| (value * 7) as u8).collect()
    }

    proptest! {
        #[test]
        fn packets_come_back_with_their_bytes(seeds in proptest::collection::vec((0u16..60000, any::<u8>()), 1..20)) {
            let bytes = chunk();
            let piece = written(&seeds, &bytes);
            let mut read = Piece::default();
            prop_assert!(matches!(read.read(&mut piece.as_slice()), Ok(true)));
            prop_assert_eq!(read.packets.len(), seeds.len());
            for ((found, &place), (index, &(seed, payload))) in read.packets.iter().zip(&read.places).zip(seeds.iter().enumerate()) {
                let expected = packet(u32::from(seed), u32::from(payload));
                let (offsets, addresses) = ((found.address_offset, found.options_offset, found.payload_offset), address_bytes(found.ip_version));
                let placed = Packet { address_offset: offsets.0, options_offset: offsets.1, payload_offset: offsets.2, ..expected };
                prop_assert_eq!((*found, place), (placed, index as u64 * 3));
                let at = |start: u32, length: usize| read.bytes[start as usize..start as usize + length].to_vec();
                prop_assert_eq!(at(found.address_offset, addresses), bytes[..addresses].to_vec());
                prop_assert_eq!(at(found.options_offset, 12), bytes[32..44].to_vec());
                prop_assert_eq!(at(found.payload_offset, usize::from(payload)), bytes[44..44 + usize::from(payload)].to_vec());
            }
            prop_assert!(matches!(read.read(&mut &[][..]), Ok(false)));
        }

        #[test]
        fn a_piece_cut_anywhere_is_refused(seeds in proptest::collection::vec((0u16..60000, 0u8..40), 1..5), cut in 1usize..600) {
            let piece = written(&seeds, &chunk());
            let short = &piece[..piece.len().saturating_sub(cut).max(1)];
            prop_assert!(Piece::default().read(&mut &*short).is_err());
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300), count in 0u32..5) {
            let mut piece = MAGIC.to_vec();
            piece.extend_from_slice(&count.to_le_bytes());
            piece.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
            piece.extend_from_slice(&0_u32.to_le_bytes());
            piece.extend_from_slice(&bytes);
            let _ = Piece::default().read(&mut piece.as_slice());
            let _ = Piece::default().read(&mut bytes.as_slice());
        }
    }
}
