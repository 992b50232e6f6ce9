//! How a connection opened and ended, for those of which that is not plain: what [`crate::tcp::connection::ending_log`] kept, and
//! the state of both directions when the last packet had passed. The words are `outcome`'s.

use std::net::IpAddr;

use crate::decode::icmp::IcmpError;
use crate::tcp::connection::connection::Connection;
use crate::tcp::connection::ending_log::{EndingLog, SideLog};
use crate::tcp::connection::{closing, loops};
use crate::tcp::direction::direction::Direction;
use crate::tcp::direction::fates::Fates;
use crate::tcp::events::close::Close;
use crate::tcp::events::ending::{Reset, Resumed, SentAgain};
use crate::tcp::events::outcome_kind::OutcomeKind;
use crate::tcp::events::place::Place;
use crate::tcp::kernel::MANY_SYNS;
use crate::tcp::stats::compact::{Seldom, Usual};

/// ICMP errors that are listed with a connection.
pub const MOST_ICMP_ERRORS: usize = 16;

/// ICMP errors that quote a connection.
#[derive(Debug, Clone, Default)]
pub struct IcmpErrors {
    /// The first ones, in the order of the capture.
    pub list: Vec<IcmpError>,
    /// How many more there were.
    pub not_listed: u64,
}

impl IcmpErrors {
    /// Those that name the path's MTU, and send back the segment that it was too large for (RFC 1191, RFC 8201).
    pub fn of_mtu(&self) -> impl Iterator<Item = &IcmpError> {
        let is_it = |error: &&IcmpError| match error.from {
            IpAddr::V4(_) => (error.kind, error.code) == (3, 4),
            IpAddr::V6(_) => error.kind == 2,
        };
        self.list.iter().filter(is_it)
    }

    /// Adds one.
    pub fn add(&mut self, error: IcmpError) {
        if self.list.len() < MOST_ICMP_ERRORS {
            self.list.push(error);
        } else {
            self.not_listed += 1;
        }
    }
}

/// One side when the last packet had passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SideAtEnd {
    /// Packets of all kinds.
    pub packets: u64,
    /// Those with data.
    pub data_packets: u64,
    /// Bytes that its peer acknowledged; of what began before the capture, since then.
    pub acknowledged_bytes: u64,
    /// Bytes that it sent, and its FIN.
    pub sent_bytes: u64,
    /// Bytes and FIN that were sent and are not acknowledged.
    pub outstanding_bytes: u64,
    /// Sent and neither acknowledged nor reported as arrived: sizes and times.
    pub fates: Fates,
    /// The first transmission of the oldest byte outstanding, as far as that is known.
    pub oldest: Option<Place>,
    /// What it retransmitted of that, and its probes.
    pub sent_again: Vec<SentAgain>,
    /// How often it did so, some that are not in the list included.
    pub times_again: u32,
    /// Its last data packet.
    pub last_data: Option<Place>,
    /// When its last packet passed.
    pub last_ns: Option<i64>,
    /// SYNs or SYN-ACKs after the first.
    pub openings: Vec<Place>,
    /// The window for its data: since when it has been closed, and the last packet that said so.
    pub closed: Option<[Place; 2]>,
    /// The longest time before that it was closed.
    pub longest_closed_ns: i64,
    /// It sent FIN.
    pub fin: bool,
    /// Headers of its data packets, bytes; 0 without any packet.
    pub header_bytes: u32,
    /// Largest segment that its peer takes, without options.
    pub offered_segment_size: u16,
    /// Bytes that were passed over: later ones were seen, these were not.
    pub missing_bytes: u64,
    /// When that came to light.
    pub missing_since_ns: Option<i64>,
    /// Largest payload of one packet seen.
    pub largest_payload: u32,
}

/// See the module.
#[derive(Debug, Clone)]
pub struct Ending {
    /// Client, server. Floods and scans have a million silent sides.
    pub sides: [Seldom<SideAtEnd>; 2],
    /// SYNs, SYN-ACKs.
    pub openings: [u32; 2],
    /// The first SYN, the first SYN-ACK, the acknowledgement that completed the handshake.
    pub steps: [Option<Place>; 3],
    /// The last of these SYNs, SYN-ACKs.
    pub last_openings_ns: [i64; 2],
    /// The reset that ended it.
    pub reset: Option<Reset>,
    /// Resets of both sides.
    pub resets: Vec<Reset>,
    /// The last long silence with nothing outstanding.
    pub resumed: Option<Resumed>,
    /// Shortest round trip, nanoseconds.
    pub rtt_ns: Option<i64>,
    /// The first message of the client, which goes on, asks for a response.
    pub asks: bool,
    /// When the capture ended.
    pub capture_end_ns: i64,
    /// What that comes to.
    pub kind: Option<OutcomeKind>,
}

impl Ending {
    /// Of a connection that is over; none if it opened and ended as connections do, and nothing needs words.
    pub(crate) fn of(connection: &Connection, log: Option<Box<EndingLog>>) -> Option<Box<Self>> {
        let both_sent = connection.directions.iter().all(|direction| direction.packets_so_far() > 0);
        let closed = closing::close(connection) == Close::Fin && (connection.terms.handshake.complete || both_sent);
        if closed && connection.terms.handshake.syn.count < MANY_SYNS {
            return None;
        }
        let last_word = closing::last_word(connection);
        let place = |step: Option<(i64, u32)>| step.map(|(time_ns, frame)| Place { frame, time_ns });
        let handshake = &connection.terms.handshake;
        let EndingLog { sides: [client, server], resets, resumed } = log.map_or_else(EndingLog::default, |log| *log);
        let [syn, _, syn_ack, _, opened] = handshake.steps(connection.identity.first_frame);
        let timestamps = connection.directions.iter().all(|direction| direction.offer.timestamps);
        let header_bytes = if connection.identity.ip_version == 6 { 60 } else { 40 } + if timestamps { 12 } else { 0 };
        let [client_half, server_half] = &connection.directions;
        Some(Box::new(Self {
            sides: [
                Seldom::from(&SideAtEnd::of(client, client_half, header_bytes)),
                Seldom::from(&SideAtEnd::of(server, server_half, header_bytes)),
            ],
            openings: [handshake.syn.count, handshake.syn_ack.count],
            steps: [syn, syn_ack, opened].map(place),
            last_openings_ns: [handshake.syn.newest_ns, handshake.syn_ack.newest_ns],
            reset: resets.iter().copied().find(|reset| last_word == Some((reset.side, reset.place.time_ns))),
            resets,
            resumed,
            rtt_ns: loops::shortest_rtt_ns(&connection.terms.loops),
            asks: connection.speech.turn.is_some_and(|turn| turn.side == 0 && turn.opening.asks()),
            capture_end_ns: connection.times.end_ns,
            kind: None,
        }))
    }
}

impl SideAtEnd {
    fn of(log: SideLog, direction: &Direction, header_bytes: u32) -> Self {
        let SideLog { openings, sent_again, times_again, closed, longest_closed_ns, oldest } = log;
        let oldest = oldest.filter(|oldest| oldest.start <= direction.una).map(|oldest| oldest.place);
        let live = direction.live.as_deref();
        let fates = live.map_or_else(Fates::default, |live| live.segments.fates());
        let hole = live.and_then(|live| live.holes.first());
        Self {
            packets: direction.packets_so_far(),
            data_packets: direction.data_packets_so_far(),
            acknowledged_bytes: direction.una.saturating_sub(direction.base),
            sent_bytes: direction.max.saturating_sub(direction.base),
            outstanding_bytes: direction.max.saturating_sub(direction.una),
            oldest: oldest.or(fates.oldest),
            sent_again: sent_again.into_iter().filter(|sent| !sent.is_done(direction.una)).collect(),
            times_again,
            fates,
            last_data: live.and_then(|live| live.rates.spacing.last()).map(|(time_ns, frame)| Place { frame, time_ns }),
            last_ns: live.and_then(|live| live.capture.recent.newest_ns()),
            fin: direction.fin.is_some(),
            offered_segment_size: direction.accepted_segment_size,
            missing_bytes: live.map_or(0, |live| live.holes.bytes_below(direction.max)),
            missing_since_ns: hole.map(|hole| hole.exposure.time_ns),
            largest_payload: direction.largest_payload,
            openings,
            closed,
            longest_closed_ns,
            header_bytes: if direction.packets_so_far() > 0 { header_bytes } else { 0 },
        }
    }
}

impl Usual for SideAtEnd {
    const USUAL: &'static Self = &Self {
        packets: 0,
        data_packets: 0,
        acknowledged_bytes: 0,
        sent_bytes: 0,
        outstanding_bytes: 0,
        fates: Fates::NONE,
        oldest: None,
        sent_again: Vec::new(),
        times_again: 0,
        last_data: None,
        last_ns: None,
        openings: Vec::new(),
        closed: None,
        longest_closed_ns: 0,
        fin: false,
        header_bytes: 0,
        offered_segment_size: 0,
        missing_bytes: 0,
        missing_since_ns: None,
        largest_payload: 0,
    };
}
