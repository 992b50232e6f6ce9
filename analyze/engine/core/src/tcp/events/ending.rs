//! What is kept of a connection's opening and end, as plain values that the summary passes on.

use crate::tcp::events::place::Place;
use crate::tcp::events::sent::SentKind;

/// A reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reset {
    /// Where it stands.
    pub place: Place,
    /// Client (0) or server (1) sent it, or somebody in its name.
    pub side: u8,
    /// Its time to live.
    pub ttl: u8,
    /// That of the side's first packet; 0 if it had sent none.
    pub ttl_of_host: u8,
    /// Its IP identification; none for IPv6.
    pub ip_id: Option<u16>,
    /// How far that lies ahead of the one which the side's next packet should have; none if it does not number them in order.
    pub ip_id_ahead: Option<i64>,
    /// It acknowledges something.
    pub acknowledges: bool,
    /// What client and server had sent that was not acknowledged.
    pub outstanding_bytes: [u64; 2],
}

/// A silence of both sides with nothing outstanding, and what ended it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resumed {
    /// When the packet before it passed.
    pub from_ns: i64,
    /// The packet that ended it.
    pub to: Place,
    /// Client (0) or server (1) sent that.
    pub side: u8,
}

impl Resumed {
    /// How long it was.
    pub fn idle_ns(&self) -> i64 {
        self.to.time_ns.saturating_sub(self.from_ns)
    }
}

/// A packet with data that was retransmitted, or a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentAgain {
    /// Where it stands.
    pub place: Place,
    /// Position of its first byte.
    pub start: u64,
    /// Bytes.
    pub length: u32,
    /// What it is.
    pub kind: SentKind,
}

impl SentAgain {
    /// It was data, which has been acknowledged up to `una`. A probe has no data of its own.
    pub fn is_done(&self, una: u64) -> bool {
        let end = self.start + u64::from(self.length);
        matches!(self.kind, SentKind::Data | SentKind::Retransmission) && end <= una
    }
}
