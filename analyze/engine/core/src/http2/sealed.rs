//! What is inside TLS whose keys are in a key log: records opened, and their text handed to the frames of HTTP/2. Of other
//! protocols it waits for whoever asks who spoke.
//!
//! A record that no key opens ends the reading of its direction: behind it the sequence of records is not known.

use crate::http2::frame::PREFACE;
use crate::http2::ordered::{Ordered, Pieces};
use crate::http2::record_keys::{Agreed, RecordKeys};
use crate::http2::tracker::{Http2Summary, Http2Tracker};
use crate::secrets::SharedKeys;
use crate::tls::Moment;
use crate::tls::handshake::Assembler;
use crate::tls::names::is_tls13;
use crate::tls::record::{ContentType, HEADER_BYTES, RecordHeader};

const APPLICATION: u8 = 23;

/// Records that may fail before a direction is given up: those of early data have keys of their own.
const MAX_FAILED: u32 = 64;

/// Texts that wait until it is known whether they are HTTP/2.
const MAX_WAITING: usize = 64;

/// The text of a record, and when its first and its last byte passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// Client (0) or server (1).
    pub side: usize,
    /// Without padding.
    pub text: Vec<u8>,
    /// Of its first byte.
    pub start: Moment,
    /// Of its last byte.
    pub end: Moment,
}

#[derive(Debug, Clone, Default)]
struct SealedLane {
    record: Vec<u8>,
    record_start: Moment,
    assembler: Assembler,
    keys: Option<RecordKeys>,
    /// Behind ChangeCipherSpec.
    is_sealed: bool,
    failed: u32,
    lost: bool,
    /// Bytes of application data so far.
    text_bytes: u64,
}

/// See the module.
pub type SealedTracker = Ordered<RecordReader>;

/// Records of both directions, and what reads their text.
#[derive(Debug, Clone)]
pub struct RecordReader {
    log: SharedKeys,
    lanes: [SealedLane; 2],
    http2: Option<Http2Tracker>,
    /// The client's text begins otherwise.
    is_other: bool,
    /// Texts that nobody has asked for yet.
    opened: Vec<Opened>,
    /// Some had to be dropped.
    dropped: bool,
}

impl SealedTracker {
    /// For a connection whose keys may be in `log`.
    pub fn new(log: &SharedKeys) -> Self {
        Self::of(RecordReader {
            log: log.clone(),
            lanes: Default::default(),
            http2: None,
            is_other: false,
            opened: Vec::new(),
            dropped: false,
        })
    }

    /// Texts of a protocol that is not HTTP/2 since this was asked last.
    pub fn take_opened(&mut self) -> Vec<Opened> {
        if self.reader.is_other { std::mem::take(&mut self.reader.opened) } else { Vec::new() }
    }

    /// All that both sides said was opened, and is not HTTP/2.
    pub fn has_opened_all(&self) -> bool {
        let RecordReader { lanes, is_other, dropped, .. } = &self.reader;
        *is_other && !dropped && !self.is_waiting() && lanes.iter().all(|lane| !lane.lost && lane.failed == 0)
    }

    /// What is known; none if no preface was found.
    pub fn summary(&self) -> Option<Http2Summary> {
        let summary = self.reader.http2.as_ref().filter(|_| !self.reader.is_other)?.summary();
        let complete = summary.complete && !self.is_waiting() && !self.reader.lanes.iter().any(|lane| lane.lost);
        Some(Http2Summary { complete, ..summary })
    }
}

impl Pieces for RecordReader {
    fn is_over(&self) -> bool {
        self.lanes.iter().any(|lane| lane.lost)
    }

    fn piece(&mut self, side: usize, bytes: &[u8], blind_bytes: u64, at: Moment) {
        let mut bytes = bytes;
        while !bytes.is_empty() && !self.is_over() {
            let lane = &mut self.lanes[side];
            if lane.record.is_empty() {
                lane.record_start = at;
            }
            let header = lane.record.first_chunk::<5>().map(|header| RecordHeader::parse(*header));
            let body_bytes = match header {
                Some(None) => {
                    lane.lost = true;
                    return;
                }
                Some(Some(header)) => usize::from(header.length),
                None => 0,
            };
            let left = (HEADER_BYTES as usize + body_bytes).saturating_sub(lane.record.len());
            let (now, rest) = bytes.split_at(bytes.len().min(left));
            lane.record.extend_from_slice(now);
            bytes = rest;
            if header.is_some() && now.len() == left {
                let record = std::mem::take(&mut lane.record);
                self.record(side, &record, at);
            }
        }
        self.lanes[side].lost |= blind_bytes > 0;
    }
}

impl RecordReader {
    fn record(&mut self, side: usize, record: &[u8], end: Moment) {
        let Some((&header, body)) = record.split_first_chunk::<5>() else { return };
        let Some(RecordHeader { content_type, .. }) = RecordHeader::parse(header) else { return };
        let lane = &mut self.lanes[side];
        match content_type {
            ContentType::ChangeCipherSpec => lane.is_sealed = true,
            ContentType::Handshake if !lane.is_sealed => {
                lane.assembler.record_start(false);
                lane.assembler.bytes(body);
            }
            ContentType::Alert if !lane.is_sealed => {}
            // Only a record of application data tells of the loss of a sequence: in TLS 1.3 nothing else is sealed.
            _ => {
                let opened = self.open(side, header, body);
                let lane = &mut self.lanes[side];
                match opened {
                    Some((APPLICATION, text)) => {
                        let start = lane.record_start;
                        self.text(Opened { side, text, start, end });
                    }
                    Some(_) => {}
                    None => {
                        lane.failed += 1;
                        lane.lost |= lane.failed > MAX_FAILED || lane.text_bytes > 0;
                    }
                }
            }
        }
    }

    fn open(&mut self, side: usize, header: [u8; 5], body: &[u8]) -> Option<(u8, Vec<u8>)> {
        if self.lanes[side].keys.is_none() {
            let [client, server] = self.lanes.each_ref().map(|lane| &lane.assembler.messages);
            let (client, server) = (client.client_hello.as_ref()?, server.server_hello.as_ref()?);
            let agreed = Agreed {
                randoms: [&client.random, &server.random],
                suite: server.cipher,
                is_tls13: is_tls13(server.version),
            };
            let keys = RecordKeys::new(&self.log, &agreed, side);
            self.lanes[side].keys = keys;
        }
        self.lanes[side].keys.as_mut()?.open(header, body)
    }

    fn text(&mut self, opened: Opened) {
        let Opened { side, text, end: (time_ns, _), .. } = &opened;
        let offset = self.lanes[*side].text_bytes;
        self.lanes[*side].text_bytes += text.len() as u64;
        if *side == 0 && offset == 0 && !text.is_empty() {
            self.is_other = !text.starts_with(PREFACE.get(..text.len().min(PREFACE.len())).unwrap_or(PREFACE));
            self.dropped |= !self.is_other;
        }
        if !self.is_other {
            let http2 = self.http2.get_or_insert_with(Http2Tracker::new);
            http2.segment(*side, offset, text, text.len() as u32, *time_ns);
        }
        let has_room = self.is_other || self.opened.len() < MAX_WAITING;
        self.dropped |= !has_room;
        if !self.dropped && !text.is_empty() {
            self.opened.push(opened);
        }
    }
}
