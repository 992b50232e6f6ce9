//! How far each loss reduced the flight, and how it grew from there to the next.
//!
//! A loss counts where the flight before it was the window's to decide: no timer repaired it, and no other window was full.

use crate::tcp::congestion::evidence::CongestionEvidence;
use crate::tcp::congestion::growth::Growth;
use crate::tcp::congestion::recent::Recent;
use crate::tcp::congestion::round_trip::FlightRoundTrip;

/// Of a smaller window a segment more or less is too much of it.
const FEWEST_SEGMENTS: f64 = 16.0;

/// Growth over fewer round trips tells nothing.
const FEWEST_TRIPS: f64 = 4.0;

/// So much of the usual flight in the first round after its repair: the loss has reduced nothing.
const KEPT_SHARE: f64 = 0.9;

/// A flight that is below this share of what it was, and lost nothing, is its application's; so often, and it is not growth.
const FALLEN_SHARE: f64 = 0.9;
const MOST_FALLEN: u8 = 2;

/// Losses that are being repaired.
#[derive(Debug, Clone, Copy, Default)]
struct Repairs {
    before: f64,
    usual: Option<f64>,
    reductions: u32,
}

/// A flight since its last loss.
#[derive(Debug, Clone, Copy, Default)]
struct Since {
    growth: Growth,
    trips: f64,
    time_s: f64,
    fallen: u8,
}

/// See the module.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AfterLosses {
    repairs: Option<Repairs>,
    since: Option<Since>,
    /// The most segments in flight in the round before; none where another limit was in the way.
    before: Option<f64>,
    /// A timer has repeated something: what follows is slow start.
    is_void: bool,
}

impl AfterLosses {
    /// Another round is over. `recent` are the flights of those before.
    pub(crate) fn take(&mut self, round: &FlightRoundTrip, recent: &Recent, evidence: &mut CongestionEvidence) {
        if round.is_bound {
            self.close(evidence);
            (self.repairs, self.is_void) = (None, round.timed_out);
        } else if round.repairs {
            if self.repairs.is_none() {
                self.close(evidence);
                let now = if round.is_blurred { 0.0 } else { round.largest };
                let before = now.max(self.before.unwrap_or(0.0));
                self.repairs = Some(Repairs { before, usual: recent.usual(), reductions: 0 });
            }
            self.repairs.iter_mut().for_each(|repairs| repairs.reductions += round.reductions);
        } else {
            let counts = !std::mem::take(&mut self.is_void);
            match (self.repairs.take(), &mut self.since) {
                (Some(repairs), _) if counts && repairs.before >= FEWEST_SEGMENTS => {
                    self.begin(&repairs, round, evidence)
                }
                (None, Some(since)) => since.go_on(round),
                _ => {}
            }
        }
        self.before = Some(round.largest).filter(|_| !round.is_bound);
    }

    /// The losses are repaired in the first round without any.
    fn begin(&mut self, repairs: &Repairs, round: &FlightRoundTrip, evidence: &mut CongestionEvidence) {
        if repairs.usual.is_some_and(|usual| round.mean >= KEPT_SHARE * usual) {
            evidence.kept += 1;
        } else if repairs.reductions == 1 {
            let growth =
                Growth { before: repairs.before, after: round.largest, end: round.largest, ..Growth::default() };
            self.since = Some(Since { growth, ..Since::default() });
        }
    }

    /// Nothing more is known of the growth.
    pub(crate) fn close(&mut self, evidence: &mut CongestionEvidence) {
        let Some(Since { growth, fallen, .. }) = self.since.take() else { return };
        if growth.trips < FEWEST_TRIPS || fallen > MOST_FALLEN {
            return;
        }
        let count = match (growth.is_renos(), growth.is_cubics()) {
            (true, _) => &mut evidence.reno,
            (false, true) => &mut evidence.cubic,
            (false, false) => &mut evidence.neither,
        };
        *count += 1;
    }
}

impl Since {
    fn go_on(&mut self, round: &FlightRoundTrip) {
        self.trips += round.trips();
        self.time_s += round.duration_ns() / 1e9;
        if round.largest >= self.growth.end {
            self.growth = Growth { end: round.largest, trips: self.trips, time_s: self.time_s, ..self.growth };
        } else if round.largest < FALLEN_SHARE * self.growth.end {
            self.fallen = self.fallen.saturating_add(1);
        }
    }
}
