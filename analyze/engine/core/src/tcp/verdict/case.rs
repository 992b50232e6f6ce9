//! What a verdict is made from, and what it is: factor, sentence, evidence, what-if.

use crate::tcp::events::factor::Factor;
use crate::tcp::events::place::Place;
use crate::tcp::limits::summary::LimitsSummary;
use crate::tcp::replay::predict::{Predicted, Unpredicted};
use crate::tcp::summary::summary::{ConnectionSummary, DirectionSummary};

/// Below this confidence nothing is decided.
pub const LEAST_CONFIDENCE: f64 = 0.6;

/// Frames that show something.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// What they show.
    pub text: String,
    /// At most ten.
    pub frames: Vec<Place>,
}

impl Evidence {
    /// A display filter of Wireshark's that shows its frames.
    pub fn display_filter(&self) -> String {
        let list = self.frames.iter().map(|place| place.frame.to_string()).collect::<Vec<_>>().join(", ");
        format!("frame.number in {{{list}}}")
    }
}

/// What a change would bring.
#[derive(Debug, Clone, PartialEq)]
pub struct WhatIf {
    /// The change.
    pub change: &'static str,
    /// Throughput of the transfer with it; or why that cannot be said.
    pub predicted: Result<Predicted, Unpredicted>,
}

/// See the module.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The direction judged: data of the client (0) or the server (1).
    pub side: usize,
    /// The factor.
    pub factor: Factor,
    /// Its share of the bytes lost; of those delivered where nothing was lost to speak of.
    pub share: f64,
    /// The factor after it, if there is one.
    pub runner_up: Option<Factor>,
    /// 0 to 1.
    pub confidence: f64,
    /// By how much shorter the transfer would have been without it, nanoseconds; none where no rate is known.
    pub saves_ns: Option<u64>,
    /// In one sentence.
    pub sentence: String,
    /// The proof.
    pub evidence: Vec<Evidence>,
    /// What would help.
    pub what_if: Vec<WhatIf>,
    /// The candidates, where nothing is decided.
    pub undetermined_between: Vec<Factor>,
}

/// One direction with all that a verdict is drawn from.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// The connection.
    pub connection: &'a ConnectionSummary,
    /// Client (0) or server (1) sends the data.
    pub side: usize,
    /// The direction.
    pub direction: &'a DirectionSummary,
    /// What limited it.
    pub limits: &'a LimitsSummary,
}

impl Case<'_> {
    /// Packets come at a fixed clock, one by one or two by two.
    pub(crate) fn is_clocked(&self) -> bool {
        self.direction.spacing.is_clocked() || self.limits.leaves_in_pairs
    }
}
