//! HTTP/2 inside TLS whose keys are in a key log: records opened, and their text handed to the frames.
//!
//! A record that no key opens ends the reading of its direction: behind it the sequence of records is not known.

use crate::http2::frame::PREFACE;
use crate::http2::ordered::{Ordered, Pieces};
use crate::http2::record_keys::{Agreed, RecordKeys};
use crate::http2::tracker::{Http2Summary, Http2Tracker};
use crate::secrets::SharedKeys;
use crate::tls::handshake::Assembler;
use crate::tls::names::is_tls13;
use crate::tls::record::{ContentType, HEADER_BYTES, RecordHeader};

const APPLICATION: u8 = 23;

/// Records that may fail before a direction is given up: those of early data have keys of their own.
const MAX_FAILED: u32 = 64;

#[derive(Debug, Default)]
struct Lane {
    record: Vec<u8>,
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
#[derive(Debug)]
pub struct RecordReader {
    log: SharedKeys,
    lanes: [Lane; 2],
    http2: Option<Http2Tracker>,
    /// The client's text begins otherwise.
    is_other: bool,
}

impl SealedTracker {
    /// For a connection whose keys may be in `log`.
    pub fn new(log: &SharedKeys) -> Self {
        Self::of(RecordReader { log: log.clone(), lanes: Default::default(), http2: None, is_other: false })
    }

    /// What is known; none if no preface was found.
    pub fn summary(&self) -> Option<Http2Summary> {
        let summary = self.reader.http2.as_ref()?.summary();
        let complete = summary.complete && !self.is_waiting() && !self.reader.lanes.iter().any(|lane| lane.lost);
        Some(Http2Summary { complete, ..summary })
    }
}

impl Pieces for RecordReader {
    fn is_over(&self) -> bool {
        self.is_other || self.lanes.iter().any(|lane| lane.lost)
    }

    fn piece(&mut self, side: usize, bytes: &[u8], blind_bytes: u64, time_ns: i64) {
        let mut bytes = bytes;
        while !bytes.is_empty() && !self.is_over() {
            let lane = &mut self.lanes[side];
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
                self.record(side, &record, time_ns);
            }
        }
        self.lanes[side].lost |= blind_bytes > 0;
    }
}

impl RecordReader {
    fn record(&mut self, side: usize, record: &[u8], time_ns: i64) {
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
                    Some((APPLICATION, text)) => self.text(side, &text, time_ns),
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

    fn text(&mut self, side: usize, text: &[u8], time_ns: i64) {
        let offset = self.lanes[side].text_bytes;
        self.lanes[side].text_bytes += text.len() as u64;
        if side == 0 && offset == 0 {
            self.is_other = !text.starts_with(PREFACE.get(..text.len().min(PREFACE.len())).unwrap_or(PREFACE));
        }
        if !self.is_other {
            let http2 = self.http2.get_or_insert_with(Http2Tracker::new);
            http2.segment(side, offset, text, text.len() as u32, time_ns);
        }
    }
}
