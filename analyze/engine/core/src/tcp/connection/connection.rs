//! One TCP connection while its packets pass: which direction a packet belongs to, and what each part of it says.
//!
//! The client's data is direction 0, the server's direction 1. A packet is first compared with what was captured just before
//! (copies are left out), then its data goes to its own direction and its acknowledgement to the other.

use crate::decode::options::SackBlocks;
use crate::dns::DnsStreams;
use crate::packet::{Packet, option_bits, tcp_flags};
use crate::tcp::capture::two_taps::TwoPoints;
use crate::tcp::connection::doubtful::Doubtful;
use crate::tcp::connection::ending_log::EndingLog;
use crate::tcp::connection::environment::{ClockStep, Environment};
use crate::tcp::connection::handshake::Handshake;
use crate::tcp::connection::packet_row::packet_row;
use crate::tcp::connection::padded::{Padding, may_be_padded};
use crate::tcp::connection::reset::Believed;
use crate::tcp::connection::watchers::Watchers;
use crate::tcp::direction::direction::{Direction, direction_and_peer};
use crate::tcp::direction::placed::Peer;
use crate::tcp::events::acked::Answer;
use crate::tcp::events::copy::Copied;
use crate::tcp::events::ecn;
use crate::tcp::events::ecn::Ecn;
use crate::tcp::events::ends::Ends;
use crate::tcp::events::openings::OtherSynAck;
use crate::tcp::events::row::Seen;
use crate::tcp::events::sent::{Arrived, Delivered, Kind};
use crate::tcp::limits::rules::RoundRule;
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
    /// Shortest round trip between the capture point and client, server.
    pub loops_ns: [Option<i64>; 2],
    /// Where the handshake was not captured: what echoes tell of them, until that is known.
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
    /// Marks of congestion, if both sides agreed to tell of them; follows from the last SYN's flags and those of its answer.
    pub(crate) ecn: Option<Box<Ecn>>,
    pub(crate) syn_flags: Option<u16>,
    pub(super) suspected_step: Option<(u8, ClockStep)>,
    /// What passed at two capture points, if there are, or may be, as many.
    pub(crate) two_points: Option<Box<TwoPoints>>,
    /// SYN-ACKs with other numbers that came before the last one: of a proxy and a host, or of two hosts.
    pub(crate) other_syn_acks: Vec<OtherSynAck>,
    /// The last SYN-ACK that was left out as a copy of the one before.
    pub(crate) copied_syn_ack: Option<Box<Packet>>,
    /// SYN, SYN-ACK were captured twice, far apart.
    pub(crate) openings_twice: [bool; 2],
    /// Packets that no window allows, as long as what follows may show that the capture missed what lies between.
    pub(crate) doubtful: Option<Box<Doubtful>>,
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
            copied_syn_ack: None,
            openings_twice: [false; 2],
            doubtful: None,
            padding: None,
            over_since: None,
            detailed: false,
            over_but_for_rows: false,
            speaker: NOBODY,
            turn: None,
            talk: None,
            looking: false,
            ending: None,
        }
    }

    /// Takes a packet of this connection, unless its receiver would not.
    #[inline(never)]
    pub fn packet(&mut self, packet: &Packet, bytes: &[u8], from_client: bool, environment: &mut Environment) {
        let side = usize::from(!from_client);
        if self.padding.is_some() {
            self.check_padding(packet, side);
        }
        let stripped = may_be_padded(packet).then(|| self.without_padding(packet, bytes, side)).flatten();
        let packet = stripped.as_ref().unwrap_or(packet);
        let opens_or_resets = packet.flags & (tcp_flags::SYN | tcp_flags::RST) != 0;
        let is_refused =
            !opens_or_resets && self.is_far_ahead(packet, side) && self.refuses_ahead(packet, side, environment);
        if !is_refused {
            self.take_packet(packet, bytes, side, false, environment);
        }
    }

    /// Takes a packet whose numbers lie not above every window. `is_believed`: nor below, or what follows shows that they are right.
    pub(crate) fn take_packet(
        &mut self,
        packet: &Packet,
        bytes: &[u8],
        side: usize,
        is_believed: bool,
        environment: &mut Environment,
    ) {
        let from_client = side == 0;
        let before_ns = self.end_ns;
        if self.ends_long_silence(packet) {
            self.note_long_silence(packet, side);
        }
        if packet.flags & (tcp_flags::SYN | tcp_flags::RST) != 0 {
            self.end_ns = self.end_ns.max(packet.time_ns);
            return self.opening_or_reset(packet, bytes, side, environment);
        }
        if let Some(reset) = &self.reset
            && reset.is_refuted_by(packet, side, &self.directions, self.shortest_rtt_ns())
        {
            (self.reset, self.over_since, self.over_but_for_rows) = (None, None, false);
        }
        self.begin_side(packet, side, environment);
        // What was held because it lies far behind is remembered, and no copy of itself.
        let was_held = is_believed && self.is_far_behind(packet, side);
        let copied = if was_held { Copied::Nothing } else { self.copied(packet, bytes, side) };
        let packet = match &copied {
            Copied::Nothing => packet,
            Copied::Head(rest) => rest,
            Copied::All => return,
        };
        if !is_believed && self.is_far_behind(packet, side) && self.refuses_behind(packet, side, environment) {
            return;
        }
        // Recorded twice, the last packet ends the connection once; what is refused does not at all.
        self.end_ns = self.end_ns.max(packet.time_ns);
        if self.echo_loops.is_some() {
            self.seek_loops(packet, side);
        }
        if packet.flags & ecn::BITS != 0 {
            self.take_congestion_bits(packet, side);
        }
        let limit_ns = environment.fixed_spacing_limit_ns;
        let gap = self.watch(packet, bytes, side, before_ns, limit_ns);
        if gap.is_some() {
            self.note_resumption(packet, side);
        }
        let last = self.directions[side].live().rates.spacing.last();
        if packet.payload_length > 0 {
            self.directions[side].keep_arrivals(packet);
        }
        if packet.options & option_bits::TIMESTAMPS != 0
            && let Some(ahead_ns) = self.directions[side].live().capture.clock.add(packet.time_ns, packet.tsval)
        {
            self.suspect_step(packet, side, ahead_ns, environment);
        }
        if !self.handshake.complete {
            match from_client {
                true => self.complete_handshake(packet, environment),
                false => self.complete_split(packet, environment),
            }
        }
        self.note_oldest(packet, side);
        let arrived = self.take_own(packet, bytes, side);
        self.note_sent_again(packet, side, &arrived);
        if let (Some(evidence), Some(last), Some(_)) = (gap, last, arrived.spacing_ns) {
            self.end_gap(evidence, packet, side, last, &arrived, limit_ns);
        }
        let answer = self.take_acknowledgement(packet, bytes, side);
        self.answered(packet, side, answer.rtt_ns());
        self.check_round(packet, side, environment.round_rules);
        if self.detailed {
            let seen = Seen { arrived, window_bytes: answer.window_bytes, round_trip: answer.round_trip };
            let directions = [&self.directions[side], &self.directions[1 - side]];
            environment.rows.push(&packet_row(self.id, packet, side, directions, &seen));
        }
    }

    /// What the first packet of a side begins.
    #[inline(always)]
    fn begin_side(&mut self, packet: &Packet, side: usize, environment: &mut Environment) {
        let acknowledged_first = self.directions[side].begun;
        if !acknowledged_first {
            self.directions[side].begin(packet.sequence);
        }
        if self.directions[side].live.is_none() {
            self.directions[side].live = environment.live();
        }
        if self.directions[side].packets == 0 && !self.directions[side].opening_seen {
            self.begin_in_mid_stream(packet, side, acknowledged_first, environment);
        }
    }

    /// Is a round over for the data that the packet acknowledges, or is?
    #[inline(always)]
    pub(super) fn check_round(&mut self, packet: &Packet, side: usize, rules: &[RoundRule]) {
        let is_over = |direction: &Direction| direction.live.as_deref().is_some_and(|live| live.view.round_is_over());
        if is_over(&self.directions[1 - side]) {
            self.close_round(packet, 1 - side, false, rules);
        }
        if packet.payload_length > 0 && is_over(&self.directions[side]) {
            self.close_round(packet, side, true, rules);
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

    /// The packet's own direction: data, FIN, probe or nothing.
    #[inline]
    pub(crate) fn take_own(&mut self, packet: &Packet, bytes: &[u8], side: usize) -> Arrived {
        if packet.payload_length > 0 || packet.has(tcp_flags::FIN) {
            self.directions[side].keep_steps(packet);
        }
        self.count(packet, side);
        if packet.payload_length == 0 {
            return self.take_empty(packet, side);
        }
        let mut delivered = Delivered::default();
        let context = self.context(side);
        let [direction, peer] = direction_and_peer(&mut self.directions, side);
        let arrived = direction.data(packet, &context, peer_of(side, peer, &self.handshake), &mut delivered);
        match arrived.kind {
            Kind::Data => direction.ledger.add_first_transmission(packet),
            Kind::Reordered if arrived.first_transmission_bytes == packet.payload_length => {
                direction.ledger.add_first_transmission(packet)
            }
            _ => direction.ledger.add_retransmission(packet, arrived.first_transmission_bytes),
        }
        if packet.has(tcp_flags::FIN) {
            self.take_fin(packet, side);
        }
        if usize::from(self.speaker) != side && !delivered.ranges().is_empty() {
            self.speaks(packet, bytes, side);
        }
        if !self.tls_settled {
            self.feed_tls(packet, bytes, side, &delivered);
        }
        arrived
    }

    /// Takes the data of a packet that was counted without it: as a packet, and its bytes by purpose.
    pub(crate) fn take_data_of_counted(&mut self, packet: &Packet, bytes: &[u8], side: usize) -> Arrived {
        let direction = &mut self.directions[side];
        direction.settle_counters();
        let ledger = direction.ledger;
        direction.packets -= 1;
        direction.wire_bytes -= u64::from(packet.wire_length);
        let arrived = self.take_own(packet, bytes, side);
        self.directions[side].ledger = ledger;
        arrived
    }

    /// The other direction: what the packet says of data received.
    #[inline(never)]
    pub(super) fn take_acknowledgement(&mut self, packet: &Packet, bytes: &[u8], side: usize) -> Answer {
        if !packet.has(tcp_flags::ACK) || self.only_waits_for_copies(packet) {
            return Answer::default();
        }
        let sender = 1 - side;
        if self.copied_syn_ack.is_some() && side == 0 && packet.options & option_bits::OTHERS != 0 {
            self.refute_copied_syn_ack(packet, bytes);
        }
        if !self.sack && self.shows_sack(packet, bytes) {
            self.sack = true;
        }
        let context = self.context(sender);
        let answer = self.directions[sender].acknowledgement(packet, bytes, self.shifts[side], &context);
        self.note_window(packet, side);
        self.take_round_trip(answer, side);
        self.pass_tls_holes(packet, sender);
        answer
    }

    /// A capture that begins in mid-stream learns from the first report that both sides use SACK.
    #[inline]
    pub(super) fn shows_sack(&self, packet: &Packet, bytes: &[u8]) -> bool {
        packet.options & option_bits::OTHERS != 0
            && !self.offers_are_known()
            && !SackBlocks::of_packet(packet, bytes).as_slice().is_empty()
    }

    /// Both sides have closed it; it is there still since all comes twice, and nothing else that comes tells of it.
    pub(super) fn only_waits_for_copies(&self, packet: &Packet) -> bool {
        let is_kept = self.over_since.is_some() && self.two_points.is_some();
        is_kept && packet.payload_length == 0 && self.both_have_closed()
    }

    pub(crate) fn offers_are_known(&self) -> bool {
        self.directions.iter().all(|direction| direction.offer.seen && !direction.offer.cut)
    }

    /// Until the TLS handshake is over, every acknowledgement may tell that it waits in vain for data of `sender`.
    #[inline(always)]
    pub(super) fn pass_tls_holes(&mut self, packet: &Packet, sender: usize) {
        if !self.tls_settled && self.tls.is_some() {
            self.skip_tls_holes(packet, sender);
        }
    }
}
