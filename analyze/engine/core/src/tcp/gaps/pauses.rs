//! Pauses in one direction's data: those counted, and the watch on the one in progress and on those without a cause yet.
//!
//! Made with the first pause: most short connections have none.

use crate::tcp::gaps::state::GapWatch;
use crate::tcp::gaps::totals::Gaps;

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Pauses {
    /// Those that have a cause.
    pub totals: Gaps,
    /// The others.
    pub(crate) watch: GapWatch,
}
