//! What watches a direction's data and reads both directions: its pauses, and what limits it round by round.
//!
//! Owned by the connection beside its directions, since it reads both. Each part is made when it is first needed.

use crate::tcp::gaps::pauses::Pauses;
use crate::tcp::limits::judge::Limits;

/// Watchers of one direction.
#[derive(Debug, Clone)]
pub struct Watchers {
    /// Its pauses, from the first on.
    pub(crate) pauses: Option<Box<Pauses>>,
    /// What limits it, once there is enough to judge.
    pub(crate) limits: Option<Box<Limits>>,
    /// Until then acknowledgements belong to the answer after the last silence.
    pub(crate) answer_until_ns: i64,
}

impl Watchers {
    /// As they are at first; a constant, for a [`crate::tcp::connection::connection::Connection`] is made in one piece.
    pub const NONE: Self = Self { pauses: None, limits: None, answer_until_ns: i64::MIN };
}
