//! What was sent before a capture that begins in mid-stream: the record behind [`crate::tcp::direction::before_capture`].
//!
//! Rule: docs/methods.md, "Data from before the capture".

use crate::tcp::direction::holes::Holes;

/// See the module.
#[derive(Debug, Clone)]
pub struct Before {
    /// What of it has not come since.
    pub holes: Holes,
    /// What acknowledgements told first, when nothing of the side had been seen.
    pub(crate) acknowledged: u64,
    /// Position of the first that was seen.
    pub(crate) end: u64,
    /// For how long the capture had run when the last of what was sent before was acknowledged, or was not yet.
    pub(crate) waited_ns: i64,
}

impl Before {
    /// Bytes that were acknowledged although they had not been seen, so late after the capture began that they would have been before
    /// if they had passed the capture point before it: the receiver answers within `longest_rtt_ns`. Not known, they count.
    pub fn unseen_bytes(&self, una: u64, longest_rtt_ns: Option<i64>) -> u64 {
        let in_time = longest_rtt_ns.is_some_and(|rtt_ns| self.waited_ns <= rtt_ns);
        if in_time { 0 } else { self.holes.missing(self.acknowledged, self.end.min(una)).0 }
    }
}
