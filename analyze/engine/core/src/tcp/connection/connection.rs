//! One TCP connection while its packets pass: its two directions, and what both sides agreed on.
//!
//! The client's data is direction 0, the server's direction 1. What a packet does to it stands in
//! [`crate::tcp::connection::on_packet`] and in the files of this room, one for each rule.

use crate::packet::{Packet, option_bits, tcp_flags};
use crate::tcp::connection::groups::{Doubts, Endings, Identity, Loops, Speech, Streams, Terms, Times, Watch};
use crate::tcp::connection::handshake::Handshake;
use crate::tcp::direction::direction::Direction;
use crate::tcp::direction::placed::Peer;
use crate::tcp::events::bounds::BoundsReached;
use crate::tcp::events::ends::Ends;

/// A connection in progress, by what is known of it. A rule takes what it reads and changes.
#[derive(Debug, Clone)]
pub struct Connection {
    /// Which it is.
    pub identity: Identity,
    /// When its packets passed.
    pub times: Times,
    /// Data of the client, data of the server.
    pub directions: [Direction; 2],
    /// What watches them.
    pub(crate) watch: Watch,
    /// How both hosts opened it, what they agreed on, and how far away they are.
    pub terms: Terms,
    /// How it ends.
    pub endings: Endings,
    /// Readers of what is in its data.
    pub streams: Streams,
    /// Who speaks, and what was said.
    pub(crate) speech: Speech,
    /// What may not be its own.
    pub(crate) doubts: Doubts,
    /// Lists of both directions together that were full.
    pub(crate) bounds: BoundsReached,
    /// Per-packet rows are wanted.
    pub detailed: bool,
}

/// What the rules for the data of `side` ask of the other side.
#[inline(always)]
pub(super) fn peer_of<'a>(side: usize, direction: &'a Direction, handshake: &'a Handshake) -> Peer<'a> {
    let openings = if side == 0 { &handshake.syn_ack } else { &handshake.syn };
    Peer { direction, openings, is_client: side == 1 }
}

/// What both sides offered was captured.
pub(crate) fn offers_are_known(directions: &[Direction; 2]) -> bool {
    directions.iter().all(|direction| direction.offer.seen && !direction.offer.cut)
}

/// Shift of the windows `side` advertises; none if it is not known (RFC 7323 section 2.2: both must offer).
pub(crate) fn advertised_shift(directions: &[Direction; 2], side: usize) -> Option<u8> {
    let (own, peer) = (&directions[side].offer, &directions[1 - side].offer);
    match (own.tells_scale(), peer.tells_scale()) {
        (true, true) => Some(own.window_scale.filter(|_| peer.window_scale.is_some()).unwrap_or(0)),
        // A SYN-ACK has the option only if the SYN had it.
        (true, false) if side == 1 => Some(own.window_scale.unwrap_or(0)),
        (false, true) if side == 0 && peer.window_scale.is_none() => Some(0),
        _ => None,
    }
}

impl Connection {
    /// Begins with its first packet.
    pub fn new(id: u32, packet: &Packet, bytes: &[u8]) -> Self {
        let Ends { addresses, ports, .. } = Ends::of(packet, bytes);
        let begins_in_mid_stream = !packet.has(tcp_flags::SYN) && packet.options & option_bits::TIMESTAMPS != 0;
        Self {
            identity: Identity {
                id,
                order: 0,
                input: packet.input,
                first_frame: packet.frame,
                ip_version: packet.ip_version,
                addresses,
                ports,
            },
            times: Times {
                start_ns: packet.time_ns,
                end_ns: packet.time_ns,
                end_frame: packet.frame,
                passed_ns: [Packet::NEVER_NS; 2],
            },
            directions: Default::default(),
            watch: Watch::NONE,
            terms: Terms {
                loops: Loops { echo_loops: begins_in_mid_stream.then(Box::default), ..Loops::default() },
                ..Terms::default()
            },
            endings: Endings::default(),
            streams: Streams::default(),
            speech: Speech::default(),
            doubts: Doubts { two_points: begins_in_mid_stream.then(Box::default), ..Doubts::default() },
            bounds: BoundsReached::default(),
            detailed: false,
        }
    }
}
