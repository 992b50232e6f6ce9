//! When a round is over, and what the direction has counted by then.

use crate::packet::{Packet, option_bits};
use crate::tcp::connection::connection::Connection;
use crate::tcp::direction::direction::Half;
use crate::tcp::events::retransmission::Trigger;
use crate::tcp::gaps::totals::ClassifiedGap;
use crate::tcp::limits::factor::factor_of;
use crate::tcp::limits::judge::Limits;
use crate::tcp::limits::round::{Meter, Seen};
use crate::tcp::limits::setup::Opening;
use crate::tcp::limits::share::CutGap;
use crate::tcp::limits::summary::LimitsSummary;

/// Rounds are no shorter: on a short path several round trips make one.
const SHORTEST_ROUND_NS: i64 = 1_000_000;

/// Data packets below which a transfer is too short to judge.
pub const FEWEST_DATA_PACKETS: u64 = 10;

/// What a direction's round needs to know of the rest of the connection.
struct Around {
    /// Payload the other side has sent.
    peer_bytes: u64,
    handshake_rtt_ns: Option<u64>,
    beside_sender: bool,
    sack: bool,
    /// Told so far of marks on the data.
    congestion_echoes: u64,
}

impl Connection {
    fn around(&self, side: usize) -> Around {
        let peer = &self.halves[1 - side];
        Around {
            peer_bytes: peer.stream_offset(peer.max),
            handshake_rtt_ns: self.handshake_rtt_ns.and_then(|rtt| u64::try_from(rtt).ok()),
            beside_sender: self.beside[side],
            sack: self.sack,
            congestion_echoes: self.congestion_echoes(side),
        }
    }

    /// What was in flight when the round of `side`'s data began is acknowledged; by a packet of that side, or of the other.
    #[cold]
    pub(in crate::tcp) fn close_round(&mut self, packet: &Packet, side: usize, from_side: bool) {
        let half = &mut self.halves[side];
        if half.data_packets_so_far() < FEWEST_DATA_PACKETS
            && let Some(live) = half.live.as_deref_mut()
        {
            return live.view.begin_round(false);
        }
        if half.takes_fewer() {
            // The next packet is counted by what that tells.
            half.settle_counters();
        }
        if self.beside[side] && !from_side {
            self.look_for_queue(packet, side);
        }
        let around = self.around(side);
        let spoke_ns = self.halves[1 - side].spoke_ns();
        let half = &mut self.halves[side];
        // Away from the sender that may have heard of it all long before the packet that shows it. What follows is a round of its own,
        // and none if neither side says anything more.
        if let Some(heard_ns) = half.heard_of_all_ns().filter(|_| !from_side) {
            let spoke_since = spoke_ns.is_some_and(|spoke_ns| spoke_ns > heard_ns);
            // The last that the other side has said belongs to what follows.
            let peer_bytes = around.peer_bytes.saturating_sub(u64::from(spoke_since));
            half.close_round(heard_ns.min(packet.time_ns), packet.frame, &Around { peer_bytes, ..around });
            if !spoke_since {
                return;
            }
        }
        half.close_round(packet.time_ns, packet.frame, &around);
    }
}

impl Connection {
    /// An acknowledgement of the data of `side` passes beside it: whether a queue stands in between, so that the capture is not
    /// beside it at all. Behind a hole the timestamp of what arrives is not echoed (RFC 7323 section 4.3).
    fn look_for_queue(&mut self, packet: &Packet, side: usize) {
        let [near_ns, far_ns] = [side, 1 - side].map(|side| self.loops_ns[side]);
        let (Some(near_ns), Some(far_ns)) = (near_ns, far_ns) else { return };
        let peer = &self.halves[1 - side];
        let in_order = packet.sequence.wrapping_add(packet.payload_length) == peer.max as u32
            && !peer.live.as_deref().is_some_and(|live| live.holes.reach_beyond(peer.una));
        if packet.options & option_bits::TIMESTAMPS == 0 || !in_order {
            return;
        }
        let Some(live) = self.halves[side].live.as_deref_mut() else { return };
        if live.view.look_for_queue(packet.time_ns, packet.tsval, far_ns) {
            self.behind_queue[side] = true;
            self.set_loop(side, near_ns);
        }
    }

    /// Every gap longer than 10 ms (or the user's limit, if that is shorter) comes here once its cause is known, soon after
    /// its end; one that a timer ended only when the receiver is heard again. What no round can explain is taken out of the
    /// rounds.
    pub(in crate::tcp) fn gap_classified(&mut self, gap: &ClassifiedGap) {
        let side = usize::from(gap.side & 1);
        let around = self.around(side);
        let half = &mut self.halves[side];
        let first_data = half.first_data(gap.start_ns);
        let Some(live) = half.live.as_deref_mut() else { return };
        let silence = live.view.silence_within(gap.start_ns, gap.end_ns).unwrap_or_default();
        let &ClassifiedGap { start_ns, end_ns, frames, .. } = gap;
        let (limited, idle) = (silence.limited, silence.idle);
        let Some(factor) = factor_of(gap.cause, gap.ended_by_timer, limited) else { return };
        let limits = live.limits.get_or_insert_with(|| Limits::begin(first_data, &around));
        limits.cut(CutGap { start_ns, end_ns, factor, frames, limited, idle });
    }

    /// Ends the last round of `side`'s data, and says what limited it. None if it was too short to judge, or none of it was
    /// acknowledged within the capture: then no round is ever over, and what the sender waited for cannot be known.
    pub(in crate::tcp) fn finish_limits(&mut self, side: usize, tls_end_ns: Option<i64>) -> Option<LimitsSummary> {
        let half = &self.halves[side];
        let first_data_ns = half.first_data_ns.filter(|_| half.data_packets >= FEWEST_DATA_PACKETS)?;
        if half.acknowledged_bytes() == 0 {
            return None;
        }
        let peer = &self.halves[1 - side];
        let opening = Opening {
            start_ns: self.start_ns,
            first_data_ns,
            end_ns: self.handshake.completed_ns.max(tls_end_ns).unwrap_or(self.start_ns),
            asked_ns: peer.first_data_ns.filter(|&peer_ns| peer_ns < first_data_ns).map(|_| {
                half.live.as_deref().and_then(|live| live.view.turns().first_asked_ns()).unwrap_or(first_data_ns)
            }),
            handshake: self.handshake.steps(self.first_frame),
            frame: self.first_frame,
            waited_for_timer: half.live.as_deref().is_some_and(|live| {
                live.waited_for_timer(
                    first_data_ns.saturating_sub(self.handshake.completed_ns.unwrap_or(first_data_ns)),
                )
            }),
        };
        let last_ns = half.last_data_ns;
        let around = self.around(side);
        let half = &mut self.halves[side];
        let frame = half.live.as_ref().map_or(0, |live| live.spacing.last().map_or(0, |(_, frame)| frame));
        half.live.as_deref_mut()?.view.begin_round(false);
        half.close_round(last_ns, frame, &around);
        let live = half.live.as_deref_mut()?;
        let mut summary = live.limits.take()?.finish(opening);
        let settled = live.watch.as_deref().map_or(&[][..], |watch| &watch.settled);
        settled.iter().for_each(|settled| summary.settle(settled));
        Some(summary)
    }
}

impl Limits {
    fn begin(first_data: Meter, around: &Around) -> Box<Self> {
        Box::new(Self::new(first_data, around.handshake_rtt_ns, around.sack))
    }
}

impl Half {
    /// Where the first round begins; without data at `otherwise_ns`.
    fn first_data(&self, otherwise_ns: i64) -> Meter {
        let time_ns = self.first_data_ns.unwrap_or(otherwise_ns);
        Meter { time_ns, frame: self.first_data_frame, ..Meter::default() }
    }

    /// Since when in the round in progress the sender has had nothing in flight.
    fn heard_of_all_ns(&self) -> Option<i64> {
        let live = self.live.as_deref()?;
        let start_ns = live.limits.as_ref()?.round_start_ns();
        live.view.idle_since_ns().filter(|since_ns| *since_ns > start_ns)
    }

    fn close_round(&mut self, time_ns: i64, frame: u32, around: &Around) {
        let (data_packets, delivered_bytes) = (self.data_packets_so_far(), self.acknowledged_bytes());
        let (first_data, loss) = (self.first_data(time_ns), self.loss);
        let Some(live) = self.live.as_deref_mut() else { return };
        if data_packets < FEWEST_DATA_PACKETS {
            live.view.begin_round(false);
            return;
        }
        let limits = live.limits.get_or_insert_with(|| Limits::begin(first_data, around));
        if time_ns.saturating_sub(limits.round_start_ns()) < limits.least_round_ns().max(SHORTEST_ROUND_NS) {
            live.view.begin_round(false);
            return;
        }
        let (flight_area, busy_ns) = live.view.flight_area();
        let moments = &live.round_trips.moments;
        let meter = Meter {
            time_ns,
            frame,
            delivered_bytes,
            limited_ns: live.view.limited_ns(),
            busy_ns,
            blocked_ns: live.view.blocked_ns(),
            thought_ns: live.view.turns().thought_ns(),
            turns: live.view.turns().taken_turns(),
            recovering_ns: live.recovering.total_ns(time_ns),
            flight_area,
            rtt_sum_ns: moments.sum_ns,
            rtt_samples: moments.count,
            data_packets,
            short_packets: live.short_packets,
            retransmitted: loss.retransmitted,
            timeouts: loss.by_trigger[Trigger::Rto as usize],
            segment_size: live.segment_size,
            largest_frame: live.view.largest_send(),
            peer_bytes: around.peer_bytes,
            congestion_echoes: around.congestion_echoes,
            pauses: live.view.pauses(),
        };
        let near_loop_ns = if around.beside_sender { Some(0) } else { live.view.round_loop_ns() };
        let least_sample_ns = live.round_trips.take_least();
        let longest_gap_ns = Some(live.spacing.take_longest()).filter(|_| !around.beside_sender);
        let max_flight = live.view.round_max_flight();
        limits.close_round(meter, &Seen { max_flight, near_loop_ns, least_sample_ns, longest_gap_ns });
        live.view.begin_round(true);
    }
}
