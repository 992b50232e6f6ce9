//! When the watchers of a direction ([`crate::tcp::connection::watchers`]) are asked: pauses before and after a packet changes
//! anything, rounds when what was in flight is acknowledged.
//!
//! Costs next to nothing while data flows: `Connection::is_watched` is a few compares.

use crate::packet::{Packet, option_bits};
use crate::tcp::connection::connection::{Connection, advertised_shift};
use crate::tcp::connection::environment::Environment;
use crate::tcp::connection::groups::{Terms, Watch};
use crate::tcp::connection::watchers::Watchers;
use crate::tcp::connection::{congestion_bits, loops, nearer, standstills};
use crate::tcp::direction::direction::{Direction, direction_and_peer};
use crate::tcp::direction::{retransmitted_unseen, segment_size};
use crate::tcp::events::context::Context;
use crate::tcp::events::sent::Arrived;
use crate::tcp::gaps::evidence::{CapturePlace, GapEvidence};
use crate::tcp::gaps::pending::Pending;
use crate::tcp::gaps::state::shortest_gap_ns;
use crate::tcp::gaps::{gather, receiver_return, watch};
use crate::tcp::kernel::{ANSWER_NS, PAUSE_NS, SILENCE_NS};
use crate::tcp::limits::inferred_window::InferredWindow;
use crate::tcp::limits::rules::RoundRule;
use crate::tcp::limits::second_stage::{Facts, reassign};
use crate::tcp::limits::setup::SetupTime;
use crate::tcp::limits::summary::LimitsSummary;
use crate::tcp::limits::watch::{Around, FEWEST_DATA_PACKETS, close_round, cut_gap, finish, heard_of_all_ns};
use crate::tcp::rtt::covering::Covering;

/// The packet may belong to a gap in the data of either side. `before_ns` is the time of the connection's packet before
/// it, `shortest_ns` that of the shortest gap.
#[inline(always)]
pub(crate) fn is_watched(
    connection: &Connection,
    packet: &Packet,
    side: usize,
    before_ns: i64,
    shortest_ns: i64,
) -> bool {
    let own = &connection.directions[side];
    let pause_ns = packet.time_ns - own.last_sent.0;
    is_watched_answer(connection, packet, side)
        || (packet.payload_length > 0
            && (pause_ns > shortest_ns || (pause_ns > PAUSE_NS && before_ns <= own.last_sent.0)))
}

/// As [`is_watched`] for a packet without data.
#[inline(always)]
pub(crate) fn is_watched_answer(connection: &Connection, packet: &Packet, side: usize) -> bool {
    let peer = &connection.directions[1 - side];
    connection.watch.looking || (packet.time_ns - peer.last_sent.0 > SILENCE_NS && peer.una < peer.max)
}

/// Looks at a packet before it changes anything. `before_ns` is the time of the connection's packet before it. Returns what
/// is known of the gap that the packet ends, if it ends one.
pub(crate) fn watch(
    connection: &mut Connection,
    packet: &Packet,
    bytes: &[u8],
    side: usize,
    before_ns: i64,
    limit_ns: Option<u64>,
) -> Option<GapEvidence> {
    let shortest_ns = shortest_gap_ns(limit_ns);
    if !is_watched(connection, packet, side, before_ns, shortest_ns) {
        return None;
    }
    let Connection { watch, directions, terms, .. } = connection;
    if watch.looking {
        judge_what_is_due(watch, directions, terms, packet.time_ns, limit_ns);
    }
    hear(&mut watch.watchers[1 - side], directions, &terms.context(1 - side), packet, bytes, side, before_ns);
    if packet.payload_length == 0 {
        return None;
    }
    let context = terms.context(side);
    let [direction, receiver] = direction_and_peer(directions, side);
    let pauses = &mut watch.watchers[side].pauses;
    if let Some(pauses) = pauses {
        watch::see_data(&mut pauses.watch, packet, direction, receiver, CapturePlace::of(&context), before_ns);
    }
    let gap_ns = packet.time_ns.saturating_sub(direction.last_sent.0);
    (gap_ns > shortest_ns).then(|| {
        let watch = &mut pauses.get_or_insert_default().watch;
        gather::evidence(watch, packet, direction, receiver, &context, [before_ns, gap_ns])
    })
}

/// The packet of `side` is one of the receiver's for the data of the other side.
fn hear(
    watchers: &mut Watchers,
    directions: &[Direction; 2],
    context: &Context,
    packet: &Packet,
    bytes: &[u8],
    side: usize,
    before_ns: i64,
) {
    let [direction, own] = [&directions[1 - side], &directions[side]];
    if direction.live.is_none() || packet.time_ns.saturating_sub(direction.last_sent.0) < 0 {
        return;
    }
    let watch = &mut watchers.pauses.get_or_insert_default().watch;
    receiver_return::hear(watch, packet, bytes, [direction, own], context, before_ns);
    watchers.answer_until_ns = watch.heard.map_or(i64::MIN, |heard| heard.time_ns.saturating_add(ANSWER_NS));
}

/// The packet's acknowledgement has been taken: if it belongs to an answer after a silence, that covers so much more, and what was
/// sent before that took so long.
#[inline(always)]
pub(crate) fn answered(
    watch: &mut Watch,
    directions: &[Direction; 2],
    packet: &Packet,
    side: usize,
    rtt_ns: Option<u64>,
) {
    let watchers = &mut watch.watchers[1 - side];
    if packet.time_ns <= watchers.answer_until_ns {
        answered_after_silence(watchers, packet, &directions[1 - side], rtt_ns);
    }
}

#[inline(never)]
fn answered_after_silence(watchers: &mut Watchers, packet: &Packet, direction: &Direction, rtt_ns: Option<u64>) {
    let Some(pauses) = &mut watchers.pauses else { return };
    receiver_return::count_answer(&mut pauses.watch, packet, direction);
    let (Some(heard), Some(rtt_ns)) = (&pauses.watch.heard, rtt_ns) else { return };
    let sent_ns = packet.time_ns.saturating_sub_unsigned(rtt_ns);
    if heard.is_answered_by(packet) && heard.time_ns.saturating_sub(sent_ns) > SILENCE_NS {
        pauses.watch.covering.keep(Covering { completed_ns: packet.time_ns, rtt_ns, frame: packet.frame });
    }
}

/// The data packet of which [`watch`] gave the evidence has been taken: the gap is over.
pub(crate) fn end_gap(
    connection: &mut Connection,
    evidence: &mut GapEvidence,
    packet: &Packet,
    side: usize,
    before: (i64, u32),
    arrived: &Arrived,
    limit_ns: Option<u64>,
) {
    let Connection { watch, directions, terms, .. } = connection;
    let heard_tsval = directions[1 - side].newest_tsval();
    let own = &mut watch.watchers[side].pauses.get_or_insert_default().watch;
    let due = watch::end(own, evidence, packet, &directions[side], heard_tsval, before, arrived);
    watch.looking |= !own.pending.is_empty();
    if let Some(mut due) = due {
        judge(watch, directions, terms, side, &mut due, limit_ns);
    }
}

/// Judges the gaps whose look-ahead is over.
fn judge_what_is_due(
    watch: &mut Watch,
    directions: &mut [Direction; 2],
    terms: &Terms,
    time_ns: i64,
    limit_ns: Option<u64>,
) {
    watch.looking = false;
    for side in 0..2 {
        let Some(pauses) = &mut watch.watchers[side].pauses else { continue };
        let mut due = watch::due(&mut pauses.watch, time_ns);
        watch.looking |= !pauses.watch.pending.is_empty();
        due.iter_mut().for_each(|pending| judge(watch, directions, terms, side, pending, limit_ns));
    }
}

/// The connection is over: what waits is judged as it stands.
pub(crate) fn judge_all(
    watch: &mut Watch,
    directions: &mut [Direction; 2],
    terms: &Terms,
    begun_ns: i64,
    limit_ns: Option<u64>,
) {
    watch.looking = false;
    for side in 0..2 {
        let waiting = watch.watchers[side].pauses.as_mut().map(|pauses| std::mem::take(&mut pauses.watch.pending));
        waiting.unwrap_or_default().iter_mut().for_each(|one| judge(watch, directions, terms, side, one, limit_ns));
        let place = CapturePlace::of(&terms.context(side));
        if let (Some(pauses), Some(live)) = (&mut watch.watchers[side].pauses, directions[side].live.as_deref()) {
            pauses.settle(live, place, limit_ns);
        }
    }
    standstills::settle_pauses(watch, &terms.loops, begun_ns, limit_ns);
}

/// Every gap longer than 10 ms (or the user's limit, if that is shorter) comes here once its cause can be known, soon after
/// its end; one that a timer ended only when the receiver is heard again. What no round can explain is taken out of the
/// rounds.
fn judge(
    watch: &mut Watch,
    directions: &mut [Direction; 2],
    terms: &Terms,
    side: usize,
    pending: &mut Pending,
    limit_ns: Option<u64>,
) {
    let Watchers { pauses: Some(pauses), limits, .. } = &mut watch.watchers[side] else { return };
    let gap = pauses.judge(pending, &directions[side], limit_ns);
    let around = around(directions, terms, side);
    cut_gap(limits, &mut directions[side], &around, &gap);
}

fn around(directions: &[Direction; 2], terms: &Terms, side: usize) -> Around {
    let peer = &directions[1 - side];
    Around {
        peer_bytes: peer.stream_offset(peer.max),
        handshake_rtt_ns: terms.loops.handshake_rtt_ns.and_then(|rtt| u64::try_from(rtt).ok()),
        farther_rtt_ns: nearer::farther_rtt_ns(&terms.handshake, directions),
        beside_sender: terms.loops.beside[side],
        sack: terms.agreed.sack,
        congestion_echoes: congestion_bits::congestion_echoes(&terms.agreed, side),
        peer_late_ns: peer.live.as_deref().and_then(|live| live.capture.clock.late_ns()),
    }
}

/// What was in flight when the round of `side`'s data began is acknowledged; by a packet of that side, or of the other.
#[cold]
pub(crate) fn end_round(
    watch: &mut Watch,
    directions: &mut [Direction; 2],
    terms: &mut Terms,
    packet: &Packet,
    side: usize,
    from_side: bool,
    rules: &[RoundRule],
) {
    let direction = &mut directions[side];
    if direction.data_packets_so_far() < FEWEST_DATA_PACKETS
        && let Some(live) = direction.live.as_deref_mut()
    {
        return live.view.begin_round(false);
    }
    if segment_size::takes_fewer(direction) {
        // The next packet is counted by what that tells.
        direction.settle_counters();
    }
    if terms.loops.beside[side] && !from_side {
        look_for_queue(terms, directions, packet, side);
    }
    let around = around(directions, terms, side);
    let spoke_ns = directions[1 - side].spoke_ns();
    let direction = &mut directions[side];
    let limits = &mut watch.watchers[side].limits;
    // Away from the sender that may have heard of it all long before the packet that shows it. What follows is a round of its own,
    // and none if neither side says anything more.
    if let Some(heard_ns) = heard_of_all_ns(limits.as_deref(), direction).filter(|_| !from_side) {
        let spoke_since = spoke_ns.is_some_and(|spoke_ns| spoke_ns > heard_ns);
        // The last that the other side has said belongs to what follows.
        let peer_bytes = around.peer_bytes.saturating_sub(u64::from(spoke_since));
        let place = (heard_ns.min(packet.time_ns), packet.frame);
        close_round(limits, direction, place, &Around { peer_bytes, ..around }, rules);
        if !spoke_since {
            return;
        }
    }
    close_round(limits, direction, (packet.time_ns, packet.frame), &around, rules);
}

/// An acknowledgement of the data of `side` passes beside it: whether a queue stands in between, so that the capture is not
/// beside it at all. Behind a hole the timestamp of what arrives is not echoed (RFC 7323 section 4.3).
fn look_for_queue(terms: &mut Terms, directions: &mut [Direction; 2], packet: &Packet, side: usize) {
    let [near_ns, far_ns] = [side, 1 - side].map(|side| terms.loops.loops_ns[side]);
    let (Some(near_ns), Some(far_ns)) = (near_ns, far_ns) else { return };
    let peer = &directions[1 - side];
    let in_order = packet.sequence.wrapping_add(packet.payload_length) == peer.max as u32
        && !peer.live.as_deref().is_some_and(|live| live.holes.reach_beyond(peer.una));
    if packet.options & option_bits::TIMESTAMPS == 0 || !in_order {
        return;
    }
    let Some(live) = directions[side].live.as_deref_mut() else { return };
    if live.view.look_for_queue(packet.time_ns, packet.tsval, far_ns) {
        terms.loops.behind_queue[side] = true;
        loops::set_loop(terms, directions, side, near_ns);
    }
}

/// The window that limits `side`'s data where only the flight shows its scale.
fn inferred_window(direction: &Direction) -> Option<InferredWindow> {
    let (_, mean, largest) = direction.window.extremes()?;
    let live = direction.live.as_deref()?;
    let (_, flight) = live.view.flight_statistics()?;
    InferredWindow::of(mean, largest, flight.get(), u64::from(live.size.segment_size))
}

/// What came before the data of `side`. None if that is too short to judge, or none of it was acknowledged within the capture: then no
/// round is ever over, and what the sender waited for cannot be known.
pub(crate) fn opening(connection: &Connection, side: usize, tls_end_ns: Option<i64>) -> Option<SetupTime> {
    let Connection { times, identity, terms: Terms { handshake, .. }, directions, .. } = connection;
    let [direction, peer] = [&directions[side], &directions[1 - side]];
    let first_data_ns = direction.first_data_ns.filter(|_| direction.data_packets >= FEWEST_DATA_PACKETS)?;
    if direction.acknowledged_bytes() == 0 {
        return None;
    }
    let live = direction.live.as_deref();
    let after_ns = first_data_ns.saturating_sub(handshake.completed_ns.unwrap_or(first_data_ns));
    Some(SetupTime {
        start_ns: times.start_ns,
        first_data_ns,
        end_ns: handshake.completed_ns.max(tls_end_ns).unwrap_or(times.start_ns),
        asked_ns: peer
            .first_data_ns
            .filter(|&peer_ns| peer_ns < first_data_ns)
            .map(|_| live.and_then(|live| live.view.turns().first_asked_ns()).unwrap_or(first_data_ns)),
        handshake: handshake.steps(identity.first_frame),
        frame: identity.first_frame,
        waited_for_timer: handshake.waited_for_timer
            || live.is_some_and(|live| retransmitted_unseen::waited_for_timer(live, after_ns)),
    })
}

/// Ends the last round of `side`'s data, and says what limited it.
pub(crate) fn finish_limits(
    watch: &mut Watch,
    directions: &mut [Direction; 2],
    terms: &Terms,
    opening: SetupTime,
    end: (i64, u32),
    side: usize,
    environment: &Environment,
) -> Option<LimitsSummary> {
    let around = around(directions, terms, side);
    let limits = &mut watch.watchers[side].limits;
    let (mut summary, ending) = finish(limits, &mut directions[side], &around, end, environment.round_rules)?;
    let is_unscaled = advertised_shift(directions, 1 - side).is_none();
    let nothing_lost = directions[side].loss.retransmitted == 0;
    let stops = standstills::stops(watch);
    let pauses = watch.watchers[side].pauses.as_deref();
    let facts = Facts {
        opening: Some(opening),
        ending,
        settled: pauses.map_or(&[][..], |pauses| &pauses.watch.settled),
        rhythm: standstills::rhythm(watch, &terms.loops, &stops),
        inferred: inferred_window(&directions[side]).filter(|_| is_unscaled).map(|window| (window, nothing_lost)),
        ..Facts::default()
    };
    reassign(environment.reassignments, &mut summary, &facts);
    Some(summary)
}

/// Is a round over for the data that the packet acknowledges, or is?
#[inline(always)]
pub(super) fn check_round(
    watch: &mut Watch,
    directions: &mut [Direction; 2],
    terms: &mut Terms,
    packet: &Packet,
    side: usize,
    rules: &[RoundRule],
) {
    let is_over = |direction: &Direction| direction.live.as_deref().is_some_and(|live| live.view.round_is_over());
    if is_over(&directions[1 - side]) {
        end_round(watch, directions, terms, packet, 1 - side, false, rules);
    }
    if packet.payload_length > 0 && is_over(&directions[side]) {
        end_round(watch, directions, terms, packet, side, true, rules);
    }
}
