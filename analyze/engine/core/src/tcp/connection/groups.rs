//! What is known of a [`Connection`](crate::tcp::connection::connection::Connection), in groups: each owns what belongs together, and
//! a rule takes the groups that it reads and changes.

use crate::dns::DnsStreams;
use crate::http2::Http2Reader;
use crate::packet::Packet;
use crate::tcp::capture::two_taps::TwoPoints;
use crate::tcp::connection::doubtful::Doubtful;
use crate::tcp::connection::ending_log::EndingLog;
use crate::tcp::connection::environment::ClockStep;
use crate::tcp::connection::handshake::Handshake;
use crate::tcp::connection::padded::Padding;
use crate::tcp::connection::reset::Believed;
use crate::tcp::connection::watchers::Watchers;
use crate::tcp::events::context::Context;
use crate::tcp::events::ecn::Ecn;
use crate::tcp::events::openings::OtherSynAck;
use crate::tcp::gaps::host_silences::Standstills;
use crate::tcp::requests::talk::{NOBODY, Talk, Turn};
use crate::tcp::rtt::echo_loop::EchoLoops;
use crate::tls::TlsTracker;

/// Which connection it is.
#[derive(Debug, Clone)]
pub struct Identity {
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
}

/// When its packets passed.
#[derive(Debug, Clone)]
pub struct Times {
    /// Time of the first packet.
    pub start_ns: i64,
    /// Time of the last packet.
    pub end_ns: i64,
    /// Its frame.
    pub(crate) end_frame: u32,
    /// When the last packet of client, server passed; later than any packet as long as there was none.
    pub(crate) passed_ns: [i64; 2],
}

impl Times {
    /// A packet of `side` passes that is believed and no copy.
    #[inline(always)]
    pub(super) fn passes(&mut self, packet: &Packet, side: usize) {
        if packet.time_ns >= self.end_ns {
            (self.end_ns, self.end_frame) = (packet.time_ns, packet.frame);
        }
        self.passed_ns[side] = packet.time_ns;
    }
}

/// What watches its data and its hosts.
#[derive(Debug, Clone)]
pub(crate) struct Watch {
    /// Of the client's data, the server's data.
    pub(crate) watchers: [Watchers; 2],
    /// Gaps wait to be judged.
    pub(crate) looking: bool,
    /// Silences of both hosts.
    pub(crate) standstills: Option<Box<Standstills>>,
}

impl Watch {
    /// Nothing was seen.
    pub(crate) const NONE: Self = Self { watchers: [Watchers::NONE; 2], looking: false, standstills: None };
}

/// The terms on which both hosts talk: how they opened, what they agreed on, and how far away they are.
#[derive(Debug, Clone, Default)]
pub struct Terms {
    /// Opening.
    pub handshake: Handshake,
    /// What both sides agreed on in it.
    pub(crate) agreed: Agreed,
    /// How far away both hosts are.
    pub loops: Loops,
}

impl Terms {
    /// What the rules for the data of `side` may know of the connection.
    #[inline(always)]
    pub(crate) fn context(&self, side: usize) -> Context {
        Context {
            sack: self.agreed.sack,
            beside_sender: self.loops.beside[side],
            beside_receiver: self.loops.beside[1 - side],
            loops_ns: [self.loops.loops_ns[side], self.loops.loops_ns[1 - side]],
            handshake_rtt_ns: self.loops.handshake_rtt_ns,
        }
    }
}

/// What both sides agreed on, and what is not plain of how they did.
#[derive(Debug, Clone, Default)]
pub(crate) struct Agreed {
    /// Shifts of the windows that client, server advertise; follow from the offers.
    pub(crate) shifts: [Option<u8>; 2],
    /// Both sides permit SACK.
    pub(crate) sack: bool,
    /// Congestion marks, if both sides agreed to report them; follows from the last SYN's flags and those of its answer.
    pub(crate) ecn: Option<Box<Ecn>>,
    pub(crate) syn_flags: Option<u16>,
    /// SYN-ACKs with other numbers that came before the last one: of a proxy and a host, or of two hosts.
    pub(crate) other_syn_acks: Vec<OtherSynAck>,
    /// The last SYN or SYN-ACK that was left out as a copy of the one before.
    pub(crate) copied_opening: Option<Box<Packet>>,
    /// SYN, SYN-ACK were captured twice, far apart.
    pub(crate) openings_twice: [bool; 2],
}

/// How it ends.
#[derive(Debug, Clone, Default)]
pub struct Endings {
    /// First FIN.
    pub first_fin_ns: Option<i64>,
    /// Reset by client or server, and when.
    pub reset: Option<Believed>,
    /// A reset that was to refuse it, before the answer came.
    pub(crate) refused: Option<(u8, i64)>,
    /// Number of the packet with which it was over.
    pub over_since: Option<u64>,
    /// It is over but for the rows of what still comes: without them, only its summary would be left.
    pub over_but_for_rows: bool,
    /// What happened besides its data.
    pub(crate) log: Option<Box<EndingLog>>,
}

impl Endings {
    /// Its reset is refuted: it is not over.
    pub(crate) fn go_on(&mut self) {
        (self.reset, self.over_since, self.over_but_for_rows) = (None, None, false);
    }
}

/// How far away both hosts are, and beside which of them the capture stands.
#[derive(Debug, Clone, Default)]
pub struct Loops {
    /// Shortest round trip between the capture point and client, server.
    pub loops_ns: [Option<i64>; 2],
    /// Where the handshake was not captured: what echoes show of them, until that is known.
    pub(crate) echo_loops: Option<Box<EchoLoops>>,
    /// The capture point is beside client, server; follows from the loops.
    pub(crate) beside: [bool; 2],
    /// A queue stands between client, server and the capture point: it is not beside them, however short the way is.
    pub(crate) behind_queue: [bool; 2],
    pub(crate) handshake_rtt_ns: Option<i64>,
}

/// Readers of what is in its data.
#[derive(Debug, Clone, Default)]
pub struct Streams {
    /// TLS facts in the making.
    pub tls: Option<Box<TlsTracker>>,
    pub(crate) tls_settled: bool,
    /// Names looked up, if this is a connection to a resolver.
    pub dns: Option<Box<DnsStreams>>,
    /// Frames of HTTP/2, from its preface on, or inside TLS where there are keys.
    pub(crate) http2: Option<Box<Http2Reader>>,
    /// Named by the first request of HTTP/1.
    pub(crate) host: Option<Box<str>>,
}

/// Who speaks, and what was said.
#[derive(Debug, Clone)]
pub(crate) struct Speech {
    /// Whose data passed last, client (0) or server (1); see [`crate::tcp::connection::speaking`].
    pub(crate) speaker: u8,
    pub(crate) turn: Option<Turn>,
    /// What they said to each other.
    pub(crate) talk: Option<Box<Talk>>,
}

impl Default for Speech {
    fn default() -> Self {
        Self { speaker: NOBODY, turn: None, talk: None }
    }
}

/// What may not be its own: what passed twice, was changed on the way, or lies outside every window.
#[derive(Debug, Clone, Default)]
pub(crate) struct Doubts {
    /// What passed at two capture points, if there are, or may be, as many.
    pub(crate) two_points: Option<Box<TwoPoints>>,
    /// Packets that no window allows, as long as what follows may show that the capture missed what lies between.
    pub(crate) doubtful: Option<Box<Doubtful>>,
    /// By so much the client's numbers are moved on the other side of a device that rewrites them, and was captured, too.
    pub(crate) rewritten_by: Option<u32>,
    /// Packets that may have been padded.
    pub(crate) padding: Option<Box<Padding>>,
    pub(crate) suspected_step: Option<(u8, ClockStep)>,
}
