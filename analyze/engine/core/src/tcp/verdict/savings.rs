//! By how much shorter a transfer would have been without each factor: an estimate from time and bytes, for all connections. What is
//! printed as a remedy is replayed.
//!
//! Rule: docs/verdict.md, "Savings".

use crate::tcp::events::factor::Factor;
use crate::tcp::events::holder::Holder;
use crate::tcp::limits::share::{Share, Shares};
use crate::tcp::replay::path::Path;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::rule;
use crate::tcp::verdict::factors::rule::Next;
use crate::tcp::verdict::factors::token_bucket::blame;
use crate::tcp::verdict::what_if::seen;

/// See the module.
pub(crate) struct Savings {
    /// Time and bytes by what is to blame for them.
    shares: Shares,
    reference_bytes_s: f64,
    /// What the path carries; none where nothing shows it.
    path_bytes_s: Option<f64>,
    /// Of the application's time, what was the way of messages in turns: without the application that is saved by nobody.
    turn_ways_ns: f64,
    /// The receiver kept its window closed: a larger one would have been closed as well.
    is_closed: bool,
}

impl Savings {
    /// None where no rate is known.
    pub(crate) fn of(case: &Case) -> Option<Self> {
        let reference_bytes_s = case.limits.reference_bytes_s.filter(|rate| *rate > 0.0)?;
        let path = Path::of(&seen(case)).filter(|path| !path.rate_is_reached);
        let path_bytes_s = path.map(|path| path.rate_bytes_s[1].max(reference_bytes_s));
        let turn_ways_ns = case.limits.turn_ways_ns as f64;
        let (shares, is_closed) = (blame(case), is_closed_mostly(case));
        Some(Self { shares, reference_bytes_s, path_bytes_s, turn_ways_ns, is_closed })
    }

    /// Nanoseconds.
    pub(crate) fn ns(&self, factor: Factor) -> f64 {
        let share = &self.shares[factor];
        let twice_bytes_s = || (2.0 * rate_bytes_s(share)).min(self.path_bytes_s.unwrap_or(f64::INFINITY));
        let next_bytes_s = match rule(factor).next {
            Next::Path => self.path_bytes_s.unwrap_or(self.reference_bytes_s),
            Next::TwiceUpToPath if !self.is_closed => twice_bytes_s(),
            Next::Reference | Next::TwiceUpToPath => self.reference_bytes_s,
            Next::Nothing => return share.time_ns as f64,
        };
        let ways_ns = if rule(factor).next == Next::Path { self.turn_ways_ns } else { 0.0 };
        (saved_ns(share, next_bytes_s.max(self.reference_bytes_s)) - ways_ns).max(0.0)
    }

    /// Of the factor that set the rate, where nothing shows what limits next: with twice of it.
    pub(crate) fn of_limit_ns(&self, factor: Factor) -> f64 {
        let share = &self.shares[factor];
        self.ns(factor).max(saved_ns(share, 2.0 * rate_bytes_s(share)))
    }
}

/// A receiver that does not read leaves no room in a window of any size.
fn is_closed_mostly(case: &Case) -> bool {
    case.direction.extras.zero_time_ns * 2 > case.limits.held_ns(Holder::Reader)
}

fn rate_bytes_s(share: &Share) -> f64 {
    share.bytes as f64 * 1e9 / share.time_ns.max(1) as f64
}

fn saved_ns(share: &Share, bytes_s: f64) -> f64 {
    let needed_ns = if bytes_s > 0.0 { share.bytes as f64 * 1e9 / bytes_s } else { 0.0 };
    (share.time_ns as f64 - needed_ns).max(0.0)
}
