//! One segment in the words of a trace, and its bytes.

use vmtrace_core::packet::tcp_flags::{ACK, FIN, PSH, RST, SYN};

/// What a SYN offers.
#[derive(Clone, Debug)]
pub struct Offers {
    pub mss: Option<u16>,
    pub scale: Option<u8>,
    pub sack: bool,
}

/// A segment before it has numbers.
#[derive(Clone, Debug)]
pub struct Segment {
    pub flags: u16,
    /// First position; where the side stands, if none.
    pub start: Option<i64>,
    pub length: u32,
    pub acknowledges: Option<i64>,
    pub sack: Vec<(i64, i64)>,
    pub tsval: Option<u32>,
    pub tsecr: Option<u32>,
    pub id: Option<u16>,
    pub window: u16,
    pub offers: Offers,
    pub content: Option<Vec<u8>>,
    /// Bytes in place of all other options, a multiple of four.
    pub raw_options: Option<Vec<u8>>,
    /// Captured payload bytes, if the snap length cut the rest.
    pub captured: Option<u32>,
    /// The IP length says 0 (offload).
    pub length_zero: bool,
}

fn segment(flags: u16) -> Segment {
    Segment {
        flags,
        start: None,
        length: 0,
        acknowledges: None,
        sack: Vec::new(),
        tsval: None,
        tsecr: None,
        id: None,
        window: 1000,
        offers: Offers { mss: Some(super::FULL as u16), scale: Some(7), sack: true },
        content: None,
        raw_options: None,
        captured: None,
        length_zero: false,
    }
}

/// SYN with MSS 1000, window scale 7 and SACK.
pub fn syn() -> Segment {
    Segment { start: Some(0), ..segment(SYN) }
}

pub fn syn_ack() -> Segment {
    Segment { start: Some(0), acknowledges: Some(0), ..segment(SYN | ACK) }
}

/// An empty segment that acknowledges everything before `position`.
pub fn ack(position: i64) -> Segment {
    Segment { acknowledges: Some(position), ..segment(ACK) }
}

pub fn data(start: i64, length: u32) -> Segment {
    Segment { start: Some(start), length, ..segment(ACK | PSH) }
}

pub fn fin(start: i64) -> Segment {
    Segment { start: Some(start), ..segment(FIN | ACK) }
}

pub fn rst() -> Segment {
    segment(RST | ACK)
}

/// An empty segment with a sequence number below what was sent.
pub fn empty(start: i64) -> Segment {
    Segment { start: Some(start), ..segment(ACK) }
}

impl Segment {
    /// As in the middle of what was written.
    pub fn without_push(self) -> Self {
        Self { flags: self.flags & !PSH, ..self }
    }

    pub fn acking(self, position: i64) -> Self {
        Self { acknowledges: Some(position), flags: self.flags | ACK, ..self }
    }

    /// One more block, in the order of the option.
    pub fn sack(mut self, start: i64, end: i64) -> Self {
        self.sack.push((start, end));
        self
    }

    pub fn tsval(self, tsval: u32) -> Self {
        Self { tsval: Some(tsval), ..self }
    }

    pub fn tsecr(self, tsecr: u32) -> Self {
        Self { tsecr: Some(tsecr), ..self }
    }

    pub fn id(self, id: u16) -> Self {
        Self { id: Some(id), ..self }
    }

    /// Window field, not scaled.
    pub fn window(self, window: u16) -> Self {
        Self { window, ..self }
    }

    pub fn and_fin(self) -> Self {
        Self { flags: self.flags | FIN, ..self }
    }

    /// Data in a SYN.
    pub fn carrying(self, length: u32) -> Self {
        Self { length, ..self }
    }

    pub fn content(self, content: &[u8]) -> Self {
        Self { length: content.len() as u32, content: Some(content.to_vec()), ..self }
    }

    pub fn no_scale(mut self) -> Self {
        self.offers.scale = None;
        self
    }

    pub fn no_sack(mut self) -> Self {
        self.offers.sack = false;
        self
    }

    /// Takes segments of so many bytes, options included.
    pub fn mss(mut self, bytes: u16) -> Self {
        self.offers.mss = Some(bytes);
        self
    }

    pub fn no_mss(mut self) -> Self {
        self.offers.mss = None;
        self
    }

    /// The snap length leaves so many payload bytes.
    pub fn captured(self, captured: u32) -> Self {
        Self { captured: Some(captured), ..self }
    }

    /// The IP header says length 0, as of a packet too long for the field or not finished when captured.
    pub fn length_zero(self) -> Self {
        Self { length_zero: true, ..self }
    }
}

/// Addresses, ports and TTL of one way.
#[derive(Clone, Copy)]
pub struct Path {
    pub ipv6: bool,
    pub hosts: [u8; 2],
    pub ports: [u16; 2],
    pub ttl: u8,
}

impl Path {
    /// Source and destination as they stand in the IP header.
    fn addresses(&self) -> Vec<u8> {
        let address = |host: u8| match self.ipv6 {
            true => [&[0x20, 1, 0xd, 0xb8][..], &[0; 11], &[host]].concat(),
            false => vec![10, 0, 0, host],
        };
        self.hosts.iter().flat_map(|&host| address(host)).collect()
    }

    pub fn reversed(self) -> Self {
        Self { hosts: [self.hosts[1], self.hosts[0]], ports: [self.ports[1], self.ports[0]], ..self }
    }
}

/// What the conversation adds to a segment.
pub struct Numbers {
    pub sequence: u32,
    pub acknowledgement: u32,
    pub sack_base: u32,
    pub timestamps: Option<(u32, u32)>,
    pub id: u16,
}

impl Segment {
    /// The Ethernet frame.
    pub fn frame(&self, path: &Path, numbers: &Numbers) -> Vec<u8> {
        let tcp = self.tcp(path, numbers);
        let ip = if path.ipv6 { self.ipv6(path, &tcp) } else { self.ipv4(path, numbers.id, &tcp) };
        let kind: [u8; 2] = if path.ipv6 { [0x86, 0xdd] } else { [8, 0] };
        [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2], &kind[..], &ip].concat()
    }

    /// Bytes of the TCP segment on the wire.
    fn whole(&self, tcp: &[u8]) -> u32 {
        tcp.len() as u32 + self.cut()
    }

    /// Payload bytes that the snap length cut.
    pub fn cut(&self) -> u32 {
        self.length - self.captured.unwrap_or(self.length).min(self.length)
    }

    fn ipv4(&self, path: &Path, id: u16, tcp: &[u8]) -> Vec<u8> {
        let length = if self.length_zero { 0 } else { 20 + self.whole(tcp) as u16 }.to_be_bytes();
        let id = id.to_be_bytes();
        let start = [0x45, 0, length[0], length[1], id[0], id[1], 0x40, 0, path.ttl, 6, 0, 0];
        [&start[..], &path.addresses(), tcp].concat()
    }

    fn ipv6(&self, path: &Path, tcp: &[u8]) -> Vec<u8> {
        let length = if self.length_zero { 0 } else { self.whole(tcp) as u16 }.to_be_bytes();
        let start = [0x60, 0, 0, 0, length[0], length[1], 6, path.ttl];
        [&start[..], &path.addresses(), tcp].concat()
    }

    fn tcp(&self, path: &Path, numbers: &Numbers) -> Vec<u8> {
        let options = self.options(numbers);
        let offset = ((20 + options.len()) as u16 / 4) << 12;
        let captured = self.captured.unwrap_or(self.length).min(self.length) as usize;
        let content = self.content.clone().unwrap_or_else(|| vec![b'.'; captured]);
        let mut bytes = Vec::new();
        path.ports.iter().for_each(|port| bytes.extend(port.to_be_bytes()));
        bytes.extend(numbers.sequence.to_be_bytes());
        bytes.extend(numbers.acknowledgement.to_be_bytes());
        bytes.extend((offset | self.flags).to_be_bytes());
        bytes.extend(self.window.to_be_bytes());
        bytes.extend([0; 4]);
        bytes.extend(options);
        bytes.extend(content);
        let pseudo = [path.addresses(), self.whole(&bytes).to_be_bytes().to_vec(), vec![0, 6]].concat();
        let sum = checksum(&[&pseudo[..], &bytes].concat()).to_be_bytes();
        bytes[16..18].copy_from_slice(&sum);
        bytes
    }

    fn options(&self, numbers: &Numbers) -> Vec<u8> {
        if let Some(raw) = &self.raw_options {
            return raw.clone();
        }
        let mut options = Vec::new();
        if self.flags & SYN != 0 {
            // The option bytes come out of the segment (RFC 6691): full segments are the same with and without timestamps.
            let mss = self.offers.mss.map(|mss| if numbers.timestamps.is_some() { mss + 12 } else { mss });
            mss.iter().for_each(|mss| options.extend([&[2, 4], &mss.to_be_bytes()[..]].concat()));
            self.offers.scale.iter().for_each(|&scale| options.extend([1, 3, 3, scale]));
            options.extend(if self.offers.sack { &[1, 1, 4, 2][..] } else { &[] });
        }
        if let Some((tsval, tsecr)) = numbers.timestamps {
            options.extend([1, 1, 8, 10]);
            options.extend(tsval.to_be_bytes());
            options.extend(tsecr.to_be_bytes());
        }
        if !self.sack.is_empty() {
            options.extend([1, 1, 5, 2 + 8 * self.sack.len() as u8]);
            let edges = self.sack.iter().flat_map(|&(start, end)| [start, end]);
            edges.for_each(|edge| options.extend(numbers.sack_base.wrapping_add(edge as u32).to_be_bytes()));
        }
        options
    }
}

/// The Internet checksum (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0)));
    let sum = words.fold(0u32, |sum, word| {
        let sum = sum + word;
        (sum & 0xffff) + (sum >> 16)
    });
    !(sum as u16)
}
