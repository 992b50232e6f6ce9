//! The state of one direction becomes its summary, when its connection ends ([`super::summarize`]).

use crate::packet::Packet;
use crate::tcp::connection::connection::{Connection, advertised_shift};
use crate::tcp::connection::environment::Environment;
use crate::tcp::connection::vantage::Side;
use crate::tcp::direction::direction::{Direction, Live};
use crate::tcp::direction::{nagle, sampling, segment_size};
use crate::tcp::events::ecn::{Echoes, Feedback};
use crate::tcp::events::offer::Offer;
use crate::tcp::gaps::pauses::Pauses;
use crate::tcp::gaps::totals::Gaps;
use crate::tcp::limits::outage::{are_most_since, outages_ns};
use crate::tcp::limits::second_stage::{self, Facts, Reassignment, reassign};
use crate::tcp::limits::summary::LimitsSummary;
use crate::tcp::loss::ip_id::numbers_connections_apart;
use crate::tcp::rates::series::Series;
use crate::tcp::rtt::covering::WithoutStalls;
use crate::tcp::stats::compact::Measured;
use crate::tcp::summary::durations::Durations;
use crate::tcp::summary::over_time::{HeldRate, OverTime};
use crate::tcp::summary::shown::{Flights, Shown};
use crate::tcp::summary::summary::{
    AcknowledgementLoss, DirectionDetails, DirectionExtras, DirectionSummary, GapCauses, SpacingSummary, WindowSummary,
};
use crate::tcp::token_bucket::bucket::TokenBucket;

/// What losses, round trips and identifications show of `direction`'s data beside what every direction has.
pub(super) fn details(
    direction: &mut Direction,
    peer: &Direction,
    context: &SummaryContext,
    pauses: Option<&Pauses>,
    congestion: Option<(Feedback, Echoes)>,
) -> Option<Box<DirectionDetails>> {
    let acknowledged_bytes = direction.una.saturating_sub(direction.base);
    let away = context.vantage_known && !context.beside_receiver && direction.data_packets > 0;
    let acknowledgements = if away { acknowledgement_loss(peer, acknowledged_bytes) } else { None };
    let live = direction.live.as_deref_mut()?;
    let recovery_trips = live.round_trips.recovery.take().map(|trips| *trips);
    let bursts = if direction.loss.retransmitted > 0 { live.loss.retransmissions.take_bursts() } else { None };
    let lag_ns = live.capture.recorded_behind.lag_ns(direction.data_packets);
    let without_stalls = pauses.and_then(|pauses| without_stalls(live, pauses));
    let nagle_waits = if context.beside_sender && live.nagle.is_some() { nagle::nagle_waits(live) } else { None };
    let trips = recovery_trips.is_some() || without_stalls.is_some() || nagle_waits.is_some();
    let congestion = congestion.filter(|_| direction.data_packets > 0);
    let in_fragments = direction.in_fragments;
    let told = in_fragments > 0 || lag_ns.is_some() || congestion.is_some();
    (trips || bursts.is_some() || acknowledgements.is_some() || told).then(|| {
        Box::new(DirectionDetails {
            recovery_trips,
            without_stalls,
            bursts,
            acknowledgements,
            nagle_waits,
            congestion,
            lag_ns,
            in_fragments,
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
fn acknowledgement_loss(peer: &Direction, acknowledged_bytes: u64) -> Option<AcknowledgementLoss> {
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
pub(super) struct SummaryContext {
    end_ns: i64,
    /// Of the windows that limit the direction; none if it is not known.
    shift: Option<u8>,
    /// Of the path without a queue.
    min_rtt_ns: Option<u64>,
    /// From the capture point to the sender and back.
    sender_loop_ns: Option<i64>,
    pub(super) fixed_limit_ns: Option<u64>,
    reassignments: &'static [Reassignment],
    beside_sender: bool,
    beside_receiver: bool,
    sack: bool,
    vantage_known: bool,
    peer_closed: bool,
    peer_is_seen: bool,
}

impl SummaryContext {
    pub(super) fn of(
        connection: &Connection,
        side: usize,
        captured_at: Side,
        min_rtt_ns: Option<u64>,
        environment: &Environment,
    ) -> Self {
        let [sender, receiver] = if side == 0 { [Side::Client, Side::Server] } else { [Side::Server, Side::Client] };
        Self {
            end_ns: connection.times.end_ns,
            shift: advertised_shift(&connection.directions, 1 - side),
            min_rtt_ns,
            sender_loop_ns: connection.terms.loops.loops_ns[side],
            fixed_limit_ns: environment.fixed_spacing_limit_ns,
            reassignments: environment.reassignments,
            beside_sender: captured_at == sender,
            beside_receiver: captured_at == receiver,
            sack: connection.terms.agreed.sack,
            vantage_known: captured_at != Side::Unknown,
            peer_closed: connection.directions[1 - side].fin.is_some(),
            peer_is_seen: connection.directions[1 - side].packets > 0,
        }
    }
}

/// Fills `summary`, which is as it is by default.
pub(super) fn summarise(
    direction: &mut Direction,
    offers: [Offer; 2],
    context: &SummaryContext,
    limits: Option<&mut LimitsSummary>,
    summary: &mut DirectionSummary,
) {
    let packet = Packet {
        tcp_header_length: if offers.iter().all(|offer| offer.timestamps) { 32 } else { 20 },
        ip_header_length: 20,
        ..Packet::default()
    };
    let data_time_ns = direction.first_data_ns.map(|first| u64::try_from(direction.last_data_ns - first).unwrap_or(0));
    summary.packets = direction.packets;
    summary.wire_bytes = direction.wire_bytes;
    summary.data_packets = direction.data_packets;
    summary.data_segments = direction.data_segments;
    summary.payload_bytes = direction.payload_bytes;
    summary.unique_payload_bytes = direction.unique_payload_bytes;
    summary.largest_payload = direction.largest_payload;
    summary.segment_size = segment_size::segment_size(direction, &packet);
    summary.data_time_ns = data_time_ns.into();
    direction.loss.lost_behind = direction.live.as_deref().map_or(0, |live| live.loss.retransmissions.lost_behind());
    summary.loss = (&direction.loss).into();
    summary.ledger = direction.ledger;
    summary.unseen_acknowledged_bytes = direction.unseen_acknowledged_bytes(context.peer_closed);
    summary.beside_sender = context.beside_sender;
    summary.beside_receiver = context.beside_receiver;
    summary.sack = context.sack;
    let behind_sender = context.vantage_known && !context.beside_sender;
    summary.shown = Shown::new(flights(direction, context), behind_sender, has_foreign_reports(direction));
    summary.oversize_limit_is_fixed = context.fixed_limit_ns.is_some();
    summary.window = WindowSummary {
        scale: context.shift,
        extremes: direction.window.extremes().filter(|_| context.shift.is_some()),
        limited_ns: Measured::default(),
    };
    let (peaks, series) = sampling::finish_steps(direction);
    let extras = DirectionExtras { peaks, ..extras_of(direction, context) };
    let closed = (extras.zero_windows, extras.zero_time_ns);
    summary.extras = extras.into();
    summarise_conversation(direction, context, summary);
    let Some(limits) = limits else {
        let held = series.and_then(|series| over_time(&series, direction, context).held_rate(direction, &[]));
        return take_bucket(held, summary);
    };
    let mut facts = Facts {
        closed: context.shift.is_none().then_some(closed),
        offers: Some((offers, u64::from(direction.loss.retransmitted))),
        ..Facts::default()
    };
    let Some(series) = series else { return reassign(context.reassignments, limits, &facts) };
    let over_time = over_time(&series, direction, context);
    limits.policed_losses =
        direction.loss.retransmitted > 0 && (over_time.losses_came_late() || over_time.losses_came_at_once());
    over_time.keep(limits);
    let outages_ns = outages_ns(limits, summary.round_trips.as_ref().map(|trips| trips.quantiles_ns[1] as u64));
    let held = held_rate(&over_time, direction, limits, &outages_ns);
    facts.outages_ns = &outages_ns;
    // Only where a host stalled in a rhythm is it asked for.
    let delivered_bytes = if limits.stall_period_ns.is_some() { over_time.delivered_bytes() } else { Vec::new() };
    facts.over_time = Some(second_stage::DeliveredOverTime {
        delivered_bytes: &delivered_bytes,
        bin_ns: series.bin_ns,
        empty_ns: match &held {
            Some(HeldRate::ByBucket(_, empty_ns)) => Some(empty_ns),
            _ => None,
        },
        link_ns: match held {
            Some(HeldRate::ByLink(between_ns)) => Some(between_ns),
            _ => None,
        },
        is_clocked: summary.spacing.is_clocked(),
    });
    limits.leaves_in_pairs = leaves_in_pairs(direction);
    reassign(context.reassignments, limits, &facts);
    take_bucket(held, summary);
}

fn extras_of(direction: &Direction, context: &SummaryContext) -> DirectionExtras {
    DirectionExtras {
        superpackets: u32::try_from(direction.superpackets).unwrap_or(u32::MAX),
        zero_windows: direction.window.zero_windows,
        zero_time_ns: direction.window.zero_time_ns(context.end_ns),
        ..DirectionExtras::default()
    }
}

/// What held the rate of the data; no policer where losses came after few segments each, unless it passed the same again and again, or where
/// the path carried nothing.
fn held_rate(
    over_time: &OverTime,
    direction: &Direction,
    limits: &LimitsSummary,
    outages_ns: &[[i64; 2]],
) -> Option<HeldRate> {
    let is_another = |(bucket, empty_ns): (&TokenBucket, &[[i64; 2]])| {
        over_time.losses_come_after_few(&limits.reductions, bucket) && !over_time.passes_the_same(bucket, empty_ns)
            || are_most_since(outages_ns, bucket.switch_ns, limits)
    };
    over_time.held_rate(direction, &limits.runs).filter(|held| !held.policer().is_some_and(is_another))
}

/// Where two packets leave at once, at a fixed clock, a quarter comes as late as the first of these, in times of the mean, and one of a
/// hundred no later than the second.
const CLOCK_OF_PAIRS: [f64; 2] = [1.8, 2.15];

/// Nearly all packets leave two by two, at the same distance: a queue of a host's own lets them go so.
fn leaves_in_pairs(direction: &Direction) -> bool {
    let spacing = direction.live.as_deref().map(|live| &live.rates.spacing);
    let Some((spacing, [third_ns, late_ns])) =
        spacing.and_then(|spacing| Some((spacing, spacing.sketch.quantiles([0.75, 0.99])?)))
    else {
        return false;
    };
    let mean_ns = spacing.moments.sum_ns as f64 / spacing.moments.count.max(1) as f64;
    let [least, most] = CLOCK_OF_PAIRS;
    mean_ns > 0.0 && third_ns >= least * mean_ns && late_ns <= most * mean_ns
}

fn over_time<'a>(series: &'a Series, direction: &Direction, context: &SummaryContext) -> OverTime<'a> {
    OverTime::of(series, direction, context.min_rtt_ns, [context.beside_sender, context.beside_receiver])
}

fn take_bucket(held: Option<HeldRate>, summary: &mut DirectionSummary) {
    if let Some(HeldRate::ByBucket(bucket, _)) = held {
        summary.extras.token_bucket = Some(Box::new(bucket));
    }
}

/// Was anything acknowledged, and was anything sent after that? Where nothing of the receiver was captured, nobody knows.
fn flights(direction: &Direction, context: &SummaryContext) -> Flights {
    let end = direction.max - u64::from(direction.fin.is_some_and(|fin| fin < direction.max));
    let live = direction.live.as_deref();
    let last_ns = live.and_then(|live| live.rates.spacing.last()).map(|(time_ns, _)| time_ns);
    // Away from the sender more of the flight passes before the sender can have heard of the first of it.
    let is_unheard = |first_ns: i64| {
        let heard_ns = context.sender_loop_ns.map(|loop_ns| first_ns.saturating_add(loop_ns));
        last_ns.zip(heard_ns).is_some_and(|(last_ns, heard_ns)| last_ns < heard_ns)
    };
    match live.and_then(|live| live.acks.when_first_acknowledged) {
        None if context.peer_is_seen => Flights::NoneAcknowledged,
        Some((sent, first_ns)) if end <= sent || is_unheard(first_ns) => Flights::One,
        _ => Flights::Several,
    }
}

/// More than a tenth of the reports on what was sent are about other numbers: too much is not known then.
fn has_foreign_reports(direction: &Direction) -> bool {
    let blocks = direction.live.as_deref().map_or(0, |live| live.acks.blocks);
    u64::from(direction.loss.sacked_beyond_sent) * 10 > u64::from(blocks)
}

/// What a direction shows beyond its counters, if its connection was more than an opening.
fn summarise_conversation(direction: &mut Direction, context: &SummaryContext, summary: &mut DirectionSummary) {
    let Some(live) = direction.live.as_deref_mut() else { return };
    live.round_trips.sketch.settle();
    let trips = &live.round_trips;
    let min_rtt_ns = context.min_rtt_ns.or(trips.moments.min());
    summary.round_trips = Durations::of(&trips.moments, &trips.sketch, [0.5, 0.95, 0.99]);
    summary.rejected = trips.rejected.map(|count| u32::try_from(count).unwrap_or(u32::MAX));
    summary.delayed_trips = trips.delayed;
    summarise_spacing(live, min_rtt_ns, context.fixed_limit_ns, &mut summary.spacing);
    if direction.data_packets == 0 {
        return;
    }
    summary.flight = live.view.flight_statistics();
    summary.window.limited_ns = context.shift.map(|_| live.view.limited_ns()).into();
    if context.vantage_known && !context.beside_sender {
        let missing = live.loss.identifications.missing().filter(|_| numbers_connections_apart(direction.ttl));
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
    summary.durations =
        Durations::of(&live.rates.spacing.moments, &live.rates.spacing.sketch, [0.5, 0.99]).map(Box::new);
    summary.oversize_threshold_ns = threshold_ns;
}

/// Fills in the pauses of which there are some; the limit above which spacing is oversize is in `summary`.
pub(super) fn summarise_pauses(pauses: &Gaps, fixed_limit_ns: Option<u64>, summary: &mut SpacingSummary) {
    let oversize = match fixed_limit_ns {
        Some(limit_ns) => pauses.above_fixed(limit_ns),
        None => pauses.from_border(summary.oversize_threshold_ns),
    };
    let total = oversize.total();
    let (gaps, oversize) = (oversize.gaps.into(), oversize.by_cause);
    summary.causes = Some(Box::new(GapCauses { gaps, total, oversize, stalls: pauses.stalls() }));
}
