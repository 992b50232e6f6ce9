//! The end of a connection: its state becomes a [`ConnectionSummary`], and its lists are free for another.

use crate::packet::Packet;
use crate::tcp::connection::connection::Connection;
use crate::tcp::connection::environment::Environment;
use crate::tcp::connection::nearer::Nearer;
use crate::tcp::connection::vantage::{Clues, Side, Vantage};
use crate::tcp::direction::direction::{Half, Live, half_and_peer};
use crate::tcp::events::ecn::{Echoes, Feedback};
use crate::tcp::events::offer::{Offer, Scaling};
use crate::tcp::gaps::pauses::Pauses;
use crate::tcp::gaps::totals::Gaps;
use crate::tcp::limits::bucket::{full_shares, network_shares, resting_shares};
use crate::tcp::limits::rules::RoundRule;
use crate::tcp::limits::runs::Run;
use crate::tcp::limits::summary::LimitsSummary;
use crate::tcp::loss::ip_id::numbers_connections_apart;
use crate::tcp::rates::series::Series;
use crate::tcp::requests::exchanges::Reason;
use crate::tcp::requests::summary::RequestSummary;
use crate::tcp::rtt::covering::WithoutStalls;
use crate::tcp::stats::compact::Measured;
use crate::tcp::summary::ending::Ending;
use crate::tcp::summary::shown::{Flights, Shown};
use crate::tcp::summary::summary::{
    AcknowledgementLoss, ConnectionDetails, ConnectionSummary, DirectionDetails, DirectionSummary, Durations,
    GapCauses, Judgement, Kept, SpacingSummary, WindowSummary,
};
use crate::tcp::token_bucket;
use crate::tcp::token_bucket::bucket;
use crate::tcp::token_bucket::bucket::{Delivered, TokenBucket};
use crate::tls::{Direction, StreamBytes, TlsFacts};

impl ConnectionSummary {
    /// Ends a connection.
    pub fn of(connection: &mut Connection, environment: &Environment) -> Box<Self> {
        let fixed_limit_ns = environment.fixed_spacing_limit_ns;
        let vantage = vantage(connection);
        let contexts = [0, 1].map(|side| Context::of(connection, side, vantage.side, fixed_limit_ns));
        let ending = Ending::of(connection);
        let facts = connection.tls.as_ref().and_then(|tracker| tracker.facts());
        let stream = facts.is_some().then(|| stream_bytes(connection));
        let requests = requests(connection, facts.as_ref());
        let kept = kept(connection);
        connection.judge_all(fixed_limit_ns);
        for half in &mut connection.halves {
            half.settle_counters();
            if half.takes_fewer() {
                half.settle_fewer();
            }
        }
        settle_copies(&mut connection.halves);
        let judgement = judge(connection, facts.as_ref().and_then(|facts| facts.handshake_s), environment.round_rules);
        // Its place comes first, and nothing of it is moved once it stands: it is large.
        let place = Box::new_uninit();
        let mut summary = Box::write(
            place,
            Self {
                id: connection.id,
                order: connection.order,
                input: connection.input,
                first_frame: connection.first_frame,
                ip_version: connection.ip_version,
                addresses: connection.addresses,
                ports: connection.ports,
                start_ns: connection.start_ns,
                end_ns: connection.end_ns,
                openings_seen: [connection.handshake.syn.count > 0, connection.handshake.syn_ack.count > 0],
                client_isn: (connection.halves[0].base as u32).wrapping_sub(1),
                handshake_complete: connection.handshake.complete,
                scaling: Scaling::of(&connection.halves[0].offer, &connection.halves[1].offer),
                answered_nearer: connection.answered_nearer(),
                handshake_loops_ns: [connection.handshake.client_loop_ns, connection.handshake.server_loop_ns],
                close: connection.close(),
                reset_by: connection.last_word().map(|(side, _)| side),
                teardown: teardown_ns(connection).and_then(|ns| u64::try_from(ns).ok()).into(),
                vantage,
                directions: Default::default(),
                judgement,
                tls: facts.map(Box::new),
                no_requests: requests.as_ref().err().copied().unwrap_or(Reason::NoExchange),
                details: connection_details(connection.nearer(), requests.ok()),
                lookups: connection.dns.take().map(|streams| Box::new(streams.into_lookups())),
                ended_by: 0,
                ended_by_ns: i64::MIN,
                ending,
                icmp_errors: None,
                kept,
            },
        );
        let congestion = [0, 1].map(|side| connection.ecn.as_deref().map(|ecn| (ecn.feedback, ecn.sides[side])));
        for (side, (direction, context)) in summary.directions.iter_mut().zip(&contexts).enumerate() {
            let pauses = connection.watchers[side].pauses.as_deref();
            let [half, peer] = half_and_peer(&mut connection.halves, side);
            let judgement = summary.judgement.as_deref_mut();
            let limits = judgement.and_then(|judgement| judgement.limits[side].as_deref_mut());
            summarise(half, &peer.offer, context, limits, direction);
            if let Some(pauses) = pauses.filter(|pauses| !pauses.totals.is_empty()) {
                summarise_pauses(&pauses.totals, context.fixed_limit_ns, &mut direction.spacing);
            }
            direction.details = details(half, peer, context, pauses, congestion[side]);
        }
        if let Some(stream) = stream {
            for (direction, bytes) in summary.directions.iter_mut().zip(stream) {
                direction.stream = bytes.map(Box::new);
            }
        }
        summary
    }
}

/// What TLS made of the payload of both directions.
fn stream_bytes(connection: &Connection) -> [Option<StreamBytes>; 2] {
    let tracker = connection.tls.as_deref();
    [Direction::ClientToServer, Direction::ServerToClient]
        .map(|direction| tracker.map(|tracker| tracker.stream_bytes(direction)))
}

/// Requests and responses with what was waited for before the first; the TLS tracker is of no use afterwards.
fn requests(connection: &mut Connection, tls: Option<&TlsFacts>) -> Result<RequestSummary, Reason> {
    let found = connection.finish_requests(tls.is_some());
    connection.tls = None;
    let longest = found?;
    let handshake = &connection.handshake;
    let syn_ns = (handshake.syn.count > 0).then_some(handshake.syn.first_ns);
    let opened_ns = syn_ns.zip(handshake.completed_ns).and_then(|(from_ns, to_ns)| u64::try_from(to_ns - from_ns).ok());
    let tls_s = tls.and_then(|facts| facts.handshake_s).filter(|seconds| *seconds >= 0.0);
    let server_loop_ns = connection.data_loop_ns(1).and_then(|loop_ns| u64::try_from(loop_ns).ok());
    let tls_ns = tls_s.map(|seconds| (seconds * 1e9) as u64);
    Ok(RequestSummary { longest, handshake_ns: opened_ns, tls_ns, server_loop_ns })
}

fn connection_details(nearer: Option<Nearer>, requests: Option<RequestSummary>) -> Option<Box<ConnectionDetails>> {
    (nearer.is_some() || requests.is_some()).then(|| Box::new(ConnectionDetails { nearer, requests }))
}

/// Where the connection was captured.
fn vantage(connection: &Connection) -> Vantage {
    let Connection { handshake, halves, loops_ns, .. } = connection;
    let clues = Clues {
        loops_ns: *loops_ns,
        from_handshake: handshake.client_loop_ns.is_some() && handshake.server_loop_ns.is_some(),
        ttl: [halves[0].ttl, halves[1].ttl],
        superpackets: halves.iter().any(|half| half.superpackets > 0),
    };
    clues.vantage()
}

/// What is needed of the connection if packets still come that belong to it.
fn kept(connection: &mut Connection) -> Option<Box<Kept>> {
    let recent = connection.halves.iter().any(|half| half.loss.capture_duplicates > 0).then(|| {
        let packets = |half: &mut Half| half.live.as_mut().map(|live| std::mem::take(&mut live.capture.recent));
        Box::new(connection.halves.each_mut().map(|half| packets(half).unwrap_or_default()))
    });
    let refused = connection.refused_offer();
    (recent.is_some() || refused.is_some()).then(|| Box::new(Kept { recent, refused }))
}

/// From the first FIN to the acknowledgement of the last one, or to a reset behind it.
fn teardown_ns(connection: &Connection) -> Option<i64> {
    let acknowledged_ns = connection.halves.each_ref().map(|half| half.fin_acknowledged_ns);
    let end_ns = match acknowledged_ns {
        [Some(one_ns), Some(other_ns)] => Some(one_ns.max(other_ns)),
        _ => connection.reset.map(|reset| reset.time_ns),
    };
    // A reset before the first FIN ends no teardown.
    connection.first_fin_ns.zip(end_ns).map(|(first, last)| last - first).filter(|ns| *ns >= 0)
}

/// What limited either direction.
fn judge(connection: &mut Connection, tls_handshake_s: Option<f64>, rules: &[RoundRule]) -> Option<Box<Judgement>> {
    let hello_ns = connection.halves.iter().filter_map(|half| half.first_data_ns).min();
    let tls_end_ns =
        hello_ns.zip(tls_handshake_s).map(|(hello, handshake_s)| hello.saturating_add((handshake_s * 1e9) as i64));
    let limits = [0, 1].map(|side| connection.finish_limits(side, tls_end_ns, rules).map(Box::new));
    limits.iter().any(Option::is_some).then(|| Box::new(Judgement { limits, decision: None }))
}

/// A network that copies packets copies fewer than one in so many.
const PACKETS_TO_A_COPY: u64 = 5;

/// A receiver does not report every copy of data, and copies of acknowledgements leave no trace at all. Where reports prove
/// the network to copy, the rest are taken for its work too. Where data was seen twice and no report says that it arrived
/// twice, the capture made the copies of both directions. Without any of this: a capture point that sees packets twice
/// sees most of them twice; a network that copies does so now and then, so below a fifth of the packets they are the
/// network's. So are those of data that came late, reported or not: kernels put one report in the place of another where
/// they compress acknowledgements (Linux: `tcp_comp_sack_nr`).
fn settle_copies(halves: &mut [Half; 2]) {
    let proven =
        |half: &Half| half.loss.capture_duplicates > 0 && half.loss.network_duplicates >= half.loss.capture_duplicates;
    let few = |half: &Half| u64::from(half.loss.capture_duplicates) * PACKETS_TO_A_COPY < half.packets;
    let late = |half: &Half| match half.live.as_deref() {
        Some(live) if few(half) => live.capture.late_copies.min(half.loss.capture_duplicates),
        _ => 0,
    };
    let by_capture =
        halves.iter().any(|half| half.data_packets > 0 && half.loss.capture_duplicates > late(half) && !proven(half));
    for half in halves {
        let few_without_data = half.data_packets == 0 && few(half) && !by_capture;
        let by_network = if proven(half) || few_without_data { half.loss.capture_duplicates } else { late(half) };
        if by_network > 0 {
            half.loss.network_duplicates += by_network;
            half.loss.capture_duplicates -= by_network;
        }
    }
}

/// What losses, round trips and identifications show of `half`'s data beside what every direction has.
fn details(
    half: &mut Half,
    peer: &Half,
    context: &Context,
    pauses: Option<&Pauses>,
    congestion: Option<(Feedback, Echoes)>,
) -> Option<Box<DirectionDetails>> {
    let acknowledged_bytes = half.una.saturating_sub(half.base);
    let away = context.vantage_known && !context.beside_receiver && half.data_packets > 0;
    let acknowledgements = if away { acknowledgement_loss(peer, acknowledged_bytes) } else { None };
    let live = half.live.as_deref_mut()?;
    let recovery_trips = live.round_trips.recovery.take().map(|trips| *trips);
    let bursts = if half.loss.retransmitted > 0 { live.loss.retransmissions.take_bursts() } else { None };
    let lag_ns = live.capture.recorded_behind.lag_ns(half.data_packets);
    let without_stalls = pauses.and_then(|pauses| without_stalls(live, pauses));
    let nagle_waits = if context.beside_sender && live.nagle.is_some() { live.nagle_waits() } else { None };
    let trips = recovery_trips.is_some() || without_stalls.is_some() || nagle_waits.is_some();
    let congestion = congestion.filter(|_| half.data_packets > 0);
    let any = trips || bursts.is_some() || acknowledgements.is_some() || lag_ns.is_some() || congestion.is_some();
    any.then(|| {
        Box::new(DirectionDetails {
            recovery_trips,
            without_stalls,
            bursts,
            acknowledgements,
            nagle_waits,
            congestion,
            lag_ns,
        })
    })
}

/// The clean round trips without those that a host's stall lengthened.
fn without_stalls(live: &Live, pauses: &Pauses) -> Option<WithoutStalls> {
    WithoutStalls::of(&live.round_trips, &pauses.watch.covering, pauses.totals.stall_spans()?)
}

/// A side that does little else than to acknowledge sends so many packets for each with data.
const FEWEST_PACKETS_FOR_EACH_OF_DATA: u64 = 10;

/// What `peer` sent of acknowledgements and what of them was lost, if data is not what is missing in its numbers.
fn acknowledgement_loss(peer: &Half, acknowledged_bytes: u64) -> Option<AcknowledgementLoss> {
    let acknowledges = FEWEST_PACKETS_FOR_EACH_OF_DATA * peer.data_packets <= peer.packets;
    if !acknowledges || peer.loss.retransmitted > 0 || !numbers_connections_apart(peer.ttl) {
        return None;
    }
    let live = peer.live.as_deref().filter(|live| live.holes.is_empty())?;
    let lost = live.loss.identifications.missing_of_acknowledgements(acknowledged_bytes)?;
    let passed = peer.packets.saturating_sub(peer.data_packets);
    (peer.unseen_acknowledged_bytes(true) == 0).then_some(AcknowledgementLoss { lost, passed })
}

/// What the summary of a direction needs of its connection.
struct Context {
    end_ns: i64,
    /// Of the windows that limit the direction; none if it is not known.
    shift: Option<u8>,
    /// Of the handshake.
    min_rtt_ns: Option<u64>,
    fixed_limit_ns: Option<u64>,
    beside_sender: bool,
    beside_receiver: bool,
    sack: bool,
    vantage_known: bool,
    peer_closed: bool,
    peer_is_seen: bool,
}

impl Context {
    fn of(connection: &Connection, side: usize, captured_at: Side, fixed_limit_ns: Option<u64>) -> Self {
        let [sender, receiver] = if side == 0 { [Side::Client, Side::Server] } else { [Side::Server, Side::Client] };
        Self {
            end_ns: connection.end_ns,
            shift: connection.advertised_shift(1 - side),
            min_rtt_ns: connection.path_rtt_ns().and_then(|rtt| u64::try_from(rtt).ok()),
            fixed_limit_ns,
            beside_sender: captured_at == sender,
            beside_receiver: captured_at == receiver,
            sack: connection.sack,
            vantage_known: captured_at != Side::Unknown,
            peer_closed: connection.halves[1 - side].fin.is_some(),
            peer_is_seen: connection.halves[1 - side].packets > 0,
        }
    }
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
    half.loss.lost_behind = half.live.as_deref().map_or(0, |live| live.loss.retransmissions.lost_behind());
    summary.loss = (&half.loss).into();
    summary.ledger = half.ledger;
    summary.unseen_acknowledged_bytes = half.unseen_acknowledged_bytes(context.peer_closed);
    summary.beside_sender = context.beside_sender;
    summary.beside_receiver = context.beside_receiver;
    summary.sack = context.sack;
    let behind_sender = context.vantage_known && !context.beside_sender;
    summary.shown = Shown::new(flights(half, context), behind_sender, has_foreign_reports(half));
    summary.oversize_limit_is_fixed = context.fixed_limit_ns.is_some();
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
    let found = series.and_then(|series| token_bucket_in(&series, half, context, runs));
    if let Some((bucket, empty_ns)) = found {
        summary.token_bucket = Some(Box::new(bucket));
        if let Some(limits) = limits {
            limits.take_token_bucket(&empty_ns);
        }
    }
    summarise_conversation(half, context, summary);
}

/// Was anything acknowledged, and was anything sent after that? Where nothing of the receiver was captured, nobody knows.
fn flights(half: &Half, context: &Context) -> Flights {
    let end = half.max - u64::from(half.fin.is_some_and(|fin| fin < half.max));
    let first_sent = half.live.as_deref().and_then(|live| live.acks.max_when_first_acknowledged);
    match first_sent {
        None if context.peer_is_seen => Flights::NoneAcknowledged,
        Some(sent) if end <= sent => Flights::One,
        _ => Flights::Several,
    }
}

/// More than a tenth of the reports on what was sent are about other numbers: too much is not known then.
fn has_foreign_reports(half: &Half) -> bool {
    let blocks = half.live.as_deref().map_or(0, |live| live.acks.blocks);
    u64::from(half.loss.sacked_beyond_sent) * 10 > u64::from(blocks)
}

/// What a direction shows beyond its counters, if its connection was more than an opening.
fn summarise_conversation(half: &mut Half, context: &Context, summary: &mut DirectionSummary) {
    let Some(live) = half.live.as_deref_mut() else { return };
    live.round_trips.sketch.settle();
    let trips = &live.round_trips;
    let min_rtt_ns = context.min_rtt_ns.or(trips.moments.min());
    summary.round_trips = Durations::of(&trips.moments, &trips.sketch, [0.5, 0.95, 0.99]);
    summary.rejected = trips.rejected.map(|count| u32::try_from(count).unwrap_or(u32::MAX));
    summary.delayed_trips = trips.delayed;
    summarise_spacing(live, min_rtt_ns, context.fixed_limit_ns, &mut summary.spacing);
    if half.data_packets == 0 {
        return;
    }
    summary.flight = live.view.flight_statistics();
    summary.window.limited_ns = context.shift.map(|_| live.view.limited_ns()).into();
    if context.vantage_known && !context.beside_sender {
        let missing = live.loss.identifications.missing().filter(|_| numbers_connections_apart(half.ttl));
        let captured_none_of = summary.unseen_acknowledged_bytes / u64::from(summary.segment_size.max(1));
        let not_lost = live.loss.identifications.elsewhere() + captured_none_of;
        summary.lost_by_identification = missing.map(|missing| missing.saturating_sub(not_lost)).into();
    }
}

/// Fills `summary`, which is as it is by default.
fn summarise_spacing(
    live: &mut Live,
    min_rtt_ns: Option<u64>,
    fixed_limit_ns: Option<u64>,
    summary: &mut SpacingSummary,
) {
    let threshold_ns = match fixed_limit_ns {
        Some(limit_ns) => {
            live.rates.spacing.sketch.settle();
            limit_ns
        }
        None => live.rates.spacing.oversize_from_ns(min_rtt_ns),
    };
    summary.durations = Durations::of(&live.rates.spacing.moments, &live.rates.spacing.sketch, [0.5, 0.99]);
    summary.oversize_threshold_ns = threshold_ns;
}

/// Fills in the pauses of which there are some; the limit above which spacing is oversize is in `summary`.
fn summarise_pauses(pauses: &Gaps, fixed_limit_ns: Option<u64>, summary: &mut SpacingSummary) {
    let oversize = match fixed_limit_ns {
        Some(limit_ns) => pauses.above_fixed(limit_ns),
        None => pauses.from_border(summary.oversize_threshold_ns),
    };
    let total = oversize.total();
    let (gaps, oversize) = (oversize.gaps.into(), oversize.by_cause);
    summary.causes = Some(Box::new(GapCauses { gaps, total, oversize, stalls: pauses.stalls() }));
}

/// Looks for a token bucket in what the direction delivered, and when it was empty.
fn token_bucket_in(
    series: &Series,
    half: &Half,
    context: &Context,
    runs: &[Run],
) -> Option<(TokenBucket, Vec<[i64; 2]>)> {
    let segment_bytes = half.payload_bytes as f64 / half.data_segments.max(1) as f64;
    // What is sent again and never passed before was lost before it came here: what arrives here has passed the narrow place.
    let repeated_here = half.payload_bytes.saturating_sub(half.unique_payload_bytes);
    let lost_before = !context.beside_sender && 2 * repeated_here < half.loss.retransmitted_bytes;
    let live = half.live.as_deref();
    let buckets = live.into_iter().flat_map(|live| live.rates.spacing.sketch.buckets());
    let spacing: Vec<(u64, u64)> = buckets.map(|(from_ns, _, count)| (from_ns, count)).collect();
    let frame_bytes = live.map_or(0, |live| live.view.largest_send());
    let (path_full, resting) = (full_shares(series, runs), resting_shares(series, runs));
    let terms = bucket::Terms {
        delivered: if context.beside_receiver || lost_before { Delivered::Arrived } else { Delivered::Acknowledged },
        beside_sender: context.beside_sender,
        overhead: half.ledger.ip_bytes_for_each(segment_bytes),
        segment_bytes,
        min_rtt_ns: context.min_rtt_ns.map(|rtt_ns| rtt_ns as f64),
        path_full: &path_full,
        resting: &resting,
        spacing: &spacing,
        frame_bytes: frame_bytes as f64,
    };
    let usable = network_shares(series, runs);
    let bucket = token_bucket::find(series, &usable, &terms)?;
    Some((bucket, token_bucket::empty_times(series, &usable, &terms, &bucket)))
}
