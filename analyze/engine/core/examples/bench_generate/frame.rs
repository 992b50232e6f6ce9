//! One Ethernet frame of IPv4 and TCP with right lengths and checksums, as a host without offload would send it.

use std::io::{self, Write};
use std::sync::LazyLock;

/// Payload bytes of a full segment: MTU 1500, less IP and TCP headers with timestamps.
pub const MSS: u32 = 1448;

const TIMESTAMP_BYTES: u32 = 12;
const NOP: u8 = 1;

/// What every segment carries, from its start: with it checksums are quick and repeats carry the same bytes.
static PAYLOAD: LazyLock<[u8; MSS as usize]> = LazyLock::new(|| {
    let mut random = crate::random::Random::new(7);
    std::array::from_fn(|_| random.between(b' '.into(), b'~'.into()) as u8)
});

/// One's-complement sums of the first n payload bytes.
static PAYLOAD_SUMS: LazyLock<Vec<u64>> = LazyLock::new(|| {
    let bytes = &*PAYLOAD;
    (0..=bytes.len()).map(|length| bytes[..length].iter().enumerate().map(|(i, b)| at(i, *b)).sum()).collect()
});

/// TCP control bits.
pub mod flags {
    pub const FIN: u8 = 0x01;
    pub const SYN: u8 = 0x02;
    pub const PSH: u8 = 0x08;
    pub const ACK: u8 = 0x10;
}

/// The two ends of a connection, the client first.
#[derive(Clone, Copy)]
pub struct Endpoints {
    /// IPv4 addresses.
    pub addresses: [[u8; 4]; 2],
    /// TCP ports.
    pub ports: [u16; 2],
    /// Options that the handshake agrees on.
    pub agreed: Agreed,
}

/// TCP options that both ends offer.
#[derive(Clone, Copy)]
pub struct Agreed {
    /// Bytes of a full segment.
    pub segment_bytes: u32,
    pub sack: bool,
    pub timestamps: bool,
}

impl Default for Agreed {
    fn default() -> Self {
        Self { segment_bytes: MSS, sack: true, timestamps: true }
    }
}

/// What stands in the headers of one segment.
#[derive(Clone, Copy, Default)]
pub struct Segment {
    /// Sent by the server.
    pub from_server: bool,
    /// Sequence number.
    pub sequence: u32,
    /// Acknowledgement number, if the ACK flag is set.
    pub acknowledgement: u32,
    /// Control bits.
    pub flags: u8,
    /// Window field, unscaled.
    pub window: u16,
    /// Timestamp value and echo reply.
    pub timestamps: (u32, u32),
    /// SACK blocks, at most three beside timestamps; unused ones are empty.
    pub sack: [(u32, u32); 3],
    /// Payload bytes.
    pub payload_length: u32,
    /// IP identification.
    pub ip_id: u16,
}

/// A frame's headers, and how much payload follows.
pub struct Frame {
    headers: [u8; 14 + 20 + 60],
    header_length: usize,
    payload_length: usize,
}

impl Frame {
    /// Puts the segment into a frame.
    pub fn new(ends: &Endpoints, segment: &Segment) -> Self {
        let mut headers = [0; 94];
        let options = options(segment, ends.agreed, &mut headers[54..]);
        let tcp_length = 20 + options;
        let payload_length = segment.payload_length as usize;
        let (from, to) = (usize::from(segment.from_server), usize::from(!segment.from_server));

        headers[..14].copy_from_slice(&[2, 0, 0, 0, 0, to as u8, 2, 0, 0, 0, 0, from as u8, 8, 0]);
        let total = (20 + tcp_length + payload_length) as u16;
        let ttl = if segment.from_server { 57 } else { 64 };
        put16(&mut headers, 14, 0x4500);
        put16(&mut headers, 16, total);
        put16(&mut headers, 18, segment.ip_id);
        put16(&mut headers, 20, 0x4000);
        put16(&mut headers, 22, u16::from_be_bytes([ttl, 6]));
        headers[26..30].copy_from_slice(&ends.addresses[from]);
        headers[30..34].copy_from_slice(&ends.addresses[to]);
        let sum = folded(sum(&headers[14..34]));
        put16(&mut headers, 24, !sum);

        put16(&mut headers, 34, ends.ports[from]);
        put16(&mut headers, 36, ends.ports[to]);
        put32(&mut headers, 38, segment.sequence);
        put32(&mut headers, 42, if segment.flags & flags::ACK != 0 { segment.acknowledgement } else { 0 });
        headers[46] = (tcp_length as u8 / 4) << 4;
        headers[47] = segment.flags;
        put16(&mut headers, 48, segment.window);
        let pseudo = sum_of_pseudo_header(&headers, tcp_length + payload_length);
        let tcp = sum_of_tcp(&headers[34..34 + tcp_length], payload_length);
        put16(&mut headers, 50, !folded(pseudo + tcp));
        Self { headers, header_length: 34 + tcp_length, payload_length }
    }

    /// Bytes of the whole frame.
    pub fn wire_length(&self) -> usize {
        self.header_length + self.payload_length
    }

    /// Writes the first `captured` bytes.
    pub fn write(&self, captured: usize, out: &mut impl Write) -> io::Result<()> {
        let headers = captured.min(self.header_length);
        out.write_all(&self.headers[..headers])?;
        out.write_all(&PAYLOAD[..captured - headers])
    }
}

/// Writes the options and gives their length in bytes.
fn options(segment: &Segment, agreed: Agreed, out: &mut [u8]) -> usize {
    let (value, echo) = segment.timestamps;
    if segment.flags & flags::SYN != 0 {
        // MSS 1460, SACK permitted, timestamps, window scale 7: the order of Linux.
        out[..8].copy_from_slice(&[2, 4, 0x05, 0xB4, 4, 2, 8, 10]);
        put32(out, 8, value);
        put32(out, 12, echo);
        out[16..20].copy_from_slice(&[1, 3, 3, 7]);
        put16(out, 2, (agreed.segment_bytes + TIMESTAMP_BYTES) as u16);
        if !agreed.sack {
            out[4..6].fill(NOP);
        }
        if !agreed.timestamps {
            out[6..16].fill(NOP);
        }
        return 20;
    }
    let mut length = 0;
    if agreed.timestamps {
        out[..4].copy_from_slice(&[1, 1, 8, 10]);
        put32(out, 4, value);
        put32(out, 8, echo);
        length = 12;
    }
    if !agreed.sack {
        return length;
    }
    let blocks = segment.sack.iter().filter(|(start, end)| start != end).count();
    if blocks == 0 {
        return length;
    }
    out[length..length + 4].copy_from_slice(&[1, 1, 5, 2 + 8 * blocks as u8]);
    length += 4;
    for (number, (start, end)) in segment.sack.iter().take(blocks).enumerate() {
        put32(out, length + 8 * number, *start);
        put32(out, length + 4 + 8 * number, *end);
    }
    length + 8 * blocks
}

fn sum_of_pseudo_header(headers: &[u8], tcp_length: usize) -> u64 {
    sum(&headers[26..34]) + 6 + tcp_length as u64
}

fn sum_of_tcp(header: &[u8], payload_length: usize) -> u64 {
    sum(header) + PAYLOAD_SUMS[payload_length]
}

fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().enumerate().map(|(i, b)| at(i, *b)).sum()
}

/// What a byte at an even or odd place adds to a sum of 16-bit words.
fn at(index: usize, byte: u8) -> u64 {
    u64::from(byte) << (8 * (1 - index % 2))
}

fn folded(mut sum: u64) -> u16 {
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    sum as u16
}

fn put16(out: &mut [u8], offset: usize, value: u16) {
    out[offset..offset + 2].copy_from_slice(&value.to_be_bytes());
}

fn put32(out: &mut [u8], offset: usize, value: u32) {
    out[offset..offset + 4].copy_from_slice(&value.to_be_bytes());
}
