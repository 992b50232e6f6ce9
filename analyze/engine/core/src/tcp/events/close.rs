//! How a connection ended, and what a refused opening leaves for the next one on the same addresses and ports.

use crate::tcp::events::offer::Offer;
use crate::tcp::events::openings::Openings;

/// Why a connection is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Close {
    /// It is not, as far as the capture goes.
    Open,
    /// Both sides sent FIN.
    Fin,
    /// One side aborted it before that.
    Reset,
}

/// A SYN that a reset refused.
#[derive(Debug, Clone, Copy)]
pub struct Refused {
    pub(crate) offer: Offer,
    pub(crate) syn: Openings,
    /// Who sent the reset, and when.
    pub(crate) reset: (u8, i64),
}
