//! What the rules for one direction's data may know of its connection: one small value, made by the connection.

/// See the module. The sender is the host whose data it is about; the receiver acknowledges that.
#[derive(Debug, Clone, Copy, Default)]
pub struct Context {
    /// Both sides permit SACK (RFC 2018).
    pub sack: bool,
    /// The capture point is at the sender.
    pub beside_sender: bool,
    /// The capture point is at the receiver.
    pub beside_receiver: bool,
    /// Shortest round trip between the capture point and the sender, and between it and the receiver.
    pub loops_ns: [Option<i64>; 2],
    /// Round trip of the handshake, if it was measured.
    pub handshake_rtt_ns: Option<i64>,
}

impl Context {
    /// Shortest round trip between the capture point and the sender; 0 if it is not known.
    #[inline]
    pub fn sender_loop_ns(&self) -> i64 {
        self.loops_ns[0].unwrap_or(0)
    }
}
