//! `congestion_window`: the congestion window, growing slowly or after a reduction; what is left when nothing else shows.
//!
//! Rule: docs/verdict.md, "Congestion window".

use crate::tcp::events::factor::Factor;
use crate::tcp::limits::rules::Condition;
use crate::tcp::replay::change::Change;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::factors::doubts;
use crate::tcp::verdict::factors::rule::{
    ConfidenceBound, ENOUGH_ROUNDS, FactorRule, HIGHEST_CONFIDENCE, Instead, Labels, NO_LOSS, Next, OPEN_CONFIDENCE,
    Remedy, SURE_MARGIN_OF_RESIDUES, Tally, nothing_reduced_it, share_lost,
};

const NO_MARKS: Remedy = Remedy { words: "no ECN congestion marks", change: Change::NoLoss };

const GROWS_AT_ONCE: Remedy = Remedy { words: "a congestion window that grows at once", change: Change::WindowAtOnce };

const LOSSES: &str = "Losses";

const MARKS: &str = "ECN congestion marks";

const GREW: &str = "The congestion window grew slowly";

/// What kept it small, by the first words of the sentence.
const BY_BEGINNING: &[(&str, &str)] = &[(LOSSES, "loss"), (MARKS, "ECN marks"), (GREW, "slow window growth")];

/// See the module.
pub const RULE: FactorRule = FactorRule {
    factor: Factor::CongestionWindow,
    in_words: "the congestion window",
    labels: Labels { by_beginning: BY_BEGINNING, ..Labels::list("congestion window") },
    in_rounds: &[Condition { turn: u8::MAX, holds: |_, _, _| true, beneath_slow_start: true }],
    least_share: 0.2,
    sets_the_rate: true,
    next: Next::Reference,
    blames_loss: true,
    because,
    remedies,
    bounds,
    unblamed: |case| if nothing_reduced_it(case) { HIGHEST_CONFIDENCE } else { SET_THE_RATE_CONFIDENCE },
    instead,
    sure_margin: SURE_MARGIN_OF_RESIDUES,
    ..FactorRule::PLAIN
};

fn because(case: &Case, tally: &Tally) -> String {
    let direction = case.direction;
    if direction.lost_inferred() > 0 {
        format!("{LOSSES} kept the congestion window small{}: {}", share_lost(case), tally.possible())
    } else if direction.congestion_events() > 0 {
        format!("{MARKS} ({}) kept the congestion window small: {}", direction.congestion_events(), tally.possible())
    } else {
        format!("{GREW}: {}", tally.possible())
    }
}

fn remedies(case: &Case) -> &'static [Remedy] {
    match case.direction {
        direction if direction.lost_inferred() > 0 => &[NO_LOSS],
        direction if direction.congestion_events() > 0 => &[NO_MARKS],
        _ => &[GROWS_AT_ONCE],
    }
}

/// Data comes as an answer to no acknowledgement, but the round trips are long: behind a queue of others' what a window sends comes
/// as late, and what an application sends when it pleases makes round trips that long, away from it.
fn instead(case: &Case) -> Option<Instead> {
    let rounds = &case.limits.window_rounds;
    let at_own_pace = || nothing_reduced_it(case) && 2 * rounds.at_own_pace > rounds.all;
    if doubts::is_unseen_nearby(case) {
        return Some(doubts::the_path());
    }
    doubts::a_policer(case).or_else(|| at_own_pace().then(doubts::the_application))
}

fn bounds(case: &Case) -> Vec<ConfidenceBound> {
    let limits = case.limits;
    let by_exclusion = nothing_reduced_it(case);
    let bounds = [
        (by_exclusion, ConfidenceBound { confidence: BY_EXCLUSION_CONFIDENCE, needed: "TCP_INFO of the sender" }),
        // Whether it was still growing as in slow start cannot be told from so few rounds.
        (
            by_exclusion && limits.rounds < ENOUGH_ROUNDS,
            ConfidenceBound { confidence: OPEN_CONFIDENCE, needed: "a longer transfer" },
        ),
        (
            2 * limits.window_rounds.queued > limits.window_rounds.all,
            ConfidenceBound { confidence: SHARED_PATH_CONFIDENCE, needed: "a capture of all traffic on the path" },
        ),
    ];
    let unknown_window = doubts::unknown_window(case).filter(|_| by_exclusion);
    let of_rounds = bounds.into_iter().filter_map(|(applies, bound)| applies.then_some(bound));
    of_rounds.chain(unknown_window).chain(doubts::a_full_link(case)).chain(doubts::losses_in_rows(case)).collect()
}

/// Where losses cost little of what the path carried, they set the rate at most: as a rule it is about what something allows.
const SET_THE_RATE_CONFIDENCE: f64 = 0.55;

/// The congestion window is what is left when nothing else shows; without a loss nothing shows that it was small, either.
const BY_EXCLUSION_CONFIDENCE: f64 = 0.55;

/// A queue stands in most rounds that the congestion window seems to limit: other traffic may fill the path.
const SHARED_PATH_CONFIDENCE: f64 = 0.7;
