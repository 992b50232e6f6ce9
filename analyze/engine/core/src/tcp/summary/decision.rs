//! What a verdict decides, as it is kept: the words are made of it and of the summary when they are asked for. `verdict` decides.

use crate::tcp::events::factor::Factor;

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decision {
    /// The direction judged: data of the client (0) or the server (1).
    pub side: u8,
    /// The factor.
    pub factor: Factor,
    /// Its share: of the bytes lost, or of those delivered.
    pub share: f64,
    /// The share is one of the bytes lost.
    pub by_lost_bytes: bool,
    /// By how much shorter the transfer would have been without it, nanoseconds; none where no rate is known.
    pub saves_ns: Option<u64>,
    /// What comes after it.
    pub runner_up: Option<Factor>,
    /// 0 to 1.
    pub confidence: f64,
    /// What would raise a low confidence, as the subject of "... would decide".
    pub needed: Option<&'static str>,
}
