//! One connection from its datagrams, in the order of the capture. Knows nothing of addresses and flows.
//!
//! Who sent the first Initial is the client. A datagram that does not fit is counted and passed over.

use crate::quic::frame::{Frame, Frames};
use crate::quic::header::{self, LongPacket};
use crate::quic::hellos::CryptoStream;
use crate::quic::ids::Ids;
use crate::quic::inside::{Inside, KeptPacket, Opened};
use crate::quic::joined::{self, Joined, LARGEST_IN_A_FRAME, SHORTEST_PACKET};
use crate::quic::levels::Session;
use crate::quic::numbers::{HANDSHAKE, INITIAL, ONE_RTT};
use crate::quic::opening::{Contents, Opening};
use crate::quic::protection::PacketKeys;
use crate::quic::spin::Spin;
use crate::quic::summary::{Close, CloseKind, IdSummary, QuicSummary};
use crate::quic::version::{LongKind, Version};
use crate::secrets::SharedKeys;

/// Versions kept of a version negotiation.
const MAX_VERSIONS: usize = 16;

/// Characters kept of a reason phrase.
const MAX_REASON_CHARS: usize = 200;

/// Initials that are tried with other keys than those that were right before.
const MAX_TRIES: u32 = 64;

/// Captured payloads whose datagrams are looked for in vain by keys.
const MAX_SEARCHES: u32 = 64;

/// A UDP payload, or what was captured of it.
#[derive(Debug, Clone, Copy)]
pub struct UdpPayload<'a> {
    /// The bytes captured.
    pub bytes: &'a [u8],
    /// Bytes that were sent.
    pub length: u32,
    /// When it passed, Unix nanoseconds.
    pub time_ns: i64,
    /// Its frame.
    pub frame: u32,
    /// The side of the flow that sent it, 0 or 1.
    pub side: usize,
}

/// Keys of Initials, and what they were derived from.
#[derive(Debug, Clone)]
struct InitialKeys {
    version: Version,
    destination: Box<[u8]>,
    keys: [PacketKeys; 2],
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct QuicState {
    client: Option<usize>,
    version: Option<u32>,
    initial_keys: Option<InitialKeys>,
    /// Where the client's first Initial went.
    first_destination: Option<Box<[u8]>>,
    /// Initials of the client and the server, opened.
    crypto: [Option<Box<CryptoStream>>; 2],
    largest_initial: [Option<u64>; 2],
    opening: Opening,
    spin: Spin,
    ids: [Ids; 2],
    negotiated: Vec<u32>,
    close: Option<Close>,
    unread: Unread,
    /// Bytes of the datagrams that were last found in one frame by keys, of the client and the server.
    joined_bytes: [Option<usize>; 2],
    /// With keys.
    inside: Option<Box<Inside>>,
    buffer: Vec<u8>,
}

/// Packets that nothing was learned from, by the reason.
#[derive(Debug, Clone, Default)]
struct Unread {
    unknown_version: u64,
    malformed: u64,
    sealed_initials: u64,
    cut_initials: u64,
    joined: u64,
    tries: u32,
    searches: u32,
}

impl QuicState {
    /// A connection whose keys may be in `log`.
    pub fn with_keys(log: &SharedKeys) -> Self {
        Self { inside: log.any().then(|| Box::new(Inside::new(log.clone()))), ..Self::default() }
    }

    /// Keeps the packets that are opened one by one.
    pub fn keep_packets(&mut self) {
        if let Some(inside) = &mut self.inside {
            inside.kept.get_or_insert_default();
        }
    }

    /// Packets that were opened, in the order of the capture, if they are kept.
    pub fn kept_packets(&self) -> Option<&[KeptPacket]> {
        self.inside.as_ref()?.kept.as_deref()
    }

    /// The payload begins with a long header of a version that is known or reserved.
    pub fn begins(bytes: &[u8]) -> bool {
        header::long_header(bytes).is_some_and(|header| header.is_plausible())
    }

    /// Ids that packets to the client (0) or the server (1) may carry, for a flow that goes on from other addresses.
    pub fn ids(&self, end: usize) -> impl Iterator<Item = &[u8]> {
        self.ids.iter().skip(end).take(1).flat_map(Ids::known)
    }

    /// What a captured payload holds: one datagram, as a rule.
    pub fn joined(&mut self, captured: &UdpPayload<'_>) -> Joined {
        let from = self.client.map_or(0, |client| usize::from(client != captured.side));
        let found = joined::by_headers(captured.bytes, captured.length, self.ids[1 - from].bytes())
            .or_else(|short| self.joined_by_keys(from, captured, short).ok_or(short))
            .unwrap_or_else(|_| Joined::by_length(captured.length));
        self.unread.joined += u64::from(found == Joined::Unknown);
        found
    }

    /// Ids tell nothing: a packet that opens proves where it ends.
    fn joined_by_keys(&mut self, from: usize, captured: &UdpPayload<'_>, short: usize) -> Option<Joined> {
        let bytes = captured.bytes;
        self.inside.as_ref().filter(|_| bytes.len() >= captured.length as usize)?;
        if self.is_whole(from, bytes.get(short..)?) {
            return Some(Joined::One);
        }
        let last = self.joined_bytes[from];
        let all = if self.unread.searches < MAX_SEARCHES { bytes.len().min(LARGEST_IN_A_FRAME) } else { 0 };
        let mut sizes = last.into_iter().chain((short + SHORTEST_PACKET..=all).rev());
        let size = sizes.find(|&size| bytes.get(short..size).is_some_and(|packet| self.is_whole(from, packet)));
        self.unread.searches += u32::from(size.is_none());
        self.joined_bytes[from] = size.or(last);
        Some(Joined::Of(size? as u32))
    }

    fn is_whole(&mut self, from: usize, packet: &[u8]) -> bool {
        let Self { inside: Some(inside), crypto, buffer, ids, .. } = self else { return false };
        let session = session(crypto, self.version);
        session
            .zip(ids[1 - from].bytes())
            .is_some_and(|(session, id_bytes)| inside.is_whole(&session, from, packet, 1 + id_bytes, buffer))
    }

    /// Takes the next datagram.
    pub fn datagram(&mut self, datagram: UdpPayload<'_>) {
        let mut contents = Contents::default();
        let from = self.role(datagram.side);
        let mut rest = datagram.bytes;
        while let Some(&first) = rest.first() {
            if !header::is_long(first) {
                // Padding behind the last packet has no fixed bit.
                if first & 0x40 != 0 {
                    contents.one_rtt = true;
                    self.short_packet(from, rest, &datagram);
                }
                break;
            }
            rest = self.long_packet(from, rest, &datagram, &mut contents);
        }
        self.opening.datagram(from, u64::from(datagram.length), datagram.time_ns, &contents);
    }

    /// 0 for the client, 1 for the server: by who came first, until an Initial proves another.
    fn role(&mut self, side: usize) -> usize {
        usize::from(*self.client.get_or_insert(side) != side)
    }

    /// Returns what follows it in the datagram.
    fn long_packet<'a>(
        &mut self,
        from: usize,
        packet: &'a [u8],
        datagram: &UdpPayload<'_>,
        contents: &mut Contents,
    ) -> &'a [u8] {
        let Some(header) = header::long_header(packet) else {
            self.unread.malformed += 1;
            return &[];
        };
        if header.version == 0 {
            contents.negotiation = true;
            self.negotiated.clear();
            let versions = header.rest.chunks_exact(4).filter_map(|number| number.first_chunk::<4>());
            self.negotiated.extend(versions.map(|number| u32::from_be_bytes(*number)).take(MAX_VERSIONS));
            return &[];
        }
        self.version = Some(header.version);
        let Some(version) = Version::of(header.version) else {
            self.unread.unknown_version += 1;
            return &[];
        };
        let Some(long) = header::long_packet(packet, version) else {
            self.unread.malformed += 1;
            return &[];
        };
        if long.kind != LongKind::Retry {
            self.ids[from].chosen(header.source);
        }
        let (this, rest) = packet.split_at(long.bytes.min(packet.len()));
        match long.kind {
            LongKind::Initial => {
                if from == 0 {
                    self.first_destination.get_or_insert_with(|| long.header.destination.into());
                }
                contents.initials += 1;
                contents.token |= !long.token.is_empty();
                self.initial(from, version, &long, this, datagram);
            }
            LongKind::Handshake => {
                contents.handshake_bytes = Some(contents.handshake_bytes.unwrap_or(0).max(long.bytes));
                self.keyed(HANDSHAKE, from, this, long.number_offset, datagram);
            }
            LongKind::Retry => contents.retry = true,
            LongKind::ZeroRtt => {}
        }
        rest
    }

    fn initial(
        &mut self,
        from: usize,
        version: Version,
        long: &LongPacket<'_>,
        packet: &[u8],
        datagram: &UdpPayload<'_>,
    ) {
        if packet.len() < long.bytes {
            self.unread.cut_initials += 1;
            return;
        }
        let Some((number, range)) = self.open_initial(from, version, long, packet) else {
            self.unread.sealed_initials += 1;
            return;
        };
        self.largest_initial[from] = self.largest_initial[from].max(Some(number));
        let contents = self.buffer.get(range).unwrap_or_default();
        let crypto = self.crypto[from].get_or_insert_with(|| Box::new(CryptoStream::new()));
        crypto.contents(contents);
        note_close(&mut self.close, from, contents, datagram.time_ns);
        if let Some(inside) = &mut self.inside {
            if from == 0
                && let Some(hello) = &crypto.assembler.messages.client_hello
            {
                inside.client_parameters(&hello.quic_parameters);
            }
            let opened = Opened { from, space: INITIAL, number, contents, time_ns: datagram.time_ns };
            inside.packet(&opened, &mut self.ids[from]);
        }
    }

    /// Opens a packet with keys of the log, if it has them. False if it stays closed.
    fn keyed(
        &mut self,
        space: usize,
        from: usize,
        packet: &[u8],
        number_offset: usize,
        datagram: &UdpPayload<'_>,
    ) -> bool {
        let Self { inside: Some(inside), crypto, buffer, .. } = self else { return false };
        let Some(session) = session(crypto, self.version) else { return false };
        let Some((number, range)) = inside.open(space, &session, from, packet, number_offset, buffer) else {
            return false;
        };
        let contents = buffer.get(range).unwrap_or_default();
        note_close(&mut self.close, from, contents, datagram.time_ns);
        inside.packet(&Opened { from, space, number, contents, time_ns: datagram.time_ns }, &mut self.ids[from]);
        true
    }

    /// Opens an Initial with the keys that were right before, or else with those of its own destination, in its own version.
    fn open_initial(
        &mut self,
        from: usize,
        version: Version,
        long: &LongPacket<'_>,
        packet: &[u8],
    ) -> Option<(u64, std::ops::Range<usize>)> {
        let largest = self.largest_initial[from];
        if let Some(known) = self.initial_keys.as_ref().filter(|known| known.version == version)
            && let Some(opened) = known.keys[from].open(packet, long.number_offset, largest, &mut self.buffer)
        {
            return Some(opened);
        }
        self.unread.tries += 1;
        if self.unread.tries > MAX_TRIES {
            return None;
        }
        // The first Initial; one after a Retry; or the peer speaks another version (RFC 9368).
        let own = Some(long.header.destination).filter(|_| from == 0);
        let other_version = self.initial_keys.as_ref().map(|known| &*known.destination);
        for destination in own.into_iter().chain(other_version) {
            let keys = PacketKeys::of_initials(version, destination)?;
            if let Some(opened) = keys[from].open(packet, long.number_offset, None, &mut self.buffer) {
                self.initial_keys = Some(InitialKeys { version, destination: destination.into(), keys });
                return Some(opened);
            }
        }
        None
    }

    fn short_packet(&mut self, from: usize, packet: &[u8], datagram: &UdpPayload<'_>) {
        let round_trip_ns = self.opening.round_trip_ns();
        let Some(&first) = packet.first() else { return };
        self.spin.packet(from, first & 0x20 != 0, datagram.time_ns, round_trip_ns);
        let id_bytes = self.ids[1 - from].bytes();
        let opened = id_bytes.is_some_and(|bytes| self.keyed(ONE_RTT, from, packet, 1 + bytes, datagram));
        self.ids[1 - from].short_packet(packet, datagram.time_ns);
        if !opened && self.inside.as_ref().is_some_and(|inside| inside.is_reset(from, packet)) {
            self.close.get_or_insert(reset(from, datagram.time_ns));
        }
    }

    /// What is known so far; none if nothing of it was QUIC.
    pub fn summary(&self) -> Option<QuicSummary> {
        let client_side = self.client?;
        let [client, server] = &self.crypto;
        let client = client.as_ref().map(|stream| stream.messages());
        let server = server.as_ref().map(|stream| stream.messages());
        let hello = client.and_then(|messages| messages.client_hello).unwrap_or_default();
        let halves = self.opening.round_trip_halves_ns();
        let only = if let [only] = &hello.alpn[..] { Some(only.clone()) } else { None };
        let opening = &self.opening;
        let inside = self.inside.as_ref().and_then(|inside| inside.summary());
        let without_keys = self.inside.as_ref().map_or(0, |inside| inside.sealed());
        let span = opening.last_initial_ns.zip(opening.first_ns);
        Some(QuicSummary {
            client_side,
            version: self.version,
            sni: hello.sni,
            alpn: self.inside.as_ref().and_then(|inside| inside.alpn.clone()).or(only),
            alpn_offered: hello.alpn,
            first_destination: self.first_destination.as_deref().map(hex),
            initials: opening.initials,
            initials_span_ns: span.map(|(last_ns, first_ns)| last_ns.saturating_sub(first_ns)),
            retry: opening.retries > 0,
            version_negotiation: self.negotiated.clone(),
            handshake_ns: opening.handshake_ns,
            handshake_rtt_ns: halves,
            handshake_round_trips: opening.round_trips(server.is_some_and(|messages| messages.hello_retry)),
            amplification_wait_ns: opening.is_seen().then_some(opening.amplification_wait_ns),
            spin_rtt: self.spin.round_trips(opening.round_trip_ns()),
            connection_ids: [0, 1].map(|end| IdSummary {
                bytes: self.ids[end].bytes().map(|bytes| bytes as u64),
                used: self.ids[end].used,
            }),
            close: self.close.clone().or_else(|| self.stateless_reset()),
            inside,
            unread: self.unread.reason(self.version, without_keys),
        })
    }

    /// The last packets with short headers that one end sent went to ids that the other never had.
    fn stateless_reset(&self) -> Option<Close> {
        let (side, time_ns) = [1, 0].into_iter().find_map(|side| Some((side, self.ids[1 - side].strange_since_ns?)))?;
        Some(reset(side, time_ns))
    }
}

/// What keys are looked up by, once the client's hello was read.
fn session(crypto: &[Option<Box<CryptoStream>>; 2], version: Option<u32>) -> Option<Session<'_>> {
    let [client, server] = crypto;
    let hello = client.as_ref()?.assembler.messages.client_hello.as_ref()?;
    let cipher = server.as_ref().and_then(|server| server.assembler.messages.server_hello.as_ref());
    let version = version.and_then(Version::of).unwrap_or(Version::One);
    Some(Session { random: &hello.random, cipher: cipher.map(|hello| hello.cipher), version })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn reset(side: usize, time_ns: i64) -> Close {
    Close { side, kind: CloseKind::StatelessReset, code: None, reason: String::new(), time_ns }
}

impl Unread {
    fn reason(&self, version: Option<u32>, without_keys: u64) -> Option<String> {
        let packets = |count: u64| if count == 1 { "1 packet".to_owned() } else { format!("{count} packets") };
        let mut reasons = Vec::new();
        if self.unknown_version > 0 {
            let number = version.unwrap_or(0);
            reasons.push(format!("{} of a version that is not known (0x{number:08x})", packets(self.unknown_version)));
        }
        if self.joined > 0 {
            reasons.push(format!("{} that may be several captured as one", packets(self.joined)));
        }
        if self.malformed > 0 {
            reasons.push(format!("{} malformed", packets(self.malformed)));
        }
        if self.cut_initials > 0 {
            reasons.push(format!("{} cut by the snap length", packets(self.cut_initials)));
        }
        if self.sealed_initials > 0 {
            reasons.push(format!(
                "{} under keys that the client's first Initial would show",
                packets(self.sealed_initials)
            ));
        }
        if without_keys > 0 {
            reasons.push(format!("{} that no key in the key log fits", packets(without_keys)));
        }
        (!reasons.is_empty()).then(|| reasons.join(", "))
    }
}

/// The first CONNECTION_CLOSE counts: the peer's reply to it says nothing new.
fn note_close(close: &mut Option<Close>, side: usize, contents: &[u8], time_ns: i64) {
    if close.is_some() {
        return;
    }
    *close = Frames::new(contents).find_map(|frame| {
        let Frame::ConnectionClose { application, code, reason } = frame else { return None };
        let kind = if application { CloseKind::Application } else { CloseKind::Transport };
        let reason = String::from_utf8_lossy(reason).chars().take(MAX_REASON_CHARS).collect();
        Some(Close { side, kind, code: Some(code), reason, time_ns })
    });
}
