//! Facts of TCP and of Linux, and tolerances of captures, that several rules share: timers, delays, bounds.
//!
//! A constant that one rule alone uses stands in that rule's file. Sources are named at each constant.

use crate::packet::tcp_flags;

/// A copy comes within this time.
pub const LONGEST_DISTANCE_NS: i64 = 5_000_000;

/// A copy from the other side of a router or bridge waits in its queue: it is known by its identification, where the sender
/// counts them, or by that and another TTL.
pub const LONGEST_NUMBERED_NS: i64 = 50_000_000;

/// Without identifications a frame is cut or joined within this time: nothing is retransmitted so soon but on signs of loss.
pub const LONGEST_WITHOUT_NUMBERS_NS: i64 = 1_000_000;

/// Flags of a frame that only one of its segments has.
pub const FLAGS_OF_ONE: u16 = tcp_flags::PSH | tcp_flags::FIN | tcp_flags::CWR;

/// No gap shorter than this is ever an anomaly (docs/methods.md, section 7).
pub const SHORTEST_ANOMALY_NS: u64 = 10_000_000;

/// Anomalies listed one by one for each direction.
pub const MOST_ANOMALIES: usize = 256;

/// The least a retransmission timeout waits in common stacks; Linux adds at least so much to the round trip (`TCP_RTO_MIN`).
pub(crate) const SMALLEST_TIMEOUT_NS: i64 = 200_000_000;

/// Nothing is under way for longer.
pub const LONGEST_WAY_NS: i64 = 1_000_000_000;

/// What comes so much later than the last acknowledgement, and after such a part of the pause, answers none. The part is not
/// asked for where all was acknowledged: the send buffer was empty then, and whoever writes was awake.
pub(crate) const NO_ANSWER_NS: i64 = 1_000_000;

/// Pauses from here on: of a shorter one much would be time for an answer.
pub(crate) const SHORTEST_PAUSE_NS: i64 = 1_000_000;

/// Segments that a sender which paces may hand down at once (`tcp_min_tso_segs`).
pub(crate) const PACED_SEGMENTS: u64 = 2;

/// A delayed acknowledgement takes so much longer than the shortest round trip.
pub(crate) const LEAST_DELAY_NS: u64 = 20_000_000;

/// Share of the round trip up to which the capture is taken to be beside a host.
pub const BESIDE_SHARE: f64 = 0.15;

/// In a shorter round trip the hosts' own delays are a large part: the borders are less sharp.
pub const SHORT_TRIP_NS: i64 = 2_000_000;

/// A host beside the capture answers some packet sooner than this. Without a handshake, a queue on the other side may make an answer
/// seem near that comes from farther.
pub const LONGEST_BESIDE_NS: i64 = 1_000_000;

/// Host processing alone makes loops of this length: shorter round trips tell nothing.
pub const SHORTEST_TELLING_NS: i64 = 150_000;

/// Silences from here on are remembered, so many of them.
pub(crate) const SHORTEST_SILENCE_NS: i64 = SHORTEST_ANOMALY_NS as i64;

/// Packets that come within this time after a silence come with the first one.
pub(crate) const TOGETHER_NS: i64 = 2_000_000;

/// A host that has stalled acknowledges its backlog within this time. Its first acknowledgement may be one that was
/// delayed when it stopped, a tick or two before it looks at what has come meanwhile.
pub(crate) const ANSWER_NS: i64 = 40_000_000;

/// A pause of this length ends a burst: what comes after it may be the backlog that the host is at only now.
pub(crate) const BURST_PAUSE_NS: i64 = 5_000_000;

/// Shortest delayed acknowledgement of common stacks in the middle of a flow (Linux `TCP_DELACK_MIN`, less a tick).
pub(crate) const SHORTEST_DELAY_NS: i64 = 30_000_000;

/// Capture and kernel do not stamp at the same instant.
pub(crate) const JITTER_NS: i64 = 1_000_000;

/// Linux waits two ticks more for its probe (`TCP_TIMEOUT_MIN`).
pub(crate) const PROBE_TICKS_NS: i64 = 8_000_000;

/// A timer cannot have fired sooner than this share of its time, as well as that is known.
pub(crate) const EARLIEST_TIMER: f64 = 0.8;

/// Longest delayed acknowledgement of two full segments in common stacks.
pub(crate) const DELAYED_ACKNOWLEDGEMENT_NS: i64 = 40_000_000;

/// Packets that make a backlog (docs/methods.md, section 7).
pub(crate) const BACKLOG_PACKETS: u32 = 5;

/// Directions with fewer data packets have no peaks worth memory.
pub const FEWEST_DATA_PACKETS: u64 = 64;

/// Who sent so much without a pause is in the middle of something, though the last full segment has PSH: offload ends every
/// frame with it.
pub(crate) const BULK_BYTES: u64 = 65_536;

/// Data this long after other data, with nothing in between, may be a timer's.
pub(crate) const PAUSE_NS: i64 = 2_000_000;

/// So long without any packet of the connection is a silence of its own.
pub(crate) const SILENCE_NS: i64 = 8_000_000;

/// Retransmitted wire segments remembered.
pub(crate) const MOST_RETRANSMISSIONS: usize = 2048;

/// Jumps in the stream longer than this are nonsense, neither holes nor repeats: no window is larger (RFC 7323 section 2.3).
///
/// Rule: docs/methods.md, "Jumps beyond any window".
pub const FARTHEST_JUMP: u64 = 1 << 30;

/// Numbers no farther than this from what was sent are believed, whatever window is advertised: a capture may miss some.
pub(crate) const NEAR_BYTES: u32 = 1 << 16;

/// Data that comes this soon after its acknowledgement, or behind a later segment at the sender, was recorded out of
/// order (docs/methods.md, section 2 rule 4).
pub(crate) const RECORDING_DISORDER_NS: i64 = 2_000_000;

/// Numbers missing before the first data that show data: a single one may be that of an acknowledgement.
pub(crate) const FEWEST_OF_A_FLIGHT: u16 = 2;

/// A retransmission cannot answer a hole sooner than this share of the round trip.
pub(crate) const FASTEST_ANSWER: f64 = 0.8;

/// Silence from here on is long: the shortest idle timeouts of servers and devices are about so long.
pub(crate) const LONG_IDLE_NS: i64 = 5_000_000_000;

/// With so many SYNs a connection opened seconds late, which is no chance loss any more.
pub(crate) const MANY_SYNS: u32 = 4;
