//! What a limiting factor declares for the verdict, and what several of them share.

use crate::tcp::events::factor::Factor;
use crate::tcp::events::owner::Owner;
use crate::tcp::limits::rules::Condition;
use crate::tcp::limits::runs::FactorRun;
use crate::tcp::limits::second_stage::Reassignment;
use crate::tcp::limits::share::Share;
use crate::tcp::replay::change::Change;
use crate::tcp::summary::summary::ConnectionSummary;
use crate::tcp::verdict::case::Case;
use crate::tcp::verdict::words::{fine_percent, rate, seconds};

/// Highest confidence at all.
pub(crate) const HIGHEST_CONFIDENCE: f64 = 0.95;

/// Where packets stopped at a host or on the path, or one of two causes fits as well as the other.
pub(crate) const OPEN_CONFIDENCE: f64 = 0.5;

/// Where no round trip was seen (away from the sender, without timestamps), a queue does not show.
pub(crate) const UNTIMED_CONFIDENCE: f64 = 0.75;

/// Rounds from which on a transfer says enough about itself; with fewer the confidence is capped.
pub(crate) const ENOUGH_ROUNDS: u64 = 8;

/// What most factors are sure from on: 519 of 523 verdicts on labelled transfers were right there.
const SURE_MARGIN: f64 = 0.4;

/// That of what is left when nothing else shows, and of what comes from losses, whose cause may be another one.
pub(crate) const SURE_MARGIN_OF_RESIDUES: f64 = 0.7;

/// Confidence from there on.
pub(crate) const SURE_CONFIDENCE: f64 = 0.92;

/// Such a part of that distance is not quite enough.
const NOT_QUITE: f64 = 0.85;

const NOT_QUITE_CONFIDENCE: f64 = 0.8;

/// The remedy that all factors which come from losses have in common.
pub(crate) const NO_LOSS: Remedy = Remedy { words: "no loss", change: Change::NoLoss };

/// A limiting factor: when it limits a round, and what the verdict says of it. All of them stand in [`crate::tcp::verdict::factors::RULES`].
pub struct FactorRule {
    /// The factor.
    pub factor: Factor,
    /// As a noun.
    pub in_words: &'static str,
    /// In tables and lists.
    pub labels: Labels,
    /// When it limits a round; none if pauses, losses, the opening or the end of the transfer show it.
    pub in_rounds: &'static [Condition],
    /// Share of what the transfer could have carried that it must have lost to be blamed for it. Opening and slow start belong
    /// to every transfer; a host stall belongs to none.
    pub least_share: f64,
    /// Where nothing took much, it may be what set the rate.
    pub sets_the_rate: bool,
    /// What the bytes that passed under it would have passed at without it.
    pub next: Next,
    /// It comes from losses: where the capture missed packets, they are not sure.
    pub blames_loss: bool,
    /// The first half of the sentence.
    pub because: fn(&Case, &Tally) -> String,
    /// What would help; none if nothing can be changed. Which of several it is, only the replay shows.
    pub remedies: fn(&Case) -> &'static [Remedy],
    /// The distance to the runner-up, of its own weight, from which on it is sure: verdicts on it from there on are hardly ever wrong.
    pub sure_margin: f64,
    /// What bounds the confidence in it beside what bounds that of all factors.
    pub bounds: fn(&Case) -> Vec<ConfidenceBound>,
    /// No more confidence than this where it took too little to be blamed, and set the rate at most.
    pub unblamed: fn(&Case) -> f64,
    /// What else the same packets may come from; the verdict is left open between both then.
    pub instead: fn(&Case) -> Option<Instead>,
    /// The other candidate, whatever took most time after it.
    pub beside: Option<Factor>,
    /// What is undecided, where that is more than which of the candidates it is.
    pub undecided: fn(&Tally) -> Option<String>,
    /// As a limit that connections share.
    pub shared: Option<SharedAs>,
    /// Its intervals where something knows them more exactly than rounds do; empty if nothing does.
    pub intervals: fn(&Case) -> Vec<FactorRun>,
    /// Small writes that Nagle's algorithm kept back are part of it.
    pub of_writers: bool,
    /// It can take all of a transfer's time, whatever the path carries: it is the verdict where no rate is known.
    pub explains_alone: bool,
    /// Whose time it is in a connection with data of a side, where that is more than [`Factor::whose`] says.
    pub owner: fn(&ConnectionSummary, usize) -> Option<Owner>,
    /// What becomes its time once rounds were judged.
    pub in_second_stage: &'static [Reassignment],
}

/// What else the same packets may come from, and what would decide.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Instead {
    /// The other factor.
    pub factor: Factor,
    /// In words that end "... would decide" sentences.
    pub needed: &'static str,
}

/// How several connections share a limit of this factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedAs {
    /// What passed at first was more than what passes later.
    pub is_bucket: bool,
    /// As a noun, before the rate.
    pub in_words: &'static str,
}

/// What a factor is called where there is no sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Labels {
    /// In lists.
    pub list: &'static str,
    /// Where a column is narrow.
    pub column: &'static str,
    /// In both, where its sentence begins with these words: which of several things it was.
    pub by_beginning: &'static [(&'static str, &'static str)],
}

impl Labels {
    /// One label everywhere.
    pub const fn list(list: &'static str) -> Self {
        Self { list, column: list, by_beginning: &[] }
    }
}

impl FactorRule {
    /// What most factors do not need: each begins with this, and says what it is.
    pub const PLAIN: Self = Self {
        factor: Factor::Unknown,
        in_words: "",
        labels: Labels::list(""),
        in_rounds: &[],
        least_share: f64::INFINITY,
        sets_the_rate: false,
        next: Next::Reference,
        blames_loss: false,
        because: |_, _| String::new(),
        remedies: |_| &[],
        sure_margin: SURE_MARGIN,
        bounds: |_| Vec::new(),
        unblamed: |_| HIGHEST_CONFIDENCE,
        instead: |_| None,
        beside: None,
        undecided: |_| None,
        shared: None,
        intervals: |_| Vec::new(),
        of_writers: false,
        explains_alone: false,
        owner: |_, _| None,
        in_second_stage: &[],
    };

    /// Confidence by the distance to the runner-up: a line up to what is not quite sure, a steep one to what is.
    ///
    /// Rule: docs/verdict.md, "Confidence by the runner-up".
    pub(crate) fn confidence_by(&self, margin: f64) -> f64 {
        let steps = [
            (0.0, OPEN_CONFIDENCE),
            (NOT_QUITE * self.sure_margin, NOT_QUITE_CONFIDENCE),
            (self.sure_margin, SURE_CONFIDENCE),
            (1.0, HIGHEST_CONFIDENCE),
        ];
        let between = |pair: &[(f64, f64)]| match pair {
            [(low, from), (high, to)] if margin < *high => Some(from + (to - from) * (margin - low) / (high - low)),
            _ => None,
        };
        steps.windows(2).find_map(between).unwrap_or(HIGHEST_CONFIDENCE)
    }

    /// It can be what a transfer is slow for.
    pub fn holds_back(&self) -> bool {
        self.least_share.is_finite() || self.sets_the_rate
    }
}

/// What limits next where a factor does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The best rate that the connection has shown.
    Reference,
    /// What the path carries, as far as trains of packets show more than the best rate.
    Path,
    /// That, or twice of what passed, if that is less.
    TwiceUpToPath,
    /// Nothing passes under it: all of its time would have been saved.
    Nothing,
}

/// What would help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remedy {
    /// As a noun.
    pub words: &'static str,
    /// The transfer is replayed with it.
    pub change: Change,
}

/// No more confidence than this, and what would give more.
#[derive(Debug, Clone, Copy)]
pub struct ConfidenceBound {
    /// 0 to 1.
    pub confidence: f64,
    /// In words that end "... would decide" sentences.
    pub needed: &'static str,
}

/// What a factor took, for its sentence.
pub struct Tally {
    /// Time and bytes of the factor.
    pub share: Share,
    /// What the path was seen to carry, bits/s; 0 if that is not known.
    pub reference_bps: f64,
}

impl Tally {
    /// That of a factor in a case.
    pub fn of(case: &Case, factor: Factor) -> Self {
        Self { share: case.limits.shares[factor], reference_bps: case.limits.reference_bytes_s.unwrap_or(0.0) * 8.0 }
    }

    /// The rate while it limited, bits/s.
    pub fn rate_bps(&self) -> f64 {
        let Share { time_ns, bytes } = self.share;
        if time_ns > 0 { bytes as f64 * 8e9 / time_ns as f64 } else { 0.0 }
    }

    /// That rate in words.
    pub fn rate(&self) -> String {
        rate(self.rate_bps())
    }

    /// What the path was seen to carry, in words.
    pub fn reference(&self) -> String {
        rate(self.reference_bps)
    }

    /// Both in words. Rates that read the same are one rate. The words say of which time it is: goodput is of all.
    pub fn possible(&self) -> String {
        let [allowed, reference] = [self.rate(), self.reference()];
        if self.reference_bps > self.rate_bps() && allowed != reference {
            format!("{allowed} meanwhile, where {reference} was possible")
        } else {
            format!("it allowed {allowed}")
        }
    }

    /// Its time in words.
    pub fn time(&self) -> String {
        seconds(self.share.time_ns)
    }
}

/// The share of segments that was lost, for the end of a clause; nothing if it is not known.
pub(crate) fn share_lost(case: &Case) -> String {
    case.direction.loss_rate().map_or_else(String::new, |loss| format!(" ({} lost)", fine_percent(loss)))
}

/// No loss and no mark of congestion shows why the window was no larger.
pub(crate) fn nothing_reduced_it(case: &Case) -> bool {
    case.direction.lost_inferred() == 0 && case.direction.congestion_events() == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidence_grows_with_the_distance_to_the_runner_up_and_residues_need_more_of_it() {
        let residue = FactorRule { sure_margin: SURE_MARGIN_OF_RESIDUES, ..FactorRule::PLAIN };
        for rule in [&FactorRule::PLAIN, &residue] {
            let of: Vec<f64> = (0..=1000).map(|margin| rule.confidence_by(f64::from(margin) / 1000.0)).collect();
            assert!(of.windows(2).all(|pair| pair[0] < pair[1]));
            assert_eq!([of[0], of[1000]], [OPEN_CONFIDENCE, HIGHEST_CONFIDENCE]);
            assert!((rule.confidence_by(rule.sure_margin) - SURE_CONFIDENCE).abs() < 1e-9);
        }
        assert!(
            residue.confidence_by(0.5) < NOT_QUITE_CONFIDENCE && FactorRule::PLAIN.confidence_by(0.5) > SURE_CONFIDENCE
        );
    }
}
