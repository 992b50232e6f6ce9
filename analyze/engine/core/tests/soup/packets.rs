//! A segment in the generator's words becomes a decoded packet with its bytes, as decoding leaves it.

use vmtrace_core::packet::{Packet, option_bits, tcp_flags};

/// Link header of a frame.
const ETHERNET: u32 = 14;

/// The ends of a connection, as one side sends.
#[derive(Clone, Copy)]
pub struct Path {
    pub ipv6: bool,
    /// Last byte of the address of sender, receiver.
    pub hosts: [u8; 2],
    pub ports: [u16; 2],
}

impl Path {
    pub fn reversed(self) -> Self {
        let ([one, other], [port, other_port]) = (self.hosts, self.ports);
        Self { hosts: [other, one], ports: [other_port, port], ..self }
    }
}

/// What a SYN offers.
#[derive(Clone, Copy)]
pub struct Offers {
    pub mss: u16,
    pub scale: Option<u8>,
    pub sack: bool,
}

/// A segment with its numbers.
#[derive(Clone, Default)]
pub struct Segment {
    pub time_ns: i64,
    pub flags: u16,
    pub sequence: u32,
    pub acknowledgement: u32,
    pub payload: Vec<u8>,
    pub payload_length: u32,
    pub window: u16,
    pub timestamps: Option<(u32, u32)>,
    pub sack: Vec<(u32, u32)>,
    pub offers: Option<Offers>,
    pub ip_id: u16,
    pub ttl: u8,
}

/// The packets of a capture, in one chunk.
#[derive(Default)]
pub struct Capture {
    pub packets: Vec<Packet>,
    pub bytes: Vec<u8>,
    /// The same in the generator's words.
    pub segments: Vec<(Path, Segment)>,
}

impl Capture {
    pub fn push(&mut self, path: Path, segment: &Segment) {
        self.segments.push((path, segment.clone()));
        let frame = self.packets.len() as u32 + 1;
        let address_offset = self.append(&addresses(path));
        let options = options_of(segment);
        let options_offset = self.append(&options);
        let payload_offset = self.append(&segment.payload);
        let header = 20 + options.len() as u32;
        let ip_header_length = if path.ipv6 { 40 } else { 20 };
        let ports = u32::from(path.ports[0]) << 16 | u32::from(path.ports[1]);
        let (tsval, tsecr) = segment.timestamps.unwrap_or_default();
        self.packets.push(Packet {
            time_ns: segment.time_ns,
            address_key: address_key(path),
            flow_hash: flow_hash(path),
            ports,
            sequence: segment.sequence,
            acknowledgement: segment.acknowledgement,
            tsval,
            payload_length: segment.payload_length,
            tsecr,
            payload_offset,
            payload_captured: segment.payload.len() as u32,
            wire_length: ETHERNET + u32::from(ip_header_length) + header + segment.payload_length,
            address_offset,
            options_offset,
            frame,
            window: segment.window,
            ip_id: if path.ipv6 { 0 } else { segment.ip_id },
            checksum: checksum(segment),
            flags: segment.flags,
            ip_header_length,
            input: 0,
            options_captured: options.len() as u8,
            tcp_header_length: header as u8,
            ttl: segment.ttl,
            ip_version: if path.ipv6 { 6 } else { 4 },
            options: bits_of(segment),
        });
    }

    fn append(&mut self, bytes: &[u8]) -> u32 {
        let offset = self.bytes.len() as u32;
        self.bytes.extend_from_slice(bytes);
        offset
    }
}

pub(super) fn addresses(path: Path) -> Vec<u8> {
    let length = if path.ipv6 { 16 } else { 4 };
    let address = |host: u8| (1..length).map(|_| 10).chain([host]).collect::<Vec<u8>>();
    path.hosts.map(address).concat()
}

fn address_key(path: Path) -> u64 {
    let [source, destination] = path.hosts.map(|host| 0x0a0a_0a00 | u64::from(host));
    // Of IPv6 the key is a hash, which says nothing of the way back.
    if path.ipv6 { source.wrapping_mul(3) ^ destination.wrapping_mul(5) } else { source << 32 | destination }
}

/// The same for both directions, and for some connections, too: tables must bear that.
fn flow_hash(path: Path) -> u32 {
    u32::from(path.ports[0] ^ path.ports[1]) / 2
}

pub(super) fn checksum(segment: &Segment) -> u16 {
    let (tsval, tsecr) = segment.timestamps.unwrap_or_default();
    let words =
        [segment.sequence, segment.acknowledgement, tsval, tsecr, u32::from(segment.flags), segment.payload_length];
    let mixed = words.into_iter().fold(7u32, |mixed, word| (mixed.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b1));
    (mixed >> 16) as u16
}

fn bits_of(segment: &Segment) -> u8 {
    let others = segment.offers.is_some() || !segment.sack.is_empty();
    (if segment.timestamps.is_some() { option_bits::TIMESTAMPS } else { 0 })
        | (if others { option_bits::OTHERS } else { 0 })
}

pub(super) fn options_of(segment: &Segment) -> Vec<u8> {
    let mut options = Vec::new();
    if let Some(Offers { mss, scale, sack }) = segment.offers {
        options.extend([2, 4]);
        options.extend(mss.to_be_bytes());
        options.extend(scale.map(|shift| [1, 3, 3, shift]).into_iter().flatten());
        options.extend(sack.then_some([1, 1, 4, 2]).into_iter().flatten());
    }
    if let Some((tsval, tsecr)) = segment.timestamps {
        options.extend([1, 1, 8, 10]);
        options.extend(tsval.to_be_bytes());
        options.extend(tsecr.to_be_bytes());
    }
    if !segment.sack.is_empty() {
        options.extend([1, 1, 5, 2 + 8 * segment.sack.len() as u8]);
        for (start, end) in &segment.sack {
            options.extend(start.to_be_bytes());
            options.extend(end.to_be_bytes());
        }
    }
    options
}

/// A packet in a line, for a failing sequence.
pub fn in_words(packet: &Packet) -> String {
    let names = [
        (tcp_flags::SYN, 'S'),
        (tcp_flags::FIN, 'F'),
        (tcp_flags::RST, 'R'),
        (tcp_flags::PSH, 'P'),
        (tcp_flags::ECE, 'E'),
        (tcp_flags::CWR, 'C'),
        (tcp_flags::ACK, '.'),
    ];
    let flags: String = names.iter().filter(|(bit, _)| packet.has(*bit)).map(|(_, name)| *name).collect();
    let Packet { frame, time_ns, ports, sequence, payload_length, acknowledgement, window, ip_id, .. } = packet;
    let ts = packet.timestamp().map(|tsval| format!(" ts {tsval} ecr {}", packet.tsecr)).unwrap_or_default();
    format!(
        "{frame}: {time_ns} {} > {} [{flags}] seq {sequence}+{payload_length} ack {acknowledgement} win {window} id {ip_id}{ts}",
        ports >> 16,
        ports & 0xffff
    )
}
