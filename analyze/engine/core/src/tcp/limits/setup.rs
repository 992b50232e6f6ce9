//! The opening of a connection as a limit: time from the first SYN to the first data.

/// What belongs to setup.
#[derive(Debug, Clone, Copy)]
pub struct SetupTime {
    /// First packet of the connection.
    pub start_ns: i64,
    /// First data of the direction.
    pub first_data_ns: i64,
    /// End of the TCP handshake, and of the TLS handshake if there is one.
    pub end_ns: i64,
    /// When the sender had heard what it answers with its first data: up to then it waited for the other side. None if that had
    /// said nothing.
    pub asked_ns: Option<i64>,
    /// SYN and its last retransmission, SYN-ACK and its last, and the acknowledgement, as far as they were seen: when, and the frame.
    pub handshake: [Option<(i64, u32)>; 5],
    /// First frame of the connection.
    pub frame: u32,
    /// What passed first was retransmitted by a timer.
    pub waited_for_timer: bool,
}
