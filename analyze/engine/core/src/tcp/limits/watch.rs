//! When a round is over, and what the direction has counted by then.
//!
//! Rule: docs/verdict.md, "Too little to judge".

use crate::tcp::direction::direction::Direction;
use crate::tcp::events::retransmission::Trigger;
use crate::tcp::gaps::totals::ClassifiedGap;
use crate::tcp::limits::after_data::SenderEnding;
use crate::tcp::limits::judge::Limits;
use crate::tcp::limits::round::{Meter, RoundSeen};
use crate::tcp::limits::rules::RoundRule;
use crate::tcp::limits::share::CutGap;
use crate::tcp::limits::summary::LimitsSummary;

/// Rounds are no shorter: on a short path several round trips make one.
const SHORTEST_ROUND_NS: i64 = 1_000_000;

/// Data packets below which a transfer is too short to judge.
pub const FEWEST_DATA_PACKETS: u64 = 10;

/// What a direction's round needs to know of the rest of the connection.
pub(crate) struct Around {
    /// Payload the other side has sent.
    pub(crate) peer_bytes: u64,
    /// Round trip of the handshake, if it was measured.
    pub(crate) handshake_rtt_ns: Option<u64>,
    /// The shortest of data, where something nearer answered the handshake.
    pub(crate) farther_rtt_ns: Option<u64>,
    /// The capture point is at the sender.
    pub(crate) beside_sender: bool,
    /// Both sides permit SACK.
    pub(crate) sack: bool,
    /// Told so far of marks on the data.
    pub(crate) congestion_echoes: u64,
    /// How much later than its first packet the newest of the other side came, by its own clock.
    pub(crate) peer_late_ns: Option<i64>,
}

/// Takes what no round can explain of a gap in the data of `direction` out of the rounds.
pub(crate) fn cut_gap(
    limits: &mut Option<Box<Limits>>,
    direction: &mut Direction,
    around: &Around,
    gap: &ClassifiedGap,
) {
    let first_data = first_data(direction, gap.start_ns);
    let Some(live) = direction.live.as_deref_mut() else { return };
    let silence = live.view.silence_within(gap.start_ns, gap.end_ns).unwrap_or_default();
    let &ClassifiedGap { start_ns, end_ns, frames, .. } = gap;
    let (limited, idle) = (silence.limited, silence.idle);
    let Some(factor) = gap.cause.factor(gap.ended_by_timer, limited) else { return };
    let limits = limits.get_or_insert_with(|| Limits::begin(first_data, around));
    limits.cut(CutGap { start_ns, end_ns, factor, frames, limited, idle });
}

/// Ends the last round of `direction`'s data; none if no round was ever over. `end` is the last packet's time and frame.
pub(crate) fn finish(
    limits: &mut Option<Box<Limits>>,
    direction: &mut Direction,
    around: &Around,
    end: (i64, u32),
    rules: &[RoundRule],
) -> Option<(LimitsSummary, Option<SenderEnding>)> {
    let last_ns = direction.last_data_ns;
    let idle_since_ns = |direction: &Direction| direction.live.as_deref().and_then(|live| live.view.idle_since_ns());
    // The last round is over when its data is acknowledged.
    let last_ns = idle_since_ns(direction)
        .filter(|_| direction.una >= direction.max)
        .map_or(last_ns, |since_ns| since_ns.max(last_ns).min(end.0));
    let frame = direction.live.as_ref().map_or(0, |live| live.rates.spacing.last().map_or(0, |(_, frame)| frame));
    direction.live.as_deref_mut()?.view.begin_round(false);
    close_round(limits, direction, (last_ns, frame), around, rules);
    let base = direction.base;
    let live = direction.live.as_deref_mut()?;
    let (trains, reductions) = (live.rates.ack_trains.rates(), std::mem::take(&mut live.loss.reductions).since(base));
    let summary = LimitsSummary { trains, reductions, ..limits.take()?.finish(rules) };
    Some((summary, SenderEnding::of(direction, frame, end)))
}

impl Limits {
    fn begin(first_data: Meter, around: &Around) -> Box<Self> {
        Box::new(Self::new(first_data, around.farther_rtt_ns.or(around.handshake_rtt_ns), around.sack))
    }
}

/// Where the first round of `direction`'s data begins; without data at `otherwise_ns`.
fn first_data(direction: &Direction, otherwise_ns: i64) -> Meter {
    let time_ns = direction.first_data_ns.unwrap_or(otherwise_ns);
    Meter { time_ns, frame: direction.first_data_frame, ..Meter::default() }
}

/// Since when in the round in progress the sender has had nothing in flight.
pub(crate) fn heard_of_all_ns(limits: Option<&Limits>, direction: &Direction) -> Option<i64> {
    let start_ns = limits?.round_start_ns();
    direction.live.as_deref()?.view.idle_since_ns().filter(|since_ns| *since_ns > start_ns)
}

/// Ends the round in progress of `direction`'s data at a time and frame.
pub(crate) fn close_round(
    limits: &mut Option<Box<Limits>>,
    direction: &mut Direction,
    (time_ns, frame): (i64, u32),
    around: &Around,
    rules: &[RoundRule],
) {
    let (data_packets, delivered_bytes) = (direction.data_packets_so_far(), direction.acknowledged_bytes());
    let (first_data, loss) = (first_data(direction, time_ns), direction.loss);
    let Some(live) = direction.live.as_deref_mut() else { return };
    if data_packets < FEWEST_DATA_PACKETS {
        live.view.begin_round(false);
        return;
    }
    let limits = limits.get_or_insert_with(|| Limits::begin(first_data, around));
    // In mid-stream the first report shows it.
    limits.sack |= around.sack;
    if let Some(farther_rtt_ns) = around.farther_rtt_ns {
        limits.disown_shorter(farther_rtt_ns);
    }
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
        recovering_ns: live.loss.recovering.total_ns(time_ns),
        flight_area,
        rtt_sum_ns: moments.sum_ns,
        rtt_samples: moments.count,
        data_packets,
        short_packets: live.size.short_packets,
        retransmitted: loss.retransmitted,
        timeouts: loss.by_trigger[Trigger::Rto as usize],
        reductions: live.loss.reductions.count(),
        segment_size: live.size.segment_size,
        largest_frame: live.view.largest_send(),
        peer_bytes: around.peer_bytes,
        congestion_echoes: around.congestion_echoes,
        pauses: live.view.pauses(),
    };
    let near_loop_ns = if around.beside_sender { Some(0) } else { live.view.round_loop_ns() };
    let least_sample_ns = live.round_trips.take_least();
    let longest_gap_ns = Some(live.rates.spacing.take_longest()).filter(|_| !around.beside_sender);
    let max_flight = live.view.round_max_flight();
    let late_ns = [live.capture.clock.late_ns(), around.peer_late_ns];
    let shortest_loop_ns = u64::try_from(live.view.sender_loop_ns()).unwrap_or(0);
    let seen = RoundSeen { max_flight, near_loop_ns, shortest_loop_ns, least_sample_ns, longest_gap_ns, late_ns };
    limits.close_round(meter, &seen, rules);
    live.view.begin_round(true);
}
