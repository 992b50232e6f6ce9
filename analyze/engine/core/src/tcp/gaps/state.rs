//! The pause in progress of one direction and those whose cause is not decided yet: the state behind `watch`.

use crate::packet::Packet;
use crate::tcp::direction::direction::Live;
use crate::tcp::gaps::heard::Heard;
use crate::tcp::gaps::pending::Pending;
use crate::tcp::gaps::undecided_gap::{Settled, ShownByGaps, Unsettled};
use crate::tcp::kernel::SHORTEST_ANOMALY_NS;
use crate::tcp::rtt::covering::CoveringTrips;

/// The receiver's packets since the last data packet.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Inside {
    /// Time of that data packet.
    pub(crate) since_ns: i64,
    pub(crate) answers: u32,
    /// Longest time without any packet, until now; and what was outstanding then.
    pub(crate) silence_ns: i64,
    pub(crate) silence_start_ns: i64,
    pub(crate) outstanding_bytes: u64,
    pub(crate) oldest_age_ns: Option<i64>,
    /// Window-limited time counted when the pause began.
    pub(crate) limited_base_ns: i64,
    pub(crate) unseen: bool,
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct GapWatch {
    pub(crate) inside: Inside,
    pub(crate) heard: Option<Heard>,
    pub(crate) pending: Vec<Pending>,
    /// More waited to be judged, or for what is known later, than are kept: some were judged too soon.
    pub(crate) is_overfull: bool,
    /// Timers of the sender that fired since the receiver was last heard, and the last of them.
    pub(crate) timers: u32,
    pub(crate) timer_ns: i64,
    pub(crate) timer_tsval: Option<u32>,
    /// The last of them passed a capture between the hosts, where [`Self::timers`] counts those between two gaps alone.
    pub(crate) timer_passed: bool,
    /// First sequence number that it sent.
    pub(crate) timer_sequence: u32,
    pub(crate) last_gap_ns: i64,
    pub(crate) last_gap_end_ns: i64,
    /// Highest position sent by then.
    pub(crate) last_gap_max: u64,
    pub(crate) similar: u32,
    /// Gaps to which the rest of the connection may give another cause.
    pub(crate) unsettled: Vec<Unsettled>,
    /// The time that it moved from one factor to another.
    pub(crate) settled: Vec<Settled>,
    /// What all gaps told.
    pub(crate) told: ShownByGaps,
    /// Round trips that cover a silence.
    pub(crate) covering: CoveringTrips,
}

/// The shortest gap that is judged; `limit_ns` is the user's limit.
#[inline]
pub(crate) fn shortest_gap_ns(limit_ns: Option<u64>) -> i64 {
    limit_ns.map_or(SHORTEST_ANOMALY_NS, |limit| limit.min(SHORTEST_ANOMALY_NS)) as i64
}

impl GapWatch {
    /// A timer of the sender fired.
    pub(crate) fn fired(&mut self, packet: &Packet) {
        self.timers = self.timers.saturating_add(1);
        self.sent_by_timer(packet);
    }

    /// What a timer of the sender sent passed the capture.
    pub(crate) fn passed(&mut self, packet: &Packet) {
        self.timer_passed = true;
        self.sent_by_timer(packet);
    }

    fn sent_by_timer(&mut self, packet: &Packet) {
        self.timer_ns = packet.time_ns;
        self.timer_sequence = packet.sequence;
        self.timer_tsval = packet.timestamp();
    }
}

/// How long before `time_ns` the oldest outstanding segment was sent; none if that happened more than once.
pub(crate) fn oldest_age_ns(live: &Live, una: u64, time_ns: i64) -> Option<i64> {
    live.segments.sent_once_ns(una).map(|sent_ns| time_ns.saturating_sub(sent_ns).max(0))
}
