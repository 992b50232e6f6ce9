//! What stays of a connection when it is over: plain numbers, nothing that grows.
//!
//! What could not be measured is none, with a reason given by [`DirectionSummary::not_measured`] (a key of [`REASONS`]).

use super::connection::{Close, Connection};
use super::duplicates::{LONGEST_DISTANCE_NS, RecentPackets, signature};
use super::gap_period::NoPeriod;
use super::gaps::{ByCause, CauseTotal, Gap, StallSummary};
use super::half::{Half, Live, Offer};
use super::ledger::ByteLedger;
use super::limits::{LimitsSummary, Run, network_shares};
use super::loss::{LossCounters, Trigger};
use super::microbursts::Peaks;
use super::moments::{Moments, Statistics};
use super::rate_series::Series;
use super::seldom::{Measured, Seldom};
use super::sketch::DurationSketch;
use super::token_bucket::{self, Delivered, TokenBucket};
use super::vantage::{Clues, Side, Vantage};
use crate::dns::Lookups;
use crate::packet::{Packet, tcp_flags};
use crate::tls::{Direction, StreamBytes, TlsFacts};

/// What the reasons of [`DirectionSummary::not_measured`] and [`DirectionSummary::loss_caveat`] mean.
pub const REASONS: [(&str, &str); 13] = [
    ("no_data", "no data was seen in this direction"),
    ("no_acknowledgement", "no acknowledgement of the data was seen"),
    ("no_clean_sample", "no acknowledgement gives a clean sample, see rtt.rejected"),
    ("beside_sender", "the capture is beside the sender: what is lost on the way still shows here"),
    (
        "identification_unproven",
        "the sender does not number its packets one by one, or too few were seen, or the vantage point is unknown",
    ),
    ("scale_unknown", "the handshake was not captured, so the window scale is unknown"),
    ("no_advertisement", "the receiver advertised no window within the capture"),
    ("one_moment", "all data passed at one moment"),
    ("one_data_packet", "fewer than two data packets"),
    ("acknowledged_first", "all data was recorded behind its acknowledgement"),
    ("few_stalls", "fewer than six stalls show no period"),
    ("no_period", "the stalls come at irregular intervals"),
    ("capture_loss", "the capture itself missed packets: loss numbers are upper bounds"),
];

/// Mean, extremes, deviation and quantiles of durations.
#[derive(Debug, Clone, Copy)]
pub struct Durations<const N: usize> {
    /// Count, mean, extremes, deviation.
    pub moments: Statistics,
    /// Quantiles, nanoseconds.
    pub quantiles_ns: [f64; N],
}

impl<const N: usize> Durations<N> {
    fn of(moments: &Moments, sketch: &DurationSketch, ranks: [f64; N]) -> Option<Self> {
        Some(Self { moments: Statistics::of(moments)?, quantiles_ns: sketch.quantiles(ranks)? })
    }
}

/// Packet spacing of a direction.
#[derive(Debug, Clone, Default)]
pub struct SpacingSummary {
    /// Statistics with median and 99th percentile; none below two data packets.
    pub durations: Option<Durations<2>>,
    /// The limit that oversize gaps exceed.
    pub oversize_threshold_ns: u64,
    /// The limit was the user's.
    pub fixed_threshold: bool,
    /// The gaps and their causes; none if no gap was long.
    pub causes: Option<Box<GapCauses>>,
}

impl SpacingSummary {
    /// Oversize gaps and their sum.
    pub fn oversize(&self) -> CauseTotal {
        self.causes.as_ref().map_or_else(CauseTotal::default, |causes| causes.total)
    }

    /// The longest oversize gaps, in time order.
    pub fn gaps(&self) -> &[Gap] {
        self.causes.as_ref().map_or(&[], |causes| &causes.gaps)
    }
}

/// Long gaps, and why there were any.
#[derive(Debug, Clone)]
pub struct GapCauses {
    /// The longest oversize gaps, in time order.
    pub gaps: Box<[Gap]>,
    /// Oversize gaps, all together and by cause.
    pub total: CauseTotal,
    /// See above.
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
    /// Advertisements of zero.
    pub zero_windows: u32,
    /// Time the window was closed.
    pub zero_time_ns: u64,
    /// Time the window left no room for a segment; none if the scale is unknown.
    pub limited_ns: Measured,
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
    /// Frames of more than one wire segment.
    pub superpackets: u32,
    /// Largest payload of a frame.
    pub largest_payload: u32,
    /// Payload of a full wire segment.
    pub segment_size: u16,
    /// First data to last data or acknowledgement of data.
    pub data_time_ns: Measured,
    /// Counters.
    pub loss: Seldom<LossCounters>,
    /// Missing IP identifications; none where they prove nothing.
    pub lost_by_identification: Measured,
    /// Round trips with median, 95th and 99th percentile.
    pub round_trips: Option<Durations<3>>,
    /// Segments without a sample, by reason.
    pub rejected: [u32; 5],
    /// Spacing.
    pub spacing: SpacingSummary,
    /// Window.
    pub window: WindowSummary,
    /// Mean (over the time data was in flight) and largest flight, bytes.
    pub flight: Option<(f64, u64)>,
    /// The most bytes in short windows; none below [`super::microbursts::FEWEST_DATA_PACKETS`].
    pub peaks: Option<Box<Peaks>>,
    /// A token bucket on the way, if the rates show one.
    pub token_bucket: Option<Box<TokenBucket>>,
    /// Bytes by purpose.
    pub ledger: ByteLedger,
    /// What TLS made of the payload; none if it was not recognised.
    pub stream: Option<Box<StreamBytes>>,
    /// Acknowledged but never captured.
    pub unseen_acknowledged_bytes: u64,
    /// The identifications show that the capture stands before the loss (at the sender).
    pub beside_sender: bool,
}

impl DirectionSummary {
    /// Segments that were lost: retransmissions that were needed (methods 6.4 `lost_inferred`).
    pub fn lost_inferred(&self) -> u64 {
        u64::from(self.loss.retransmitted.saturating_sub(self.loss.spurious))
    }

    /// Application throughput: unique payload over the data time, bits per second.
    pub fn goodput_bps(&self) -> Option<f64> {
        let time_ns = self.data_time_ns.get().filter(|time| *time > 0)?;
        Some(self.unique_payload_bytes as f64 * 8e9 / time_ns as f64)
    }

    /// Share of the data time in which the window left no room.
    pub fn limited_fraction(&self) -> Option<f64> {
        let time_ns = self.data_time_ns.get().filter(|time| *time > 0)?;
        self.window.limited_ns.get().map(|limited| (limited as f64 / time_ns as f64).min(1.0))
    }

    /// Retransmitted share of data segments.
    pub fn retransmission_rate(&self) -> Option<f64> {
        (self.data_segments > 0).then(|| f64::from(self.loss.retransmitted) / self.data_segments as f64)
    }

    /// Lost share of the segments sent: by identification away from the sender where that is proven, else inferred.
    pub fn loss_rate(&self) -> Option<f64> {
        if self.data_segments == 0 {
            return None;
        }
        Some(match self.lost_by_identification.get() {
            Some(lost) => lost as f64 / (lost + self.data_segments) as f64,
            None => self.lost_inferred() as f64 / self.data_segments as f64,
        })
    }

    /// Reasons for what is none, field by field, as keys of [`REASONS`]. Without data `*` stands for all but the window.
    pub fn not_measured(&self) -> impl Iterator<Item = (&'static str, &'static str)> + '_ {
        let (data, no_data) = (self.data_packets > 0, self.data_packets == 0);
        let rejected = self.rejected.iter().any(|count| *count > 0);
        let rtt = if rejected { "no_clean_sample" } else { "no_acknowledgement" };
        let identification = if self.beside_sender { "beside_sender" } else { "identification_unproven" };
        let no_period = self.stalls().and_then(|stalls| stalls.period_ns.err());
        let window = if self.window.scale.is_none() { "scale_unknown" } else { "no_advertisement" };
        [
            (no_data, "*", "no_data"),
            (data && self.round_trips.is_none(), "rtt", rtt),
            (data && self.goodput_bps().is_none(), "goodput_bps", "one_moment"),
            (data && self.lost_by_identification.get().is_none(), "loss.lost_segments_ipid", identification),
            (data && self.spacing.durations.is_none(), "spacing", "one_data_packet"),
            (no_period.is_some(), "spacing.stall_period_s", no_period.map_or("", NoPeriod::reason)),
            (self.window.extremes.is_none(), "window", window),
            (data && self.flight.is_none(), "flight", "acknowledged_first"),
        ]
        .into_iter()
        .filter_map(|(missing, field, reason)| missing.then_some((field, reason)))
    }

    /// The stalls of the hosts; none if there were none.
    pub fn stalls(&self) -> Option<&StallSummary> {
        self.spacing.causes.as_ref()?.stalls.as_ref()
    }

    /// Stalls for each minute of the data time.
    pub fn stalls_per_minute(&self) -> Option<f64> {
        let time_ns = self.data_time_ns.get().filter(|time| *time > 0)?;
        self.stalls().map(|stalls| stalls.count as f64 * 60e9 / time_ns as f64)
    }

    /// What would have crossed during the stalls at the rate outside them, bytes.
    pub fn stall_lost_bytes(&self) -> Option<u64> {
        let stalls = self.stalls()?;
        let running_ns = self.data_time_ns.get()?.checked_sub(stalls.time_ns).filter(|time| *time > 0)?;
        Some((self.unique_payload_bytes as f64 * stalls.time_ns as f64 / running_ns as f64) as u64)
    }

    /// A warning that belongs to the loss numbers.
    pub fn loss_caveat(&self) -> Option<&'static str> {
        let unseen = self.unseen_acknowledged_bytes;
        (unseen > 0 && unseen * 1000 > self.unique_payload_bytes).then_some("capture_loss")
    }
}

/// What limited a connection.
#[derive(Debug, Clone, Default)]
pub struct Judgement {
    /// Client's data, server's data; none if it was too short to judge.
    pub limits: [Option<Box<LimitsSummary>>; 2],
}

/// One connection.
#[derive(Debug, Clone)]
pub struct ConnectionSummary {
    /// Number from 1, in order of the first packet.
    pub id: u32,
    /// Number of the first packet among all packets.
    pub order: u64,
    /// Input of the first packet, and its frame there.
    pub input: u16,
    /// See above.
    pub first_frame: u32,
    /// 4 or 6.
    pub ip_version: u8,
    /// Client's address, then the server's.
    pub addresses: [u8; 32],
    /// Client's and server's port.
    pub ports: [u16; 2],
    /// First and last packet.
    pub start_ns: i64,
    /// See above.
    pub end_ns: i64,
    /// SYN, SYN-ACK and the client's acknowledgement were seen.
    pub handshake_complete: bool,
    /// Handshake round trips between the capture point and client, server.
    pub handshake_loops_ns: [Option<i64>; 2],
    /// How it ended.
    pub close: Close,
    /// Client (0) or server (1) sent the first reset.
    pub reset_by: Option<u8>,
    /// First FIN to the acknowledgement of the last, or to the reset.
    pub teardown_ns: Option<i64>,
    /// Where the capture stands.
    pub vantage: Vantage,
    /// Client's data, server's data.
    pub directions: [DirectionSummary; 2],
    /// What limited client's data and server's data, and the verdict; none if there was too little to judge.
    pub judgement: Option<Box<Judgement>>,
    /// TLS, if it was recognised.
    pub tls: Option<Box<TlsFacts>>,
    /// Names looked up over it, until they are gathered.
    pub lookups: Option<Box<Lookups>>,
    /// Signature and time of the last packet since only this summary is kept.
    pub ended_by: (u32, i64),
    /// What each side sent last, if the capture shows copies: those of the last packets are still to come.
    pub recent: Option<Box<[RecentPackets; 2]>>,
}

impl ConnectionSummary {
    /// Ends a connection.
    pub fn of(connection: &mut Connection, fixed_limit_ns: Option<u64>) -> Box<Self> {
        let vantage = Clues {
            loops_ns: connection.loops_ns,
            from_handshake: connection.handshake.client_loop_ns.is_some()
                && connection.handshake.server_loop_ns.is_some(),
            ttl: [connection.halves[0].ttl, connection.halves[1].ttl],
            superpackets: connection.halves.iter().any(|half| half.superpackets > 0),
        }
        .vantage();
        let shifts = [0, 1].map(|side| connection.advertised_shift(1 - side));
        let tls = connection.tls.take();
        let end_ns = connection.end_ns;
        let min_rtt_ns = connection.handshake.rtt_ns().and_then(|rtt| u64::try_from(rtt).ok());
        let recent = connection.halves.iter().any(|half| half.loss.capture_duplicates > 0).then(|| {
            let packets = |half: &mut Half| half.live.as_mut().map(|live| std::mem::take(&mut live.recent));
            Box::new(connection.halves.each_mut().map(|half| packets(half).unwrap_or_default()))
        });
        connection.judge_all(fixed_limit_ns);
        connection.halves.iter_mut().for_each(Half::settle_counters);
        settle_copies(&mut connection.halves);
        let facts = tls.as_ref().and_then(|tracker| tracker.facts());
        let judgement = judge(connection, facts.as_ref().and_then(|facts| facts.handshake_s));
        let closed = connection.halves.each_ref().map(|half| half.fin.is_some());
        let last_fin_ns = connection.halves.iter().filter_map(|half| half.fin_acknowledged_ns).max();
        let teardown_end = if connection.halves.iter().all(|half| half.fin_acknowledged_ns.is_some()) {
            last_fin_ns
        } else {
            connection.reset.map(|(_, time)| time)
        };
        // Nothing of it is moved once it stands: it is large.
        let mut summary = Box::new(Self {
            id: connection.id,
            order: connection.order,
            input: connection.input,
            first_frame: connection.first_frame,
            ip_version: connection.ip_version,
            addresses: connection.addresses,
            ports: connection.ports,
            start_ns: connection.start_ns,
            end_ns,
            handshake_complete: connection.handshake.complete,
            handshake_loops_ns: [connection.handshake.client_loop_ns, connection.handshake.server_loop_ns],
            close: connection.close(),
            reset_by: connection.reset.map(|(side, _)| side),
            // A reset before the first FIN ends no teardown.
            teardown_ns: connection
                .first_fin_ns
                .zip(teardown_end)
                .map(|(first, last)| last - first)
                .filter(|ns| *ns >= 0),
            vantage,
            directions: Default::default(),
            judgement,
            tls: facts.map(Box::new),
            lookups: connection.dns.take().map(|streams| Box::new(streams.into_lookups())),
            ended_by: (0, i64::MIN),
            recent,
        });
        for (side, direction) in summary.directions.iter_mut().enumerate() {
            let [client, server] = &mut connection.halves;
            let (half, peer) = if side == 0 { (client, server) } else { (server, client) };
            let beside = vantage.side == if side == 0 { Side::Client } else { Side::Server };
            let context = Context {
                beside_receiver: vantage.side == if side == 0 { Side::Server } else { Side::Client },
                end_ns,
                shift: shifts[side],
                min_rtt_ns,
                fixed_limit_ns,
                beside_sender: beside,
                vantage_known: vantage.side != Side::Unknown,
                peer_closed: closed[1 - side],
            };
            let judgement = summary.judgement.as_deref_mut();
            let limits = judgement.and_then(|judgement| judgement.limits[side].as_deref_mut());
            summarise(half, &peer.offer, &context, limits, direction);
        }
        if let Some(tracker) = tls.filter(|_| summary.tls.is_some()) {
            for (side, direction) in [Direction::ClientToServer, Direction::ServerToClient].into_iter().enumerate() {
                summary.directions[side].stream = Some(Box::new(tracker.stream_bytes(direction)));
            }
        }
        summary
    }

    /// What limited the data of one side; none if it was too short to judge.
    pub fn limits(&self, side: usize) -> Option<&LimitsSummary> {
        self.judgement.as_deref()?.limits[side].as_deref()
    }

    /// Round trip of the handshake, client to server, wherever the capture stands.
    pub fn handshake_rtt_ns(&self) -> Option<i64> {
        let [client, server] = self.handshake_loops_ns;
        Some(client? + server?)
    }

    /// A packet that came after the connection had been put away. True if it was captured twice.
    pub fn add_straggler(&mut self, packet: &Packet, bytes: &[u8], side: usize) -> bool {
        let direction = &mut self.directions[side];
        let signature = signature(packet, bytes);
        let (known, time_ns) = self.ended_by;
        let repeats_the_last =
            known == signature && packet.time_ns.saturating_sub(time_ns).saturating_abs() <= LONGEST_DISTANCE_NS;
        let repeats_another = self
            .recent
            .as_ref()
            .is_some_and(|recent| recent[side].age_ns(packet, bytes, LONGEST_DISTANCE_NS).is_some());
        if repeats_the_last || repeats_another {
            direction.loss.capture_duplicates += 1;
            return true;
        }
        self.ended_by = (signature, packet.time_ns);
        if let Some(recent) = &mut self.recent {
            recent[side].remember(packet, bytes);
        }
        direction.packets += 1;
        direction.wire_bytes += u64::from(packet.wire_length);
        if packet.has(tcp_flags::RST) {
            self.reset_by.get_or_insert(side as u8);
            direction.ledger.add_first_transmission(packet);
        } else if packet.has(tcp_flags::FIN) {
            if packet.payload_length == 0 {
                direction.loss.fin += 1;
            }
            direction.ledger.add_first_transmission(packet);
        } else if packet.payload_length == 0 {
            direction.ledger.add_acknowledgement(packet);
        } else {
            let segments = super::segments::wire_segments(packet.payload_length, direction.segment_size);
            direction.data_segments += u64::from(segments);
            direction.loss.retransmitted = direction.loss.retransmitted.saturating_add(segments);
            direction.loss.retransmitted_bytes += u64::from(packet.payload_length);
            direction.loss.by_trigger[Trigger::Unknown as usize] =
                direction.loss.by_trigger[Trigger::Unknown as usize].saturating_add(segments);
            direction.loss.spurious = direction.loss.spurious.saturating_add(segments);
            direction.data_packets += 1;
            direction.payload_bytes += u64::from(packet.payload_length);
            direction.ledger.add_retransmission(packet, 0);
        }
        self.end_ns = self.end_ns.max(packet.time_ns);
        false
    }

    /// Bytes on the wire, both directions.
    pub fn wire_bytes(&self) -> u64 {
        self.directions.iter().map(|direction| direction.wire_bytes).sum()
    }
}

/// What limited either direction.
fn judge(connection: &mut Connection, tls_handshake_s: Option<f64>) -> Option<Box<Judgement>> {
    let hello_ns = connection.halves.iter().filter_map(|half| half.first_data_ns).min();
    let tls_end_ns =
        hello_ns.zip(tls_handshake_s).map(|(hello, handshake_s)| hello.saturating_add((handshake_s * 1e9) as i64));
    let limits = [0, 1].map(|side| connection.finish_limits(side, tls_end_ns).map(Box::new));
    limits.iter().any(Option::is_some).then(|| Box::new(Judgement { limits }))
}

/// A receiver does not report every copy of data, and copies of acknowledgements leave no trace at all. Where reports prove
/// the network to copy, the rest are taken for its work too. Where data was seen twice and no report says that it arrived
/// twice, the capture made the copies of both directions. Without any of this: a capture point that sees packets twice
/// sees most of them twice; a network that copies does so now and then, so below a fifth of the packets they are the
/// network's.
fn settle_copies(halves: &mut [Half; 2]) {
    let proven =
        |half: &Half| half.loss.capture_duplicates > 0 && half.loss.network_duplicates >= half.loss.capture_duplicates;
    let by_capture =
        halves.iter().any(|half| half.data_packets > 0 && half.loss.capture_duplicates > 0 && !proven(half));
    for half in halves {
        let copies = u64::from(half.loss.capture_duplicates);
        let few_without_data = half.data_packets == 0 && copies * 5 < half.packets && !by_capture;
        if proven(half) || (copies > 0 && few_without_data) {
            half.loss.network_duplicates += half.loss.capture_duplicates;
            half.loss.capture_duplicates = 0;
        }
    }
}

struct Context {
    end_ns: i64,
    shift: Option<u8>,
    min_rtt_ns: Option<u64>,
    fixed_limit_ns: Option<u64>,
    beside_sender: bool,
    beside_receiver: bool,
    vantage_known: bool,
    peer_closed: bool,
}

/// Fills `summary`, which is as it is by default.
fn summarise(
    half: &mut Half,
    peer: &Offer,
    context: &Context,
    limits: Option<&mut LimitsSummary>,
    summary: &mut DirectionSummary,
) {
    let packet = Packet {
        tcp_header_length: if half.offer.timestamps && peer.timestamps { 32 } else { 20 },
        ip_header_length: 20,
        ..Packet::default()
    };
    let data_time_ns = half.first_data_ns.map(|first| u64::try_from(half.last_data_ns - first).unwrap_or(0));
    summary.packets = half.packets;
    summary.wire_bytes = half.wire_bytes;
    summary.data_packets = half.data_packets;
    summary.data_segments = half.data_segments;
    summary.payload_bytes = half.payload_bytes;
    summary.unique_payload_bytes = half.unique_payload_bytes;
    summary.superpackets = u32::try_from(half.superpackets).unwrap_or(u32::MAX);
    summary.largest_payload = half.largest_payload;
    summary.segment_size = half.segment_size(&packet);
    summary.data_time_ns = data_time_ns.into();
    summary.loss = half.loss.into();
    summary.ledger = half.ledger;
    summary.unseen_acknowledged_bytes = half.unseen_acknowledged_bytes(context.peer_closed);
    summary.beside_sender = context.beside_sender;
    summary.window = WindowSummary {
        scale: context.shift,
        extremes: half.window.extremes().filter(|_| context.shift.is_some()),
        zero_windows: half.window.zero_windows,
        zero_time_ns: half.window.zero_time_ns(context.end_ns),
        limited_ns: Measured::default(),
    };
    let (peaks, series) = half.finish_steps();
    summary.peaks = peaks;
    let runs = limits.as_ref().map_or(&[][..], |limits| &limits.runs);
    summary.token_bucket = series.and_then(|series| token_bucket_in(&series, half, context, runs)).map(Box::new);
    if let (Some(limits), Some(bucket)) = (limits, &summary.token_bucket) {
        limits.take_token_bucket(bucket.switch_ns);
    }
    if let Some(live) = half.live.as_deref_mut() {
        live.round_trips.sketch.settle();
        let trips = &live.round_trips;
        let min_rtt_ns = context.min_rtt_ns.or(trips.moments.min());
        summary.round_trips = Durations::of(&trips.moments, &trips.sketch, [0.5, 0.95, 0.99]);
        summary.rejected = trips.rejected.map(|count| u32::try_from(count).unwrap_or(u32::MAX));
        summary.spacing = spacing_summary(live, min_rtt_ns, context.fixed_limit_ns);
        if half.data_packets > 0 {
            summary.flight = live.view.flight_statistics();
            summary.window.limited_ns = context.shift.map(|_| live.view.limited_ns()).into();
        }
        if context.vantage_known && !context.beside_sender && half.data_packets > 0 {
            summary.lost_by_identification = live.identifications.missing().into();
        }
    }
}

fn spacing_summary(live: &mut Live, min_rtt_ns: Option<u64>, fixed_limit_ns: Option<u64>) -> SpacingSummary {
    let threshold_ns = match fixed_limit_ns {
        Some(limit_ns) => {
            live.spacing.sketch.settle();
            limit_ns
        }
        None => live.spacing.oversize_from_ns(min_rtt_ns),
    };
    let mut summary = SpacingSummary {
        durations: Durations::of(&live.spacing.moments, &live.spacing.sketch, [0.5, 0.99]),
        oversize_threshold_ns: threshold_ns,
        fixed_threshold: fixed_limit_ns.is_some(),
        ..SpacingSummary::default()
    };
    if live.gaps.is_empty() {
        return summary;
    }
    let oversize = match fixed_limit_ns {
        Some(limit_ns) => live.gaps.above_fixed(limit_ns),
        None => live.gaps.from_border(threshold_ns),
    };
    let total = oversize.total();
    let (gaps, oversize) = (oversize.gaps.into(), oversize.by_cause);
    summary.causes = Some(Box::new(GapCauses { gaps, total, oversize, stalls: live.gaps.stalls() }));
    summary
}

/// Looks for a token bucket in what the direction delivered.
fn token_bucket_in(series: &Series, half: &Half, context: &Context, runs: &[Run]) -> Option<TokenBucket> {
    let ip_bytes = half.ledger.ip + half.ledger.tcp_header + half.ledger.tcp_options;
    // Each packet whose headers are counted there has 20 bytes of TCP header without options.
    let header_bytes = ip_bytes as f64 * 20.0 / half.ledger.tcp_header.max(20) as f64;
    let segment_bytes = half.payload_bytes as f64 / half.data_segments.max(1) as f64;
    // What is sent again and never passed before was lost before it came here: what arrives here has passed the narrow place.
    let repeated_here = half.payload_bytes.saturating_sub(half.unique_payload_bytes);
    let lost_before = !context.beside_sender && 2 * repeated_here < half.loss.retransmitted_bytes;
    let terms = token_bucket::Terms {
        delivered: if context.beside_receiver || lost_before { Delivered::Arrived } else { Delivered::Acknowledged },
        beside_sender: context.beside_sender,
        overhead: 1.0 + header_bytes / segment_bytes.max(1.0),
        segment_bytes,
        min_rtt_ns: context.min_rtt_ns.map(|rtt_ns| rtt_ns as f64),
    };
    token_bucket::find(series, &network_shares(series, runs), &terms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_summaries_fit_in_memory() {
        // Allocators round up to the next of their sizes, and the one above this is 1,280.
        assert!(size_of::<ConnectionSummary>() <= 1024, "{} bytes", size_of::<ConnectionSummary>());
    }
}
