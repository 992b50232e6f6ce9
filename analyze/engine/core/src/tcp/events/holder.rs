//! Who holds a transfer up while something limits it, as its replay tells them apart.

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// Opening the connection.
    Opening,
    /// It was the other side's turn.
    Turn,
    /// The sending application.
    Application,
    /// The server's application, before a response.
    ServerWait,
    /// The client's application, before a request.
    ClientWait,
    /// The reader: it had left the window closed.
    Reader,
    /// A host that stalled.
    Stall,
    /// Repairs of one loss after the other.
    Repairs,
    /// A timer after a loss.
    Timeout,
    /// The window of the receiving application.
    PeerApplication,
    /// A token bucket.
    Bucket,
    /// Nobody knows.
    Unknown,
}
