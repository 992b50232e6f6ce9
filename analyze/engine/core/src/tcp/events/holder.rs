//! Who holds a transfer up while something limits it, as rounds and replays tell them apart.

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
    /// A path that carried nothing.
    Outage,
    /// The window of the receiving application.
    PeerApplication,
    /// A token bucket.
    Bucket,
    /// Nobody knows.
    Unknown,
    /// Repairs of losses. A replay makes these, and all that follow, itself.
    Losses,
    /// Acknowledgements that wait in a queue.
    Acknowledgements,
    /// The congestion window, in slow start.
    Growth,
    /// The congestion window after that.
    Window,
    /// What the path carries.
    Path,
    /// The sender's own limit.
    Buffer,
}

impl Holder {
    /// A timer ends it: for what was lost, or for a path that had stopped.
    pub(crate) fn ends_with_a_timer(self) -> bool {
        matches!(self, Self::Timeout | Self::Outage)
    }

    /// The model of a replay finds what it does by itself.
    pub(crate) fn is_of_the_model(self) -> bool {
        use Holder::{Acknowledgements, Buffer, Growth, Losses, Path, Window};
        matches!(self, Losses | Acknowledgements | Growth | Window | Path | Buffer)
    }
}
