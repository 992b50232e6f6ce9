//! Silences of each host, whatever it sends, and whether it owed something meanwhile; at the end of the connection, the rhythm in
//! which it stalled ([`crate::tcp::gaps::rhythm`]).
//!
//! What a kernel that runs does at once, and a host that is stopped does not:
//! * It acknowledges the second full segment (RFC 9293 section 3.8.6.3), while its reader makes room.
//! * It lets go what an acknowledgement makes room for, with the echo of the newest timestamp that it has heard.
//! * Beside it, it takes what comes: packets that the other side's clock says to be older waited for it.
//!
//! Rule: docs/methods.md, "What a host owed".

use crate::packet::{Packet, option_bits};
use crate::tcp::connection::connection::Connection;
use crate::tcp::connection::environment::Environment;
use crate::tcp::connection::groups::{Loops, Times, Watch};
use crate::tcp::direction::on_ack;
use crate::tcp::gaps::cause::Cause;
use crate::tcp::gaps::rhythm::{HostSilence, SHORTEST_NS};
use crate::tcp::gaps::undecided_gap::{GapProof, Settled};
use crate::tcp::limits::second_stage::StallRhythm;

/// A packet of `side` is the host's first for a while.
#[inline(always)]
pub(crate) fn ends_silence(connection: &Connection, packet: &Packet, side: usize) -> bool {
    // Times lie within 2^62 of zero.
    packet.time_ns - connection.times.passed_ns[side] > SHORTEST_NS
}

/// What a packet that ends a silence of its host shows: whether that owed something, whether the packet leaves the edge of its window
/// where it was, and the silence of the other host, if there was one.
pub(crate) struct SilenceShown {
    owed: bool,
    stands: bool,
    of_other: Option<HostSilence>,
}

/// See [`SilenceShown`]. What the packet says has not been taken yet.
#[inline(never)]
pub(crate) fn shown_by(connection: &Connection, packet: &Packet, side: usize) -> SilenceShown {
    let (before_ns, end_ns) = (connection.times.passed_ns[side], packet.time_ns);
    let is_long = |due_ns: i64| end_ns.saturating_sub(due_ns.max(before_ns)) > SHORTEST_NS;
    let stands = leaves_edge(connection, packet, side);
    let reads = || !stands && !stood_before(connection, side, before_ns);
    let owed = acknowledgement_due_ns(connection, side).is_some_and(is_long) && reads()
        || echo_due_ns(connection, packet, side, before_ns).is_some_and(is_long);
    let late_ns = late_ns(connection, packet, side, before_ns);
    let all_silent_ns = connection.times.end_ns;
    let is_others = late_ns > SHORTEST_NS && end_ns.saturating_sub(all_silent_ns) > SHORTEST_NS;
    let of_other = is_others.then_some(HostSilence { start_ns: all_silent_ns, end_ns, owed: true });
    SilenceShown { owed, stands, of_other }
}

/// The packet of `side` ends a silence of that host, and may show one of the other.
#[inline(never)]
pub(crate) fn note(
    watch: &mut Watch,
    times: &Times,
    packet: &Packet,
    side: usize,
    shown: SilenceShown,
    environment: &mut Environment,
) {
    let standstills = watch.standstills.get_or_insert_with(|| environment.standstills());
    if shown.stands {
        standstills.stood_ns[side] = packet.time_ns;
    }
    let silence = HostSilence { start_ns: times.passed_ns[side], end_ns: packet.time_ns, owed: shown.owed };
    standstills.add(side, silence, times.start_ns);
    if let Some(silence) = shown.of_other {
        standstills.add(1 - side, silence, times.start_ns);
    }
}

/// When the acknowledgement of two full segments was due here: what passed came to the host, and its answer back. With the window used up
/// none is: a kernel whose reader does not make room cannot move it, and acknowledges when a timer, or the reader, lets it
/// (Linux: `__tcp_ack_snd_check`).
fn acknowledgement_due_ns(connection: &Connection, side: usize) -> Option<i64> {
    let peer = &connection.directions[1 - side];
    let loop_ns = connection.terms.loops.loops_ns[side]?;
    let live = peer.live.as_deref().filter(|live| !live.view.is_limited_now())?;
    let segments = live.segments.unacknowledged_below(peer.max);
    let mut whole = segments.filter(|segment| segment.length >= u32::from(segment.segment_size.max(1)));
    let first = whole.next()?;
    let second = if first.wire_segments() > 1 { first } else { whole.next()? };
    Some(second.time_ns.saturating_add(loop_ns))
}

/// What acknowledges data leaves the edge of the window where it was: its kernel cannot move that, since nobody reads, and a delayed
/// acknowledgement's timer or a probe has let it go.
fn leaves_edge(connection: &Connection, packet: &Packet, side: usize) -> bool {
    let peer = &connection.directions[1 - side];
    let window_bytes = u64::from(packet.window) << connection.terms.agreed.shifts[side].unwrap_or(0);
    let acknowledged = on_ack::newly_acknowledged_by(peer, packet);
    acknowledged > 0 && acknowledged + window_bytes <= peer.window.latest_bytes()
}

/// The packet of `before_ns`, the last before the silence, did so.
fn stood_before(connection: &Connection, side: usize, before_ns: i64) -> bool {
    connection.watch.standstills.as_deref().is_some_and(|standstills| standstills.stood_ns[side] == before_ns)
}

/// When an echo of the oldest acknowledgement was due here that the packet does not echo. Where it was due before the packet of
/// `before_ns` passed, which does not echo it either, echoes say nothing: a device may rewrite them.
fn echo_due_ns(connection: &Connection, packet: &Packet, side: usize, before_ns: i64) -> Option<i64> {
    if packet.options & option_bits::TIMESTAMPS == 0 || packet.payload_length == 0 {
        return None;
    }
    let live = connection.directions[side].live.as_deref()?;
    let passed_ns = live.view.unheard_since(packet.tsecr)?;
    let due_ns = passed_ns.saturating_add(live.view.sender_loop_ns());
    (due_ns >= before_ns).then_some(due_ns)
}

/// By how much longer the packet was under way than the packet of `side` before it, which passed at `before_ns`, where the other host is
/// beside the capture; 0 elsewhere.
fn late_ns(connection: &Connection, packet: &Packet, side: usize, before_ns: i64) -> i64 {
    let clock = connection.directions[side].live.as_deref().map(|live| &live.capture.clock);
    let stamped = packet.options & option_bits::TIMESTAMPS != 0 && connection.terms.loops.beside[1 - side];
    let since_ns = clock.filter(|_| stamped).and_then(|clock| clock.since_newest_ns(packet.tsval));
    since_ns.map_or(0, |since_ns| packet.time_ns.saturating_sub(before_ns).saturating_sub(since_ns))
}

/// The connection is over: the rhythm in which a host stalled is looked for, and the pauses that end with it are its.
pub(crate) fn settle_pauses(watch: &mut Watch, loops: &Loops, begun_ns: i64, limit_ns: Option<u64>) {
    let Some(standstills) = &mut watch.standstills else { return };
    standstills.find(loops.beside, begun_ns);
    let Some(found) = &standstills.found else { return };
    let cause = if loops.beside[found.host] { Cause::LocalHostStall } else { Cause::RemoteHostStall };
    for pauses in watch.watchers.iter_mut().filter_map(|watchers| watchers.pauses.as_deref_mut()) {
        pauses.totals.take_rhythm(&found.rhythm, cause, limit_ns);
    }
}

/// The stops of a host that stalled in a rhythm.
pub(crate) fn stops(watch: &Watch) -> Vec<Settled> {
    let found = watch.standstills.as_deref().and_then(|standstills| standstills.found.as_ref());
    let stops_ns = found.map_or(&[][..], |found| &found.stops_ns);
    stops_ns.iter().map(|&[start_ns, end_ns]| Settled { start_ns, end_ns, proved: GapProof::Stall }).collect()
}

/// The rhythm of these stops.
pub(crate) fn rhythm<'a>(watch: &Watch, loops: &Loops, stops: &'a [Settled]) -> Option<StallRhythm<'a>> {
    let found = watch.standstills.as_deref()?.found.as_ref()?;
    Some(StallRhythm { period_ns: found.rhythm.period_ns, stops, is_beside: loops.beside[found.host] })
}
