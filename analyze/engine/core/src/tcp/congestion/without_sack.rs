//! How sure a name can be where no SACK tells what has arrived behind a hole: what is in flight is a guess after each loss,
//! and the windows before and after it are read from that.
//!
//! Rule: docs/methods.md, "A name without SACK".

use crate::tcp::congestion::evidence::Named;

/// Two losses of one kind, seen with SACK, make a name as sure.
const MOST_CONFIDENCE: f64 = 0.75;

/// The same name, no surer than it can be.
pub(crate) fn less_sure(named: Named) -> Named {
    Named { control: named.control.map(|(control, confidence)| (control, confidence.min(MOST_CONFIDENCE))), ..named }
}
