//! What became of a connection that did not open, did not move its data or did not end well.

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OutcomeKind {
    /// No SYN was answered, or late ones only.
    SynUnanswered,
    /// A SYN was replied to with a reset, or with an ICMP error that says the same.
    SynRefused,
    /// The SYN was answered, but the connection was never open on both sides.
    HandshakeIncomplete,
    /// The client reset it.
    ResetByClient,
    /// The server reset it.
    ResetByServer,
    /// Something on the way reset it in the name of a host.
    ResetByMiddlebox,
    /// It was reset after a long silence.
    IdleThenReset,
    /// What was sent after a long silence was never answered.
    IdleThenSilent,
    /// One side fell silent and did not acknowledge any more.
    PeerSilent,
    /// The receiver's window closed and stayed so.
    ReceiverStoppedReading,
    /// Nothing above some size arrived.
    LargeSegmentsLost,
    /// The capture shows the packets of one side only.
    OneDirectionOnly,
}

impl OutcomeKind {
    /// How many there are.
    pub const COUNT: usize = 12;

    /// All, in the order of their numbers.
    pub const ALL: [Self; Self::COUNT] = [
        Self::SynUnanswered,
        Self::SynRefused,
        Self::HandshakeIncomplete,
        Self::ResetByClient,
        Self::ResetByServer,
        Self::ResetByMiddlebox,
        Self::IdleThenReset,
        Self::IdleThenSilent,
        Self::PeerSilent,
        Self::ReceiverStoppedReading,
        Self::LargeSegmentsLost,
        Self::OneDirectionOnly,
    ];

    const NAMES: [&str; Self::COUNT] = [
        "syn_unanswered",
        "syn_refused",
        "handshake_incomplete",
        "reset_by_client",
        "reset_by_server",
        "reset_by_middlebox",
        "idle_then_reset",
        "idle_then_silent",
        "peer_silent",
        "receiver_stopped_reading",
        "large_segments_lost",
        "one_direction_only",
    ];

    /// As it stands in the JSON document.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}
