//! One TCP connection while its packets pass: its two directions, and what both sides agreed on.
//!
//! The client's data is direction 0, the server's direction 1. What a packet does to it stands in
//! [`crate::tcp::connection::on_packet`] and in the files of this room, one for each rule.

use crate::dns::DnsStreams;
use crate::http2::Http2Reader;
use crate::packet::{Packet, option_bits, tcp_flags};
use crate::tcp::capture::two_taps::TwoPoints;
use crate::tcp::connection::doubtful::Doubtful;
use crate::tcp::connection::ending_log::EndingLog;
use crate::tcp::connection::environment::ClockStep;
use crate::tcp::connection::handshake::Handshake;
use crate::tcp::connection::padded::Padding;
use crate::tcp::connection::reset::Believed;
use crate::tcp::connection::watchers::Watchers;
use crate::tcp::direction::direction::Direction;
use crate::tcp::direction::placed::Peer;
use crate::tcp::events::bounds::BoundsReached;
use crate::tcp::events::context::Context;
use crate::tcp::events::ecn::Ecn;
use crate::tcp::events::ends::Ends;
use crate::tcp::events::openings::OtherSynAck;
use crate::tcp::gaps::host_silences::Standstills;
use crate::tcp::requests::talk::{NOBODY, Talk, Turn};
use crate::tcp::rtt::echo_loop::EchoLoops;
use crate::tls::TlsTracker;

/// A connection in progress.
#[derive(Debug)]
pub struct Connection {
    /// Number from 1 in order of the first packet (final in a single shard only).
    pub id: u32,
    /// Number of the first packet among all.
    pub order: u64,
    /// Input of the first packet.
    pub input: u16,
    /// Its frame number in that input.
    pub first_frame: u32,
    /// 4 or 6.
    pub ip_version: u8,
    /// Client's address, then the server's: 4 bytes each at the front for IPv4, 16 each for IPv6.
    pub addresses: [u8; 32],
    /// Client's port and server's port.
    pub ports: [u16; 2],
    /// Time of the first packet.
    pub start_ns: i64,
    /// Time of the last packet.
    pub end_ns: i64,
    /// Data of the client, data of the server.
    pub directions: [Direction; 2],
    /// What watches the client's data, the server's data.
    pub(crate) watchers: [Watchers; 2],
    /// Opening.
    pub handshake: Handshake,
    /// First FIN.
    pub first_fin_ns: Option<i64>,
    /// Reset by client or server, and when.
    pub reset: Option<Believed>,
    /// A reset that was to refuse it, before the answer came.
    pub(crate) refused: Option<(u8, i64)>,
    /// TLS facts in the making.
    pub tls: Option<Box<TlsTracker>>,
    pub(crate) tls_settled: bool,
    /// Names looked up, if this is a connection to a resolver.
    pub dns: Option<Box<DnsStreams>>,
    /// Frames of HTTP/2, from its preface on, or inside TLS where there are keys.
    pub(crate) http2: Option<Box<Http2Reader>>,
    /// Shortest round trip between the capture point and client, server.
    pub loops_ns: [Option<i64>; 2],
    /// Where the handshake was not captured: what echoes show of them, until that is known.
    pub(crate) echo_loops: Option<Box<EchoLoops>>,
    /// The capture point is beside client, server; follows from the loops.
    pub(crate) beside: [bool; 2],
    /// A queue stands between client, server and the capture point: it is not beside them, however short the way is.
    pub(crate) behind_queue: [bool; 2],
    /// Shifts of the windows that client, server advertise; follow from the offers.
    pub(crate) shifts: [Option<u8>; 2],
    /// Both sides permit SACK.
    pub(crate) sack: bool,
    pub(crate) handshake_rtt_ns: Option<i64>,
    /// Congestion marks, if both sides agreed to report them; follows from the last SYN's flags and those of its answer.
    pub(crate) ecn: Option<Box<Ecn>>,
    pub(crate) syn_flags: Option<u16>,
    pub(super) suspected_step: Option<(u8, ClockStep)>,
    /// What passed at two capture points, if there are, or may be, as many.
    pub(crate) two_points: Option<Box<TwoPoints>>,
    /// SYN-ACKs with other numbers that came before the last one: of a proxy and a host, or of two hosts.
    pub(crate) other_syn_acks: Vec<OtherSynAck>,
    /// Lists of both directions together that were full.
    pub(crate) bounds: BoundsReached,
    /// The last SYN or SYN-ACK that was left out as a copy of the one before.
    pub(crate) copied_opening: Option<Box<Packet>>,
    /// SYN, SYN-ACK were captured twice, far apart.
    pub(crate) openings_twice: [bool; 2],
    /// Packets that no window allows, as long as what follows may show that the capture missed what lies between.
    pub(crate) doubtful: Option<Box<Doubtful>>,
    /// By so much the client's numbers are moved on the other side of a device that rewrites them, and was captured, too.
    pub(crate) rewritten_by: Option<u32>,
    /// Packets that may have been padded.
    pub(crate) padding: Option<Box<Padding>>,
    /// Number of the packet with which it was over.
    pub over_since: Option<u64>,
    /// Per-packet rows are wanted.
    pub detailed: bool,
    /// It is over but for the rows of what still comes: without them, only its summary would be left.
    pub over_but_for_rows: bool,
    /// Whose data passed last, client (0) or server (1); see [`crate::tcp::connection::speaking`].
    pub(crate) speaker: u8,
    pub(crate) turn: Option<Turn>,
    /// What they said to each other.
    pub(crate) talk: Option<Box<Talk>>,
    /// Gaps wait to be judged.
    pub(crate) looking: bool,
    /// When the last packet of client, server passed; later than any packet as long as there was none.
    pub(crate) passed_ns: [i64; 2],
    /// Silences of both hosts.
    pub(crate) standstills: Option<Box<Standstills>>,
    /// What happened besides its data.
    pub(crate) ending: Option<Box<EndingLog>>,
}

/// What the rules for the data of `side` ask of the other side.
#[inline(always)]
pub(super) fn peer_of<'a>(side: usize, direction: &'a Direction, handshake: &'a Handshake) -> Peer<'a> {
    let openings = if side == 0 { &handshake.syn_ack } else { &handshake.syn };
    Peer { direction, openings, is_client: side == 1 }
}

impl Connection {
    /// Begins with its first packet.
    pub fn new(id: u32, packet: &Packet, bytes: &[u8]) -> Self {
        let Ends { addresses, ports, .. } = Ends::of(packet, bytes);
        let begins_in_mid_stream = !packet.has(tcp_flags::SYN) && packet.options & option_bits::TIMESTAMPS != 0;
        Self {
            id,
            order: 0,
            input: packet.input,
            first_frame: packet.frame,
            ip_version: packet.ip_version,
            addresses,
            ports,
            start_ns: packet.time_ns,
            end_ns: packet.time_ns,
            directions: Default::default(),
            watchers: [Watchers::NONE; 2],
            handshake: Handshake::default(),
            first_fin_ns: None,
            reset: None,
            refused: None,
            tls: None,
            tls_settled: false,
            dns: None,
            http2: None,
            loops_ns: [None; 2],
            echo_loops: begins_in_mid_stream.then(Box::default),
            beside: [false; 2],
            behind_queue: [false; 2],
            shifts: [None; 2],
            sack: false,
            handshake_rtt_ns: None,
            ecn: None,
            syn_flags: None,
            suspected_step: None,
            two_points: begins_in_mid_stream.then(Box::default),
            other_syn_acks: Vec::new(),
            bounds: BoundsReached::default(),
            copied_opening: None,
            openings_twice: [false; 2],
            doubtful: None,
            rewritten_by: None,
            padding: None,
            over_since: None,
            detailed: false,
            over_but_for_rows: false,
            speaker: NOBODY,
            turn: None,
            talk: None,
            looking: false,
            passed_ns: [Packet::NEVER_NS; 2],
            standstills: None,
            ending: None,
        }
    }

    /// Bookkeeping that every packet gets which is no copy.
    #[inline]
    pub(crate) fn count(&mut self, packet: &Packet, side: usize) {
        let direction = &mut self.directions[side];
        if direction.ttl == 0 {
            direction.ttl = packet.ttl;
        }
        direction.packets += 1;
        direction.wire_bytes += u64::from(packet.wire_length);
    }

    pub(crate) fn offers_are_known(&self) -> bool {
        self.directions.iter().all(|direction| direction.offer.seen && !direction.offer.cut)
    }

    /// What the rules for the data of `side` may know of the connection.
    #[inline(always)]
    pub(crate) fn context(&self, side: usize) -> Context {
        Context {
            sack: self.sack,
            beside_sender: self.beside[side],
            beside_receiver: self.beside[1 - side],
            loops_ns: [self.loops_ns[side], self.loops_ns[1 - side]],
            handshake_rtt_ns: self.handshake_rtt_ns,
        }
    }

    /// Shift of the windows `side` advertises; none if it is not known (RFC 7323 section 2.2: both must offer).
    pub fn advertised_shift(&self, side: usize) -> Option<u8> {
        let (own, peer) = (&self.directions[side].offer, &self.directions[1 - side].offer);
        match (own.tells_scale(), peer.tells_scale()) {
            (true, true) => Some(own.window_scale.filter(|_| peer.window_scale.is_some()).unwrap_or(0)),
            // A SYN-ACK has the option only if the SYN had it.
            (true, false) if side == 1 => Some(own.window_scale.unwrap_or(0)),
            (false, true) if side == 0 && peer.window_scale.is_none() => Some(0),
            _ => None,
        }
    }
}
