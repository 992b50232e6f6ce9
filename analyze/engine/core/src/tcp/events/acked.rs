//! An acknowledgement as it is passed on: what it brought, and what had to be known to read it.

/// What the two sides agreed on, and where the capture stands.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    /// Both sides permit SACK.
    pub sack: bool,
    /// The capture point is beside the sender of the data.
    pub beside_sender: bool,
    /// It is beside the receiver.
    pub beside_receiver: bool,
}

/// What an acknowledgement brought.
#[derive(Debug, Clone, Copy, Default)]
pub struct Answer {
    /// A clean round-trip sample, nanoseconds, and the frame that was sampled.
    pub round_trip: Option<(u64, u32)>,
    /// The advertised window in bytes, if its scale is known.
    pub window_bytes: Option<u64>,
}
