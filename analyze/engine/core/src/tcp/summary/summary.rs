//! What stays of a connection when it is over: plain numbers, nothing that grows.
//!
//! What could not be measured is none, with a reason given by [`DirectionSummary::not_measured`] (a key of [`crate::tcp::summary::not_measured::REASONS`]).

use std::net::IpAddr;
use std::num::NonZeroU64;

use crate::decode::entered::TunnelPath;
use crate::dns::Lookups;
use crate::tcp::connection::nearer::Nearer;
use crate::tcp::connection::vantage::Vantage;
use crate::tcp::direction::byte_ledger::ByteLedger;
use crate::tcp::events::bounds::BoundsReached;
use crate::tcp::events::close::Close;
use crate::tcp::events::ecn::{Echoes, Feedback};
use crate::tcp::events::offer::Scaling;
use crate::tcp::gaps::totals::{ByCause, CauseTotal, Gap, StallSummary};
use crate::tcp::limits::summary::LimitsSummary;
use crate::tcp::loss::bursts::LossBursts;
use crate::tcp::loss::retransmissions::LossCounters;
use crate::tcp::rates::peaks::Peaks;
use crate::tcp::requests::exchanges::Reason;
use crate::tcp::requests::servers::ServerKey;
use crate::tcp::requests::summary::RequestSummary;
use crate::tcp::rtt::covering::WithoutStalls;
use crate::tcp::rtt::samples::RecoveryTrips;
use crate::tcp::sender::nagle::NagleWaits;
use crate::tcp::stats::compact::{Measured, Seldom, Usual};
use crate::tcp::summary::decision::Decision;
use crate::tcp::summary::durations::Durations;
use crate::tcp::summary::ending::{Ending, IcmpErrors};
use crate::tcp::summary::kept::Kept;
use crate::tcp::summary::shown::Shown;
use crate::tcp::token_bucket::bucket::TokenBucket;
use crate::tls::{StreamBytes, TlsFacts};

/// Packet spacing of a direction.
#[derive(Debug, Clone, Default)]
pub struct SpacingSummary {
    /// Statistics with median and 99th percentile; none below two data packets.
    pub durations: Option<Box<Durations<2>>>,
    /// The limit that unusually long pauses exceed.
    pub oversize_threshold_ns: u64,
    /// The gaps and their causes; none if no gap was long.
    pub causes: Option<Box<GapCauses>>,
}

/// Packets come at a fixed clock where one of a hundred comes no later than so many times the mean, and half of them as late as
/// this share of it.
const CLOCK_SPACING: f64 = 1.5;

const CLOCK_MEDIAN: f64 = 0.85;

impl SpacingSummary {
    /// Nearly all packets come at the same distance, as a narrow place lets them go, or a host that paces.
    pub(crate) fn is_clocked(&self) -> bool {
        self.durations.as_ref().is_some_and(|durations| {
            let ([median_ns, late_ns], mean_ns) = (durations.quantiles_ns, durations.moments.mean_ns());
            mean_ns > 0.0 && median_ns >= CLOCK_MEDIAN * mean_ns && late_ns <= CLOCK_SPACING * mean_ns
        })
    }

    /// Oversize gaps and their sum.
    pub fn oversize(&self) -> CauseTotal {
        self.causes.as_ref().map_or_else(CauseTotal::default, |causes| causes.total)
    }

    /// The longest unusually long pauses, in time order.
    pub fn gaps(&self) -> &[Gap] {
        self.causes.as_ref().map_or(&[], |causes| &causes.gaps)
    }
}

/// Long gaps, and why there were any.
#[derive(Debug, Clone)]
pub struct GapCauses {
    /// The longest unusually long pauses, in time order.
    pub gaps: Box<[Gap]>,
    /// All unusually long pauses.
    pub total: CauseTotal,
    /// The same by cause.
    pub oversize: ByCause,
    /// Stalls of the hosts.
    pub stalls: Option<StallSummary>,
}

/// The advertised window that limits a direction.
#[derive(Debug, Clone, Copy, Default)]
pub struct WindowSummary {
    /// Shift; none if the handshake was not captured.
    pub scale: Option<u8>,
    /// Smallest, mean, largest window in bytes; none without advertisements or scale.
    pub extremes: Option<(u64, f64, u64)>,
    /// Time the window left no room for a segment; none if the scale is unknown.
    pub limited_ns: Measured,
}

/// What only some directions show.
#[derive(Debug, Clone, Default)]
pub struct DirectionDetails {
    /// Round trips that only loss recovery shows.
    pub recovery_trips: Option<RecoveryTrips>,
    /// The clean round trips without those that a host's stall lengthened; none if it lengthened none.
    pub without_stalls: Option<WithoutStalls>,
    /// Losses that belong together.
    pub bursts: Option<LossBursts>,
    /// Acknowledgements of the direction's data that were lost before the capture point, and those that passed; none where
    /// identifications prove nothing.
    pub acknowledgements: Option<AcknowledgementLoss>,
    /// Short segments that Nagle's algorithm kept back until late acknowledgements came; none if too few.
    pub nagle_waits: Option<NagleWaits>,
    /// What the receiver reported of marks on the data; none if they had not agreed on that.
    pub congestion: Option<(Feedback, Echoes)>,
    /// The sender's packets were recorded so much later than those of the other side, nanoseconds.
    pub lag_ns: Option<i64>,
    /// Packets that came in IP fragments.
    pub in_fragments: u32,
}

/// What short transfers have none of.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DirectionExtras {
    /// Frames of more than one wire segment.
    pub superpackets: u32,
    /// Advertisements of a window of zero.
    pub zero_windows: u32,
    /// Time the window was closed.
    pub zero_time_ns: u64,
    /// The most bytes in short windows; none below [`crate::tcp::kernel::FEWEST_DATA_PACKETS`].
    pub peaks: Option<Box<Peaks>>,
    /// A token bucket on the way, if the rates show one.
    pub token_bucket: Option<Box<TokenBucket>>,
    /// What TLS made of the payload; none if it was not recognised.
    pub stream: Option<Box<StreamBytes>>,
}

impl Usual for DirectionExtras {
    const USUAL: &'static Self =
        &Self { superpackets: 0, zero_windows: 0, zero_time_ns: 0, peaks: None, token_bucket: None, stream: None };
}

/// See [`DirectionDetails`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcknowledgementLoss {
    /// Those that were lost.
    pub lost: u64,
    /// Those that passed.
    pub passed: u64,
}

impl AcknowledgementLoss {
    /// Lost share of those that were sent.
    pub fn rate(&self) -> Option<f64> {
        let sent = self.lost + self.passed;
        (sent > 0).then(|| self.lost as f64 / sent as f64)
    }
}

/// Measurements of one direction.
#[derive(Debug, Clone, Default)]
pub struct DirectionSummary {
    /// Packets but for captured copies.
    pub packets: u64,
    /// Their bytes on the wire.
    pub wire_bytes: u64,
    /// Packets with payload.
    pub data_packets: u64,
    /// Wire segments with payload.
    pub data_segments: u64,
    /// Payload bytes.
    pub payload_bytes: u64,
    /// Payload bytes, each position once.
    pub unique_payload_bytes: u64,
    /// Largest payload of a frame.
    pub largest_payload: u32,
    /// Payload of a full wire segment.
    pub segment_size: u16,
    /// First data to last data or acknowledgement of data.
    pub data_time_ns: Measured,
    /// Missing IP identifications; none where they prove nothing.
    pub lost_by_identification: Measured,
    /// Round trips with median, 95th and 99th percentile.
    pub round_trips: Option<Durations<3>>,
    /// Segments without a sample, by reason.
    pub rejected: [u32; 5],
    /// Clean round trips that a delayed acknowledgement lengthened.
    pub delayed_trips: u32,
    /// Spacing.
    pub spacing: SpacingSummary,
    /// Counters. These and all that takes room elsewhere stand side by side: what ends a summary looks at nothing else.
    pub loss: Seldom<LossCounters>,
    /// What only some directions show; none if that is nothing.
    pub details: Option<Box<DirectionDetails>>,
    /// What short transfers have none of.
    pub extras: Seldom<DirectionExtras>,
    /// The limit that unusually long pauses exceed was the user's.
    pub oversize_limit_is_fixed: bool,
    /// Window.
    pub window: WindowSummary,
    /// Mean (over the time data was in flight) and largest flight, bytes.
    pub flight: Option<(f64, NonZeroU64)>,
    /// Bytes by purpose.
    pub ledger: ByteLedger,
    /// Acknowledged but never captured.
    pub unseen_acknowledged_bytes: u64,
    /// The capture stands at the sender (by its vantage point): before all losses.
    pub beside_sender: bool,
    /// The capture stands at the receiver (by its vantage point): behind all losses.
    pub beside_receiver: bool,
    /// What else is known of it.
    pub shown: Shown,
    /// Both sides use SACK, so that the receiver may report duplicates (RFC 2883).
    pub sack: bool,
    /// Its packets have no time: nothing that takes one was measured.
    pub timeless: bool,
}

impl DirectionSummary {
    /// Nothing of it is in the capture, though it was there: none of its counters says anything.
    pub fn is_unseen(&self) -> bool {
        self.packets == 0 && self.shown.has(Shown::UNSEEN)
    }
}

/// What limited a connection.
#[derive(Debug, Clone, Default)]
pub struct Judgement {
    /// Client's data, server's data; none if it was too short to judge.
    pub limits: [Option<Box<LimitsSummary>>; 2],
    /// What made the connection slow; none until it is decided, or if nothing can be said.
    pub decision: Option<Decision>,
}

/// What only some connections show.
#[derive(Debug, Clone, Default)]
pub struct ConnectionDetails {
    /// The opening was answered by something nearer than what acknowledges data.
    pub nearer: Option<Box<Nearer>>,
    /// Lists that were full.
    pub bounds: BoundsReached,
    /// Frames of HTTP/2.
    pub http2: Option<Box<crate::http2::Http2Summary>>,
    /// Named by the first request of HTTP/1.
    pub host: Option<Box<str>>,
    /// The tunnels that it was found in.
    pub tunnels: Option<TunnelPath>,
    /// ICMP errors about its packets.
    pub icmp_errors: Option<IcmpErrors>,
    /// ICMP errors that quote other addresses or ports, but a number that this connection sent.
    pub icmp_related: Option<IcmpErrors>,
}

/// One connection.
#[derive(Debug, Clone)]
pub struct ConnectionSummary {
    /// Number from 1, in order of the first packet.
    pub id: u32,
    /// Number of the first packet among all packets.
    pub order: u64,
    /// Input of the first packet.
    pub input: u16,
    /// Its frame number in that input.
    pub first_frame: u32,
    /// 4 or 6.
    pub ip_version: u8,
    /// Client's address, then the server's.
    pub addresses: [u8; 32],
    /// Client's and server's port.
    pub ports: [u16; 2],
    /// Time of the first packet.
    pub start_ns: i64,
    /// Time of the last packet.
    pub end_ns: i64,
    /// A SYN of the client, a SYN-ACK of the server was seen.
    pub openings_seen: [bool; 2],
    /// Sequence number of that SYN.
    pub client_isn: u32,
    /// The same of the server.
    pub server_isn: u32,
    /// SYN, SYN-ACK and the client's acknowledgement were seen.
    pub handshake_complete: bool,
    /// What both sides made of window scaling.
    pub scaling: Scaling,
    /// The opening was answered by something nearer than what acknowledges data; none if too little is known.
    pub answered_nearer: Option<bool>,
    /// Handshake round trips between the capture point and client, server.
    pub handshake_loops: [Measured; 2],
    /// How it ended.
    pub close: Close,
    /// Client (0) or server (1) sent the first reset.
    pub reset_by: Option<u8>,
    /// First FIN to the acknowledgement of the last, or to the reset.
    pub teardown: Measured,
    /// Where the capture stands.
    pub vantage: Vantage,
    /// Client's data, server's data.
    pub directions: [DirectionSummary; 2],
    /// What limited client's data and server's data, and the verdict; none if there was too little to judge.
    pub judgement: Option<Box<Judgement>>,
    /// TLS, if it was recognised.
    pub tls: Option<Box<TlsFacts>>,
    /// What only some connections show; none if that is nothing.
    pub details: Option<Box<ConnectionDetails>>,
    /// Requests and responses, or why none are reported.
    pub requests: Result<Box<RequestSummary>, Reason>,
    /// Names looked up over it, until they are gathered.
    pub lookups: Option<Box<Lookups>>,
    /// Signature of the last packet since only this summary is kept.
    pub ended_by: u32,
    /// Time of that packet.
    pub ended_by_ns: i64,
    /// How it opened and ended, where that is not plain.
    pub ending: Option<Box<Ending>>,
    /// What packets that are still to come are compared with.
    pub kept: Option<Box<Kept>>,
}

impl ConnectionSummary {
    /// What limited the data of one side; none if it was too short to judge.
    pub fn limits(&self, side: usize) -> Option<&LimitsSummary> {
        self.judgement.as_deref()?.limits[side].as_deref()
    }

    /// For a capture that gives its packets no time: they all have the same one then, from which nothing follows.
    pub fn forget_times(&mut self) {
        (self.handshake_loops, self.teardown, self.judgement) = ([Measured::NONE; 2], Measured::NONE, None);
        (self.answered_nearer, self.requests) = (None, Err(Reason::NoTime));
        if let Some(details) = &mut self.details {
            details.nearer = None;
        }
        self.ending = None;
        self.directions.iter_mut().for_each(DirectionSummary::forget_times);
    }

    /// ICMP errors about its packets.
    pub fn icmp_errors(&self) -> Option<&IcmpErrors> {
        self.details.as_ref()?.icmp_errors.as_ref()
    }

    /// See [`ConnectionDetails::icmp_related`].
    pub fn icmp_related(&self) -> Option<&IcmpErrors> {
        self.details.as_ref()?.icmp_related.as_ref()
    }

    /// See [`Self::handshake_loops`], nanoseconds.
    pub fn handshake_loops_ns(&self) -> [Option<i64>; 2] {
        self.handshake_loops.map(|loop_ns| loop_ns.get().and_then(|loop_ns| i64::try_from(loop_ns).ok()))
    }

    /// See [`Self::teardown`], nanoseconds.
    pub fn teardown_ns(&self) -> Option<i64> {
        self.teardown.get().and_then(|teardown_ns| i64::try_from(teardown_ns).ok())
    }

    /// Requests and responses, or why none are reported.
    pub fn requests(&self) -> Result<&RequestSummary, Reason> {
        self.requests.as_deref().map_err(|reason| *reason)
    }

    /// What answered the opening, if that is nearer than what acknowledges data.
    pub fn nearer(&self) -> Option<&Nearer> {
        self.details.as_deref()?.nearer.as_deref()
    }

    /// Lists that were full.
    pub fn bounds(&self) -> BoundsReached {
        self.details.as_deref().map_or_else(BoundsReached::default, |details| details.bounds)
    }

    /// Number behind the last byte that the client sent; none if it is not known.
    pub(crate) fn last_number_of_client(&self) -> Option<u32> {
        let sent = self.directions[0].unique_payload_bytes + self.directions[0].unseen_acknowledged_bytes;
        self.openings_seen[0].then(|| self.client_isn.wrapping_add(1).wrapping_add(sent as u32))
    }

    /// The server's address, version and port.
    pub fn server_key(&self) -> ServerKey {
        let mut address = [0; 16];
        let length = if self.ip_version == 4 { 4 } else { 16 };
        let from = self.addresses.get(length..2 * length).unwrap_or_default();
        address.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        (address, self.ip_version, self.ports[1])
    }

    /// Repeats of the SYN and of the SYN-ACK. None of what was opened before the capture began, or whose SYN it missed;
    /// a SYN that nobody answered was answered without retransmissions.
    pub fn opening_repeats(&self) -> [Option<u64>; 2] {
        let [syn, syn_ack] = self.openings_seen;
        let repeats = |side: usize, seen: bool| seen.then_some(u64::from(self.directions[side].loss.syn));
        [repeats(0, syn), repeats(1, syn || syn_ack)]
    }

    /// Round trip of the handshake, client to server, wherever the capture stands.
    pub fn handshake_rtt_ns(&self) -> Option<i64> {
        let [client, server] = self.handshake_loops_ns();
        Some(client? + server?)
    }

    /// Reads a little of everywhere in it, so that it is on its way out of main memory when it is read soon.
    #[inline]
    pub fn touch(&self) {
        let places = |direction: &DirectionSummary| {
            let DirectionSummary { packets, spacing, ledger, unseen_acknowledged_bytes, .. } = direction;
            [*packets, spacing.oversize_threshold_ns, ledger.payload, *unseen_acknowledged_bytes]
        };
        std::hint::black_box((self.order, self.directions.each_ref().map(places)));
    }

    /// The address of client (0) or server (1).
    pub fn address(&self, side: usize) -> IpAddr {
        let bytes = &self.addresses[side * 4..];
        match (self.ip_version, bytes.first_chunk::<4>()) {
            (4, Some(address)) => (*address).into(),
            _ => {
                self.addresses[side * 16..].first_chunk::<16>().map_or(IpAddr::from([0; 4]), |&address| address.into())
            }
        }
    }

    /// Bytes on the wire, both directions.
    pub fn wire_bytes(&self) -> u64 {
        self.directions.iter().map(|direction| direction.wire_bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_summaries_fit_in_memory() {
        // Allocators round up to the next of their sizes, and those above these are 1,024 and 96.
        assert!(size_of::<ConnectionSummary>() <= 896, "{} bytes", size_of::<ConnectionSummary>());
        assert!(size_of::<RequestSummary>() <= 80, "{} bytes", size_of::<RequestSummary>());
        assert!(size_of::<LimitsSummary>() <= 512, "{} bytes", size_of::<LimitsSummary>());
    }
}
