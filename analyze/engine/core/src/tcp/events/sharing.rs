//! A limit that connections share, as one of them sees it.

use crate::tcp::events::factor::Factor;

/// A limit of several connections, as one of them sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sharing {
    /// `TokenBucket` or `BottleneckBandwidth`.
    pub factor: Factor,
    /// What all of them reach together, bits of IP packets a second.
    pub rate_bps: f64,
    /// How many they are.
    pub connections: usize,
    /// When it held.
    pub between_ns: [i64; 2],
    /// How sure it is.
    pub confidence: f64,
}
