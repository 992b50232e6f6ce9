//! A retransmission, and what triggered it.

/// What made a sender retransmit (docs/methods.md, section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// Duplicate acknowledgements or SACK (RFC 5681, RFC 6675), or within the recovery they began.
    Fast,
    /// Retransmission timeout (RFC 6298), or the recovery after it.
    Rto,
    /// Tail loss probe (RFC 8985 section 7).
    Tlp,
    /// The reordering timer of RACK (RFC 8985 section 6.3).
    Rack,
    /// The evidence fits none of them.
    Unknown,
}

impl Trigger {
    /// Names in results, by number.
    pub const NAMES: [&str; 5] = ["fast", "rto", "tlp", "rack", "unknown"];
}

/// One retransmitted wire segment.
#[derive(Debug, Default, Clone, Copy)]
pub struct Retransmission {
    /// First position.
    pub start: u64,
    /// Position after the last byte.
    pub end: u64,
    /// When it passed.
    pub time_ns: i64,
    /// Highest position seen when it passed.
    pub seen_up_to: u64,
    /// TSval it carried (0 without timestamps).
    pub tsval: u32,
    /// TSecr it carried: what its sender had heard last.
    pub tsecr: u32,
    /// Identification it carried.
    pub ip_id: u16,
    /// It is known to have been unnecessary.
    pub spurious: bool,
    /// The receiver has reported a duplicate of this range for it (RFC 2883).
    pub reported: bool,
    /// Bytes of it that such reports cover, as long as they do not cover it all.
    pub reported_bytes: u32,
    /// Signs of loss triggered it, not a timer.
    pub on_loss_signs: bool,
    /// All of it had passed the capture point before.
    pub was_seen: bool,
}
