//! What packets say once they are opened: numbers, acknowledgements, streams and their windows.

use crate::quic::counting::{Counting, PacketCounts};
use crate::quic::frame::{Frame, Frames};
use crate::quic::hellos::CryptoStream;
use crate::quic::ids::Ids;
use crate::quic::levels::{Levels, Sealed, Session};
use crate::quic::numbers::{HANDSHAKE, ONE_RTT, QuicNumbers};
use crate::quic::parameters::Parameters;
use crate::quic::round_trip::{AcknowledgedRtt, DEFAULT_MAX_ACK_DELAY_NS, QuicRoundTrip};
use crate::quic::streams::{FlowControl, Streams};
use crate::secrets::SharedKeys;

/// Reset tokens kept of an end.
const MAX_TOKENS: usize = 16;

/// Packets that are kept one by one.
const MAX_KEPT: usize = 1 << 18;

/// Streams that are listed.
const MAX_LISTED: usize = 20;

/// Bytes of a stateless reset token.
const TOKEN_BYTES: usize = 16;

/// See the module.
#[derive(Debug, Clone)]
pub(super) struct Inside {
    log: SharedKeys,
    levels: Levels,
    /// Of the client and the server, each by space.
    numbers: [[QuicNumbers; 3]; 2],
    counting: [Counting; 2],
    round_trips: [QuicRoundTrip; 2],
    /// What each of them sends.
    streams: [Streams; 2],
    parameters: [Option<Parameters>; 2],
    crypto: CryptoStream,
    pub(super) alpn: Option<String>,
    tokens: [Vec<[u8; TOKEN_BYTES]>; 2],
    /// If they are asked for.
    pub(super) kept: Option<Vec<KeptPacket>>,
}

/// A packet for itself, for who compares with what an endpoint logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptPacket {
    /// When it passed, Unix nanoseconds.
    pub time_ns: i64,
    /// Its number.
    pub number: u64,
    /// Of the Initials (0), the handshake (1), application data (2).
    pub space: u8,
    /// The server sent it.
    pub from_server: bool,
}

/// A packet that was opened.
#[derive(Debug, Clone, Copy)]
pub(super) struct Opened<'a> {
    pub(super) from: usize,
    pub(super) space: usize,
    pub(super) number: u64,
    pub(super) contents: &'a [u8],
    pub(super) time_ns: i64,
}

/// One stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamSummary {
    /// Its number.
    pub id: u64,
    /// Bytes of the client and the server.
    pub bytes: [u64; 2],
    /// First and last frame of either side, Unix nanoseconds.
    pub between_ns: [i64; 2],
    /// Both sides that sent anything finished it.
    pub finished: bool,
    /// Error with which a side gave it up.
    pub reset_code: Option<u64>,
}

/// What is known with keys.
#[derive(Debug, Clone, PartialEq)]
pub struct InsideSummary {
    /// Of the client and the server.
    pub packets: [PacketCounts; 2],
    /// Of packets of the client and the server.
    pub acknowledged_rtt: [Option<AcknowledgedRtt>; 2],
    /// What the client and the server send.
    pub flow_control: [FlowControl; 2],
    /// The largest ones, in the order of their numbers.
    pub streams: Vec<StreamSummary>,
    /// How many there were.
    pub streams_count: u64,
    /// Updates of the keys.
    pub key_updates: u64,
}

impl Inside {
    pub(super) fn new(log: SharedKeys) -> Self {
        Self {
            log,
            levels: Levels::default(),
            numbers: Default::default(),
            counting: Default::default(),
            round_trips: Default::default(),
            streams: Default::default(),
            parameters: [None; 2],
            crypto: CryptoStream::new(),
            alpn: None,
            tokens: Default::default(),
            kept: None,
        }
    }

    /// Opens a packet of the handshake or of application data.
    pub(super) fn open(
        &mut self,
        space: usize,
        session: &Session<'_>,
        from: usize,
        packet: &[u8],
        number_offset: usize,
        buffer: &mut Vec<u8>,
    ) -> Option<(u64, std::ops::Range<usize>)> {
        let sealed = Sealed { from, packet, number_offset, largest: self.numbers[from][space].largest };
        match space {
            HANDSHAKE => self.levels.open_handshake(&self.log, session, sealed, buffer),
            _ => self.levels.open_one_rtt(&self.log, session, sealed, buffer),
        }
    }

    /// A packet with a short header ends where `packet` does.
    pub(super) fn is_whole(
        &mut self,
        session: &Session<'_>,
        from: usize,
        packet: &[u8],
        number_offset: usize,
        buffer: &mut Vec<u8>,
    ) -> bool {
        let sealed = Sealed { from, packet, number_offset, largest: self.numbers[from][ONE_RTT].largest };
        self.levels.fitting_one_rtt(&self.log, session, sealed, buffer).is_some()
    }

    /// The client's parameters, once its hello was read.
    pub(super) fn client_parameters(&mut self, content: &[u8]) {
        if self.parameters[0].is_none() && !content.is_empty() {
            self.set_parameters(0, content);
        }
    }

    fn set_parameters(&mut self, end: usize, content: &[u8]) {
        let parameters = Parameters::read(content);
        self.tokens[end].extend(parameters.reset_token);
        self.streams[1 - end].allow(&parameters);
        self.parameters[end] = Some(parameters);
    }

    /// Takes what a packet holds. `ids` are those of its sender.
    pub(super) fn packet(&mut self, opened: &Opened<'_>, ids: &mut Ids) {
        let &Opened { from, space, number, contents, time_ns } = opened;
        let elicits_ack = Frames::new(contents).any(|frame| frame.elicits_ack());
        if !self.numbers[from][space].sent(number, elicits_ack, time_ns) {
            return;
        }
        self.counting[from].seen(space, number);
        if let Some(kept) = self.kept.as_mut().filter(|kept| kept.len() < MAX_KEPT) {
            kept.push(KeptPacket { time_ns, number, space: space as u8, from_server: from == 1 });
        }
        if space == HANDSHAKE && from == 1 {
            self.server_handshake(contents);
        }
        for frame in Frames::new(contents) {
            self.frame(frame, opened, ids);
        }
    }

    fn server_handshake(&mut self, contents: &[u8]) {
        self.crypto.contents(contents);
        if self.parameters[1].is_none()
            && let Some(extensions) = self.crypto.assembler.messages.encrypted_extensions.take()
        {
            if !extensions.quic_parameters.is_empty() {
                self.set_parameters(1, &extensions.quic_parameters);
            }
            self.alpn = extensions.alpn;
        }
    }

    fn frame(&mut self, frame: Frame<'_>, opened: &Opened<'_>, ids: &mut Ids) {
        let &Opened { from, space, time_ns, .. } = opened;
        let peer = 1 - from;
        match frame {
            Frame::Ack { delay, ranges, .. } => {
                let acknowledged = self.numbers[peer][space].acknowledged(&ranges);
                let parameters = self.parameters[from];
                let exponent = parameters.map_or(3, |parameters| parameters.ack_delay_exponent);
                let delay_ns =
                    delay.checked_shl(exponent).and_then(|delay_us| i64::try_from(delay_us).ok()?.checked_mul(1000));
                let max_delay_ns =
                    parameters.map_or(DEFAULT_MAX_ACK_DELAY_NS, |parameters| parameters.max_ack_delay_ns);
                if let Some(acknowledged) = acknowledged {
                    let latest_ns = time_ns.saturating_sub(acknowledged.sent_ns);
                    let delay_ns = delay_ns.filter(|_| space == ONE_RTT);
                    self.round_trips[peer].sample(latest_ns, delay_ns, max_delay_ns);
                }
            }
            Frame::Stream { id, offset, bytes, finishes } => {
                let first_limit = self.parameters[peer].map(|parameters| parameters.max_stream_data(id, from));
                let rtt_ns = self.round_trips.iter().filter_map(QuicRoundTrip::smoothed_ns).sum();
                self.streams[from].data(id, offset.saturating_add(bytes), finishes, first_limit, time_ns, rtt_ns);
            }
            Frame::ResetStream { id, code, .. } => self.streams[from].reset(id, code, time_ns),
            // Who is asked to stop sends no more.
            Frame::StopSending { id, code } => self.streams[peer].reset(id, code, time_ns),
            Frame::MaxData(limit) => self.streams[peer].credit(None, limit, time_ns),
            Frame::MaxStreamData { id, limit } => self.streams[peer].credit(Some(id), limit, time_ns),
            Frame::DataBlocked => self.streams[from].declared(None),
            Frame::StreamDataBlocked { id } => self.streams[from].declared(Some(id)),
            Frame::NewConnectionId { id, reset_token } => {
                ids.announced(id);
                if let Ok(token) = reset_token.try_into()
                    && self.tokens[from].len() < MAX_TOKENS
                {
                    self.tokens[from].push(token);
                }
            }
            _ => {}
        }
    }

    /// A packet that could not be opened ends with a token that its sender announced (RFC 9000 section 10.3).
    pub(super) fn is_reset(&self, from: usize, packet: &[u8]) -> bool {
        packet.last_chunk::<TOKEN_BYTES>().is_some_and(|end| self.tokens[from].contains(end))
    }

    /// Packets that no key fits, if any.
    pub(super) fn sealed(&self) -> u64 {
        self.levels.sealed.iter().sum()
    }

    /// None if no packet was opened with keys of the log.
    pub(super) fn summary(&self) -> Option<InsideSummary> {
        if self.levels.opened == 0 {
            return None;
        }
        let packets = [0, 1].map(|side| self.counting[side].packets(&self.numbers[side]));
        let (streams, streams_count) = self.listed();
        Some(InsideSummary {
            packets,
            acknowledged_rtt: self.round_trips.each_ref().map(QuicRoundTrip::summary),
            flow_control: self.streams.each_ref().map(|streams| streams.flow_control),
            streams,
            streams_count,
            key_updates: self.levels.updates(),
        })
    }

    fn listed(&self) -> (Vec<StreamSummary>, u64) {
        let mut ids: Vec<u64> = self.streams.iter().flat_map(|streams| streams.lanes.keys().copied()).collect();
        ids.sort_unstable();
        ids.dedup();
        let mut list: Vec<StreamSummary> = ids.iter().map(|&id| self.stream(id)).collect();
        let not_kept = self.streams.iter().map(|streams| streams.not_kept).max().unwrap_or(0);
        let count = list.len() as u64 + not_kept;
        list.sort_by_key(|stream| std::cmp::Reverse(stream.bytes.iter().sum::<u64>()));
        list.truncate(MAX_LISTED);
        list.sort_by_key(|stream| stream.id);
        (list, count)
    }

    fn stream(&self, id: u64) -> StreamSummary {
        let lanes = self.streams.each_ref().map(|streams| streams.lanes.get(&id));
        let present = || lanes.iter().flatten();
        StreamSummary {
            id,
            bytes: lanes.map(|lane| lane.map_or(0, |lane| lane.bytes)),
            between_ns: [
                present().map(|lane| lane.first_ns).min().unwrap_or(0),
                present().map(|lane| lane.last_ns).max().unwrap_or(0),
            ],
            finished: present().filter(|lane| lane.bytes > 0).all(|lane| lane.finished),
            reset_code: present().find_map(|lane| lane.reset_code),
        }
    }
}
