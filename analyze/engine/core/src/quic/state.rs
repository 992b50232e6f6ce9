//! One QUIC flow, by its long headers (RFC 8999 section 5.1, RFC 9000 section 17.2).

/// Longest connection id of the versions known.
const LONGEST_CONNECTION_ID: usize = 20;

/// QUIC version 2 (RFC 9369), which numbers its packet types otherwise.
const VERSION_2: u32 = 0x6b33_43cf;

/// One datagram of a flow.
#[derive(Debug, Clone, Copy)]
pub struct Datagram<'a> {
    /// What was captured of the payload.
    pub bytes: &'a [u8],
    /// Bytes of payload on the wire.
    pub length: u32,
    /// When it passed, Unix nanoseconds.
    pub time_ns: i64,
    /// Its frame.
    pub frame: u32,
    /// Its direction: 0 is that of the flow's first datagram, the client's.
    pub side: usize,
}

/// What is known of a flow.
#[derive(Debug, Clone, Default)]
pub struct QuicState {
    /// Version of the last long header that has one; none before, 0 is version negotiation and never kept.
    pub version: Option<u32>,
    /// Datagrams that begin with an Initial packet, by direction.
    pub initials: [u64; 2],
}

impl QuicState {
    /// The payload begins with a long header of a version that is known or reserved for practice.
    pub fn begins(bytes: &[u8]) -> bool {
        let Some(header) = LongHeader::read(bytes) else { return false };
        let is_known = matches!(header.version, 0 | 1 | VERSION_2) || header.version >> 8 == 0x00ff_0000;
        is_known || header.version & 0x0f0f_0f0f == 0x0a0a_0a0a
    }

    /// Takes the next datagram.
    pub fn datagram(&mut self, datagram: Datagram<'_>) {
        let Some(header) = LongHeader::read(datagram.bytes) else { return };
        if header.version != 0 {
            self.version = Some(header.version);
        }
        if header.is_initial() {
            self.initials[datagram.side & 1] += 1;
        }
    }
}

/// The part of a long header that all versions share.
struct LongHeader {
    first: u8,
    version: u32,
}

impl LongHeader {
    fn read(bytes: &[u8]) -> Option<Self> {
        let &[first, v0, v1, v2, v3, destination_length] = bytes.first_chunk()?;
        let source_length = usize::from(*bytes.get(6 + usize::from(destination_length))?);
        let are_sound =
            usize::from(destination_length) <= LONGEST_CONNECTION_ID && source_length <= LONGEST_CONNECTION_ID;
        let version = u32::from_be_bytes([v0, v1, v2, v3]);
        // Version negotiation leaves the fixed bit open.
        let is_long = first & 0xc0 == 0xc0 || first & 0x80 != 0 && version == 0;
        (is_long && are_sound).then_some(Self { first, version })
    }

    fn is_initial(&self) -> bool {
        let initial = if self.version == VERSION_2 { 1 } else { 0 };
        self.version != 0 && self.first >> 4 & 3 == initial
    }
}
