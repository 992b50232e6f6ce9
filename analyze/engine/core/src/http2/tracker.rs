//! Both directions of a connection.

use std::collections::BTreeMap;

use crate::http2::frame::{self, Cutter, Frame, PREFACE};
use crate::http2::ordered::{Ordered, Pieces};
use crate::http2::windows::{WindowUse, Windows};
use crate::tls::Moment;

const ACK: u8 = 1;

const END_STREAM: u8 = 1;

const INITIAL_WINDOW_SIZE: u16 = 4;

/// Different codes of resets that are counted apart.
const MAX_CODES: usize = 32;

/// How a side ended the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Goaway {
    /// 0 the client, 1 the server.
    pub side: usize,
    /// Its error code.
    pub code: u32,
    /// The last stream that it takes.
    pub last_stream: u32,
    /// When it passed, Unix nanoseconds.
    pub time_ns: i64,
}

/// What is known of a connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Http2Summary {
    /// Streams that were opened.
    pub streams: u64,
    /// Windows of the client's data and of the server's.
    pub windows: [WindowUse; 2],
    /// The first GOAWAY with an error, else the first one.
    pub goaway: Option<Goaway>,
    /// RST_STREAM by code.
    pub resets: BTreeMap<u32, u64>,
    /// Pings that a side sent first.
    pub pings: u64,
    /// Both directions were read to their end.
    pub complete: bool,
}

#[derive(Debug, Clone)]
struct FrameLane {
    cutter: Cutter,
    /// Of what this side sends.
    windows: Windows,
}

/// See the module.
pub type Http2Tracker = Ordered<FrameReader>;

/// What is known of both directions.
#[derive(Debug, Clone)]
pub struct FrameReader {
    lanes: [FrameLane; 2],
    last_stream: u32,
    summary: Http2Summary,
}

impl Default for Http2Tracker {
    fn default() -> Self {
        Self::new()
    }
}

impl Http2Tracker {
    /// For a connection whose client begins with the preface.
    pub fn new() -> Self {
        let lane = |cutter| FrameLane { cutter, windows: Windows::new() };
        let lanes = [lane(Cutter::behind_preface(PREFACE.len())), lane(Cutter::default())];
        Self::of(FrameReader { lanes, last_stream: 0, summary: Http2Summary::default() })
    }

    /// What is known so far.
    pub fn summary(&self) -> Http2Summary {
        let lanes = &self.reader.lanes;
        Http2Summary {
            windows: lanes.each_ref().map(|lane| lane.windows.used.clone()),
            complete: !self.is_waiting() && lanes.iter().all(|lane| !lane.cutter.lost),
            ..self.reader.summary.clone()
        }
    }
}

impl Pieces for FrameReader {
    fn piece(&mut self, side: usize, bytes: &[u8], blind_bytes: u64, (time_ns, _): Moment) {
        let [client, server] = &mut self.lanes;
        let (lane, peer) = if side == 0 { (client, server) } else { (server, client) };
        let FrameLane { cutter, windows, .. } = lane;
        let mut both = Both {
            side,
            own: windows,
            peers: &mut peer.windows,
            summary: &mut self.summary,
            last_stream: &mut self.last_stream,
        };
        cutter.bytes(bytes, time_ns, |frame| both.frame(&frame));
        cutter.blind(blind_bytes, time_ns, |frame| both.frame(&frame));
    }

    fn is_over(&self) -> bool {
        self.lanes.iter().all(|lane| lane.cutter.lost)
    }
}

/// What a frame of one side changes.
struct Both<'a> {
    side: usize,
    own: &'a mut Windows,
    peers: &'a mut Windows,
    summary: &'a mut Http2Summary,
    last_stream: &'a mut u32,
}

impl Both<'_> {
    fn frame(&mut self, frame: &Frame<'_>) {
        let [_, end_ns] = frame.between_ns;
        match frame.kind {
            frame::DATA => {
                self.own.data(frame.stream, frame.length, frame.flags & END_STREAM != 0, frame.between_ns);
            }
            frame::HEADERS if frame.stream > *self.last_stream => {
                *self.last_stream = frame.stream;
                self.summary.streams += 1;
            }
            frame::SETTINGS if frame.flags & ACK == 0 => {
                let (settings, _) = frame.payload.as_chunks::<6>();
                for &[high, low, a, b, c, d] in settings {
                    if u16::from_be_bytes([high, low]) == INITIAL_WINDOW_SIZE {
                        self.peers.initial(u32::from_be_bytes([a, b, c, d]) & 0x7fff_ffff, end_ns);
                    }
                }
            }
            frame::WINDOW_UPDATE => {
                if let Some(bytes) = frame.number(0) {
                    self.peers.credit(frame.stream, bytes, end_ns);
                }
            }
            frame::RST_STREAM => {
                let code = frame.number(0).unwrap_or(0);
                if self.summary.resets.len() < MAX_CODES || self.summary.resets.contains_key(&code) {
                    *self.summary.resets.entry(code).or_default() += 1;
                }
                self.own.ended(frame.stream);
                self.peers.ended(frame.stream);
            }
            frame::PING => self.summary.pings += u64::from(frame.flags & ACK == 0),
            frame::GOAWAY => self.goaway(frame, end_ns),
            _ => {}
        }
    }

    fn goaway(&mut self, frame: &Frame<'_>, time_ns: i64) {
        let Some((last_stream, code)) = frame.number(0).zip(frame.number(4)) else { return };
        if self.summary.goaway.is_none_or(|known| known.code == 0 && code != 0) {
            self.summary.goaway = Some(Goaway { side: self.side, code, last_stream, time_ns });
        }
    }
}
