//! Judges rounds as they end: the state of one direction, from its first round to the summary.

use crate::tcp::congestion::observed::Observed;
use crate::tcp::events::factor::Factor;
use crate::tcp::events::holder::Holder;
use crate::tcp::limits::ack_wait::AckWait;
use crate::tcp::limits::background::{Background, REACH};
use crate::tcp::limits::known::KnownRound;
use crate::tcp::limits::marks::Marks;
use crate::tcp::limits::plateau::{Counted, Plateau};
use crate::tcp::limits::rates::RoundRates;
use crate::tcp::limits::round::{Meter, Round, RoundSeen};
use crate::tcp::limits::route::Route;
use crate::tcp::limits::rules::RoundRule;
use crate::tcp::limits::runs::{FactorRun, Runs};
use crate::tcp::limits::share::{CutGap, Share, Shares};
use crate::tcp::limits::slow_start::SlowStart;
use crate::tcp::limits::summary::LimitsSummary;
use crate::tcp::limits::tally::{BufferRounds, FullRounds, ReducedRounds, WindowRounds};
use crate::tcp::limits::{application, bottleneck, rules, send_buffer};

/// A round is judged no sooner than this after its end: causes of gaps come late.
const PATIENCE_NS: i64 = 20_000_000;

/// Without SACK, what arrives in recovery is acknowledged all at once: such rounds tell little of the rate.
const MOST_RECOVERY: f64 = 0.2;

/// Gaps that wait for their rounds; more are an attack.
const MOST_GAPS: usize = 4096;

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    /// Counters at the beginning of the round in progress.
    meter: Meter,
    /// The last rounds; the first `settled` of them are judged.
    rounds: Vec<KnownRound>,
    settled: usize,
    gaps: Vec<CutGap>,
    slow_start: SlowStart,
    min_rtt_ns: Option<u64>,
    route: Route,
    loss_seen: bool,
    plateau: Plateau,
    /// Both sides use SACK.
    pub(crate) sack: bool,
    shares: Shares,
    underlying: Shares,
    runs: Runs,
    timed_rounds: u64,
    window_rounds: WindowRounds,
    full_rounds: FullRounds,
    buffer_rounds: BufferRounds,
    reduced_rounds: ReducedRounds,
    turn_ways_ns: u64,
    marks: Marks,
    rates: RoundRates,
    ack_wait: AckWait,
    control: Observed,
}

impl Limits {
    /// Begins with the first data.
    pub fn new(meter: Meter, path_rtt_ns: Option<u64>, sack: bool) -> Self {
        Self { meter, min_rtt_ns: path_rtt_ns, route: Route::new(path_rtt_ns), sack, ..Self::default() }
    }

    /// The path is longer than the handshake's round trip, with which this began: something nearer had answered.
    ///
    /// Rule: docs/verdict.md, "A handshake answered nearer".
    pub(crate) fn disown_shorter(&mut self, path_rtt_ns: u64) {
        if self.min_rtt_ns.is_some_and(|least_ns| least_ns < path_rtt_ns) {
            (self.min_rtt_ns, self.route) = (Some(path_rtt_ns), Route::new(Some(path_rtt_ns)));
        }
    }

    /// When the round in progress began.
    pub fn round_start_ns(&self) -> i64 {
        self.meter.time_ns
    }

    /// The time below which no round trip has passed: the first acknowledgement of a burst ends no round.
    pub fn least_round_ns(&self) -> i64 {
        self.min_rtt_ns.map_or(0, |rtt| i64::try_from(rtt - rtt / 4).unwrap_or(i64::MAX))
    }

    /// The round in progress is over. `rules` say what limits a round.
    pub fn close_round(&mut self, meter: Meter, seen: &RoundSeen, rules: &[RoundRule]) {
        let mut round = Round::between(&self.meter, &meter, seen);
        round.ack_wait_ns = self.ack_wait.take(seen, meter.time_ns);
        self.meter = meter;
        if let Some(rtt_ns) = round.rtt_ns {
            self.min_rtt_ns = Some(self.min_rtt_ns.map_or(rtt_ns, |least| least.min(rtt_ns)));
            self.route.seen(rtt_ns);
        }
        if self.control.begins_with(round.max_flight, round.segment_size) {
            self.control.take(&round.round_trip(self.sack));
        }
        self.rounds.push(round.into());
        self.slow_start.take(&mut self.rounds);
        let due_ns = meter.time_ns.saturating_sub(PATIENCE_NS);
        while self.rounds.len() - self.settled > REACH && self.rounds[self.settled].end_ns <= due_ns {
            self.settle(rules);
        }
        if self.settled > 4 * REACH {
            let done = self.settled - REACH;
            self.rounds.drain(..done);
            self.settled -= done;
        }
    }

    /// A gap has got a cause that is no matter of rounds.
    pub fn cut(&mut self, gap: CutGap) {
        if self.gaps.len() < MOST_GAPS {
            self.gaps.push(gap);
        }
    }

    /// Judges the oldest round that waits for it.
    fn settle(&mut self, rules: &[RoundRule]) {
        let index = self.settled;
        self.settled += 1;
        let (start_ns, end_ns) = (self.rounds[index].start_ns, self.rounds[index].end_ns);
        self.mark_disturbed(index);
        let cuts = self.take_cuts(index);
        self.route.take(&self.rounds[index]);
        let background = Background { min_rtt_ns: self.route.shortest_ns(), no_loss_yet: !self.loss_seen };
        let [factor, underlying] = self.sure(index, rules::factors(rules, &self.rounds, index, &background));
        let round: Round = *self.rounds[index];
        self.loss_seen |= round.tells_of_congestion();
        self.timed_rounds += u64::from(round.rtt_ns.is_some());
        self.count_reduced(index, &background);
        let mut counted = Counted::default();
        if factor.holder() == Holder::Window {
            // What the whole connection knows: a way that seems longer may be a queue of others' that stands as evenly.
            let background = Background { min_rtt_ns: self.min_rtt_ns, ..background };
            counted.window_rounds = WindowRounds {
                all: 1,
                queued: u64::from(bottleneck::has_standing_queue(&self.rounds, index, &background)),
                at_own_pace: u64::from(application::keeps_its_own_pace(&self.rounds, index)),
            };
            self.window_rounds.add(&counted.window_rounds);
        }
        if factor.holder() == Holder::Path {
            self.full_rounds.all += 1;
            self.full_rounds.pausing += u64::from(self.rounds[index].pauses());
        }
        if factor.holder() == Holder::Buffer {
            self.buffer_rounds.add(&round);
        }
        let parts = Parts::of(&round, factor);
        if factor.holder() == Holder::Application && round.turns > 0 {
            let ways_ns = u64::from(round.turns).saturating_mul(background.min_rtt_ns.unwrap_or(0));
            let ways_ns = ways_ns.min(round.duration_ns().saturating_sub(round.idle_ns));
            self.turn_ways_ns = self.turn_ways_ns.saturating_add(ways_ns);
        }
        for (factor, share) in parts.list() {
            self.shares[factor].add(share);
            if factor.holder() == Holder::Window {
                counted.share.add(share);
            }
        }
        let factors = parts.list().map(|(factor, _)| factor).chain(cuts.iter().map(|gap| gap.factor));
        self.marks.push(end_ns, round.frames[1], factors);
        let whole = Share { time_ns: round.duration_ns(), bytes: round.delivered_bytes };
        self.underlying[underlying].add(whole);
        if underlying.holder() == Holder::Window {
            (counted.underlying, counted.rounds) = (whole, 1);
            self.plateau.count(&counted);
        }
        if round.duration_ns() > 0 {
            let steady = self.sack || round.recovering_ns as f64 <= MOST_RECOVERY * round.duration_ns() as f64;
            self.rates.add(&round, factor.shows_capacity() && steady && !round.disturbed);
        }
        self.draw(start_ns, end_ns, parts.main(), &round, &cuts);
    }

    /// Was the window reduced in this round, and did a queue stand in it or right before? Its sender learns a round trip late.
    fn count_reduced(&mut self, index: usize, background: &Background) {
        let before = index.checked_sub(1).and_then(|before| self.rounds.get(before));
        let round = &self.rounds[index];
        let is_queued =
            || before.into_iter().chain(std::iter::once(round)).any(|round| bottleneck::shows_queue(round, background));
        let counted = &mut self.reduced_rounds;
        if !round.tells_of_congestion() {
            counted.quiet += 1;
            counted.quiet_queued += u64::from(is_queued());
        } else if before.is_some_and(|before| !before.tells_of_congestion()) {
            counted.all += 1;
            counted.queued += u64::from(is_queued());
        }
    }

    /// After a loss, what nothing else limits counts for the congestion window until its flight has stalled for long, unless
    /// its pauses show that it is the application's.
    fn sure(&mut self, index: usize, [factor, underlying]: [Factor; 2]) -> [Factor; 2] {
        if !self.loss_seen {
            return [factor, underlying];
        }
        let round = &self.rounds[index];
        if underlying.holder() == Holder::Application && send_buffer::is_free(round) {
            // A writer that is late: neither a window nor the send buffer was in the way, and none has grown.
            return [factor, underlying];
        }
        let may_be_own = underlying.holder() == Holder::Window && send_buffer::is_free(round);
        let Some(least_ns) = self.route.shortest_ns().filter(|_| may_be_own) else {
            self.plateau.end();
            return [factor, underlying];
        };
        let flight = || send_buffer::even_flight(&self.rounds, index, least_ns as f64);
        if application::keeps_its_own_pace(&self.rounds, index) && flight().is_some() {
            self.plateau.end();
            return [Factor::Application; 2];
        }
        if self.plateau.is_due() {
            let flight = flight();
            self.plateau.look(round.start_ns, flight, round.segment_size);
        }
        if !self.plateau.has_lasted() {
            return [factor, underlying];
        }
        let start_ns = round.start_ns;
        if let Some((since_ns, counted)) = self.plateau.take_counted() {
            self.move_to_send_buffer([since_ns, start_ns], &counted);
        }
        [factor, underlying].map(|one| if one == underlying { Factor::SendBuffer } else { one })
    }

    /// The rounds between two moments were counted for the congestion window.
    fn move_to_send_buffer(&mut self, between_ns: [i64; 2], counted: &Counted) {
        let [from, to] = [Factor::CongestionWindow, Factor::SendBuffer];
        for (shares, share) in [(&mut self.shares, counted.share), (&mut self.underlying, counted.underlying)] {
            let moved = shares[from].take(share);
            shares[to].add(moved);
        }
        self.window_rounds.take(&counted.window_rounds);
        self.runs.move_to(to, |factor| factor == from, between_ns);
        self.marks.move_to(to, from, between_ns);
    }

    /// Marks the rounds that a gap known by now lies in, as far as the rules look ahead of `index`.
    fn mark_disturbed(&mut self, index: usize) {
        let end = self.rounds.len().min(index + REACH + 1);
        for gap in &self.gaps {
            // What waited behind the gap comes together in the round after it.
            let mut just_before = false;
            for round in &mut self.rounds[index..end] {
                let within = gap.start_ns < round.end_ns && gap.end_ns > round.start_ns;
                if (within || just_before) && !round.disturbed {
                    round.change(|round| round.disturbed = true);
                }
                just_before = within;
            }
        }
    }

    /// Takes what the gaps cut out of a round out of it, and counts it for them.
    fn take_cuts(&mut self, index: usize) -> Vec<CutGap> {
        let mut cuts = Vec::new();
        let round = &mut self.rounds[index];
        for gap in &self.gaps {
            let (start_ns, end_ns) = (gap.start_ns.max(round.start_ns), gap.end_ns.min(round.end_ns));
            let Ok(overlap_ns) = u64::try_from(end_ns.saturating_sub(start_ns)) else { continue };
            if overlap_ns == 0 {
                continue;
            }
            round.change(|round| round.cut(overlap_ns, gap));
            let share = Share { time_ns: overlap_ns, bytes: 0 };
            self.shares[gap.factor].add(share);
            self.underlying[gap.factor].add(share);
            cuts.push(CutGap { start_ns, end_ns, ..*gap });
        }
        let end_ns = round.end_ns;
        self.gaps.retain(|gap| gap.end_ns > end_ns);
        cuts.sort_unstable_by_key(|gap| gap.start_ns);
        cuts
    }

    /// Writes a round and its gaps into the runs.
    fn draw(&mut self, start_ns: i64, end_ns: i64, factor: Factor, round: &Round, cuts: &[CutGap]) {
        let mut from = start_ns;
        let mut bytes = round.delivered_bytes;
        let mut frames = round.frames;
        for gap in cuts {
            let before = [frames[0], gap.frames[0].max(frames[0])];
            self.runs.push(FactorRun { start_ns: from, end_ns: gap.start_ns, factor, bytes: 0, frames: before });
            let (start_ns, end_ns) = (gap.start_ns.max(from), gap.end_ns);
            self.runs.push(FactorRun { start_ns, end_ns, factor: gap.factor, bytes: 0, frames: gap.frames });
            from = from.max(gap.end_ns);
            frames[0] = gap.frames[1];
        }
        if from >= end_ns {
            bytes = 0;
        }
        self.runs.push(FactorRun { start_ns: from, end_ns, factor, bytes, frames });
    }

    /// Judges what is left.
    pub fn finish(mut self, rules: &[RoundRule]) -> LimitsSummary {
        while self.settled < self.rounds.len() {
            self.settle(rules);
        }
        let (rounds, shortest_ns) = (self.rates.count(), self.route.shortest_ns());
        LimitsSummary {
            shares: self.shares,
            underlying: self.underlying,
            reference_bytes_s: self.rates.reference_bytes_s(),
            allowed_bytes_s: None,
            runs: self.runs.into_list(),
            rounds,
            timed_rounds: self.timed_rounds,
            window_rounds: self.window_rounds,
            full_rounds: self.full_rounds,
            buffer_rounds: self.buffer_rounds,
            reduced_rounds: self.reduced_rounds,
            turn_ways_ns: self.turn_ways_ns,
            marks: self.marks.into_list(),
            shortest_ns,
            control: self.control.finish(self.sack),
            ..LimitsSummary::default()
        }
    }
}

/// A round's time by factor.
struct Parts {
    list: [(Factor, Share); 5],
}

impl Parts {
    fn of(round: &Round, factor: Factor) -> Self {
        let total_ns = round.duration_ns();
        // Nothing is in flight: no recovery, and no window in the way. What waits in a queue of the sender's host is not yet.
        let idle_ns = if round.pauses.ended_from_a_queue() { 0 } else { round.idle_ns.min(total_ns) };
        let recovering_ns = round.recovering_ns.min(total_ns - idle_ns);
        // Where the other side has spoken it was its turn, but for the time that the answer took.
        let thought_ns = if round.peer_spoke { round.thought_ns.min(idle_ns) } else { idle_ns };
        let rest_ns = total_ns - recovering_ns - idle_ns;
        // Where the path is full, a full window is its shadow: with more of it nothing more would pass.
        let whole_round = matches!(factor.holder(), Holder::Reader | Holder::Path);
        let limited_ns = if whole_round { 0 } else { round.limited_ns.min(rest_ns) };
        let moving_ns = (recovering_ns + rest_ns).max(1);
        let bytes = |time_ns: u64| match time_ns {
            0 => 0,
            time_ns => (round.delivered_bytes as f64 * time_ns as f64 / moving_ns as f64) as u64,
        };
        let share = |time_ns: u64| Share { time_ns, bytes: bytes(time_ns) };
        let repairs = (Factor::LossRecovery, share(recovering_ns));
        if factor.holder() == Holder::PeerApplication {
            // What waits for credit has nothing in flight, too.
            let whole = Share { time_ns: total_ns - recovering_ns, bytes: bytes(rest_ns) };
            let none = (factor, Share::default());
            return Self { list: [(factor, whole), repairs, none, none, none] };
        }
        Self {
            list: [
                (factor, share(rest_ns - limited_ns)),
                repairs,
                (Factor::ReceiverWindow, share(limited_ns)),
                (Factor::Application, Share { time_ns: thought_ns, bytes: 0 }),
                (Factor::Idle, Share { time_ns: idle_ns - thought_ns, bytes: 0 }),
            ],
        }
    }

    fn list(&self) -> impl Iterator<Item = (Factor, Share)> + '_ {
        self.list.iter().copied().filter(|(_, share)| share.time_ns > 0)
    }

    /// The factor of the longest part.
    fn main(&self) -> Factor {
        self.list.iter().max_by_key(|(_, share)| share.time_ns).map_or(self.list[0].0, |(factor, _)| *factor)
    }
}
