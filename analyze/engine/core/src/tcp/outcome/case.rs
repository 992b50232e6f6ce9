//! What an outcome is made from, and what it is: kind, sentence, confidence, evidence, remedy.

use crate::decode::icmp::{IcmpError, Meaning};
use crate::tcp::events::ending::{Reset, SentAgain};
use crate::tcp::events::outcome_kind::OutcomeKind;
use crate::tcp::events::place::Place;
use crate::tcp::events::sent::SentKind;
use crate::tcp::outcome::words::{capitalised, icmp_in_words};
use crate::tcp::summary::ending::{Ending, SideAtEnd};
use crate::tcp::summary::summary::ConnectionSummary;
use crate::tcp::verdict::case::Evidence;

/// Frames of a piece of evidence.
const MOST_FRAMES: usize = 10;

/// See the module.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// What it was.
    pub kind: OutcomeKind,
    /// In a sentence or two.
    pub sentence: String,
    /// 0 to 1.
    pub confidence: f64,
    /// The proof.
    pub evidence: Vec<Evidence>,
    /// What would help.
    pub remedy: String,
}

/// What a rule finds.
#[derive(Debug, Clone)]
pub struct Finding {
    /// What it was.
    pub kind: OutcomeKind,
    /// In a sentence or two, without its end.
    pub sentence: String,
    /// 0 to 1.
    pub confidence: f64,
    /// What frames show.
    pub shown: Vec<(String, Vec<Place>)>,
    /// What would help.
    pub remedy: String,
}

impl Finding {
    /// With the ICMP errors of the connection, which are evidence for each kind.
    pub fn outcome(self, case: &OutcomeCase) -> Outcome {
        let errors = case.icmp.iter().map(|error| {
            (icmp_in_words(case.summary, error), vec![Place { frame: error.frame, time_ns: error.time_ns }])
        });
        let shown = self.shown.into_iter().chain(errors.take(3)).filter(|(_, places)| !places.is_empty());
        let evidence = shown.map(|(text, places)| Evidence { text, frames: spread(places) });
        Outcome {
            kind: self.kind,
            sentence: format!("{}.", capitalised(&self.sentence)),
            confidence: self.confidence,
            evidence: evidence.collect(),
            remedy: self.remedy,
        }
    }
}

/// In the order of the capture; of more than fit, the first and the last.
fn spread(mut places: Vec<Place>) -> Vec<Place> {
    places.retain(|place| place.frame > 0);
    places.sort_unstable_by_key(|place| (place.time_ns, place.frame));
    places.dedup();
    if places.len() > MOST_FRAMES {
        places.drain(MOST_FRAMES / 2..places.len() - MOST_FRAMES / 2);
    }
    places
}

/// A connection with all that an outcome is drawn from.
#[derive(Clone, Copy)]
pub struct OutcomeCase<'a> {
    /// The connection.
    pub summary: &'a ConnectionSummary,
    /// How it opened and ended.
    pub ending: &'a Ending,
    /// ICMP errors that quote it.
    pub icmp: &'a [IcmpError],
}

impl<'a> OutcomeCase<'a> {
    /// None for a connection of which all is plain.
    pub fn of(summary: &'a ConnectionSummary) -> Option<Self> {
        let ending = summary.ending.as_deref()?;
        let icmp = summary.icmp_errors().map_or(&[][..], |errors| &errors.list);
        Some(Self { summary, ending, icmp })
    }

    /// A side with what is known of it.
    pub fn side(&self, side: usize) -> &'a SideAtEnd {
        &self.ending.sides[side & 1]
    }

    /// When the last packet of a side passed, resets left out.
    pub fn last_ns(&self, side: usize) -> Option<i64> {
        let opened = (self.ending.openings[side & 1] > 0).then_some(self.ending.last_openings_ns[side & 1]);
        self.side(side).last_ns.max(opened)
    }

    /// SYNs (0) or SYN-ACKs (1), in order.
    pub fn opening_places(&self, side: usize) -> Vec<Place> {
        self.ending.steps[side & 1].into_iter().chain(self.side(side).openings.iter().copied()).collect()
    }

    /// What a side retransmitted, of one of these kinds, at places after `since_ns`.
    pub fn sent_again(&self, side: usize, since_ns: i64, kinds: &[SentKind]) -> Vec<SentAgain> {
        let again = self.side(side).sent_again.iter();
        again.filter(|sent| kinds.contains(&sent.kind) && sent.place.time_ns > since_ns).copied().collect()
    }

    /// The first ICMP error of one of these meanings.
    pub fn icmp_of(&self, meanings: &[Meaning]) -> Option<&'a IcmpError> {
        self.icmp.iter().find(|error| meanings.contains(&error.meaning()))
    }

    /// The reset that ended it, if it was open before that, or had been before the capture began.
    pub fn reset_when_open(&self) -> Option<Reset> {
        let both_seen = self.ending.sides.iter().all(|side| side.last_ns.is_some());
        let opened = self.summary.handshake_complete || self.ending.openings == [0, 0] && both_seen;
        self.ending.reset.filter(|_| opened)
    }

    /// Any side has sent FIN.
    pub fn any_fin(&self) -> bool {
        self.ending.sides.iter().any(|side| side.fin)
    }

    /// For how long the capture goes on after the last packet of the connection.
    pub fn capture_goes_on_ns(&self) -> i64 {
        self.ending.capture_end_ns.saturating_sub(self.summary.end_ns).max(0)
    }
}
