//! DNS over TCP (RFC 7766): messages of both directions out of the byte streams of one connection.

use crate::dns::lookups::{Exchange, Lookups, Transport};
use crate::tls::stream::{InOrder, Origin, StreamPiece};

/// Longest message with its length: what the two bytes can say.
const MAX_BUFFER_BYTES: usize = 2 + 0xffff;

/// One connection to port 53.
#[derive(Debug, Clone)]
pub struct DnsStreams {
    lanes: [MessageLane; 2],
    lookups: Lookups,
}

#[derive(Debug, Clone)]
struct MessageLane {
    order: InOrder,
    buffer: Vec<u8>,
    /// Bytes are missing: the places of the following messages are not known.
    lost: bool,
}

impl Default for DnsStreams {
    fn default() -> Self {
        Self::new()
    }
}

impl DnsStreams {
    /// Nothing seen yet.
    pub fn new() -> Self {
        let lane = || MessageLane { order: InOrder::new(), buffer: Vec::new(), lost: false };
        Self { lanes: [lane(), lane()], lookups: Lookups::of_one_connection() }
    }

    /// Takes payload of one direction (0 is the client's): `captured` is the beginning of `length` stream bytes from
    /// `stream_offset` on; each byte comes at most once.
    pub fn segment(&mut self, exchange: Exchange, side: usize, stream_offset: u64, captured: &[u8], length: u32) {
        let Some(lane) = self.lanes.get_mut(side) else { return };
        let bytes = captured.get(..length as usize).unwrap_or(captured);
        let blind_bytes = u64::from(length) - bytes.len() as u64;
        let piece =
            StreamPiece { bytes, blind_bytes, time_ns: exchange.time_ns, frame: exchange.frame, origin: Origin::Fresh };
        let MessageLane { order, buffer, lost } = lane;
        let lookups = &mut self.lookups;
        order.segment(stream_offset, piece, true, |_, piece| {
            if *lost {
                return;
            }
            buffer.extend_from_slice(piece.bytes);
            let taken = messages(buffer, |message| {
                lookups.message(
                    Exchange { time_ns: piece.time_ns, frame: piece.frame, transport: Transport::Tcp, ..exchange },
                    message,
                    false,
                );
            });
            buffer.drain(..taken);
            *lost = piece.blind_bytes > 0 || buffer.len() > MAX_BUFFER_BYTES;
        });
        if *lost {
            *buffer = Vec::new();
            order.abandon();
        }
    }

    /// What was looked up over this connection.
    pub fn into_lookups(self) -> Lookups {
        self.lookups
    }
}

/// Gives the whole messages at the beginning of `buffer` and returns how many bytes they take.
fn messages(buffer: &[u8], mut give: impl FnMut(&[u8])) -> usize {
    let mut at = 0;
    while let Some(length) = buffer.get(at..).and_then(<[u8]>::first_chunk).map(|pair| u16::from_be_bytes(*pair)) {
        let Some(message) = buffer.get(at + 2..at + 2 + usize::from(length)) else { break };
        give(message);
        at += 2 + usize::from(length);
    }
    at
}
