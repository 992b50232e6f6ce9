//! What is known of a gap in a direction's data. Pure; what follows from it is in `gaps/measures.rs` and
//! `gaps/sender_timers.rs`.

use crate::packet::{Packet, option_bits};
use crate::tcp::direction::direction::Direction;
use crate::tcp::events::context::Context;

/// By how much older than the timestamp `heard` of the receiver the one is that this packet of the sender echoes. None without,
/// and while the sender misses data of the receiver's: then it echoes what came before that (RFC 7323 section 4.3).
pub(crate) fn echo_behind_ns(receiver: &Direction, packet: &Packet, heard: u32) -> Option<i64> {
    let clock = &receiver.live.as_deref()?.capture.clock;
    let echoes = packet.options & option_bits::TIMESTAMPS != 0 && clock.may_have_sent(packet.tsecr);
    let misses_nothing = receiver.una >= receiver.max;
    if echoes && misses_nothing { clock.between_ns(packet.tsecr, heard) } else { None }
}

/// Where the capture stands, seen from the direction whose data paused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CapturePlace {
    /// At the sender of the data.
    Sender,
    /// At its receiver.
    Receiver,
    /// In between, or unknown.
    #[default]
    Elsewhere,
}

impl CapturePlace {
    /// Where the capture point is, seen from the data that pauses.
    pub(crate) fn of(context: &Context) -> Self {
        match (context.beside_sender, context.beside_receiver) {
            (true, _) => Self::Sender,
            (_, true) => Self::Receiver,
            _ => Self::Elsewhere,
        }
    }
}

/// What the data packet that ended the gap was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GapEnding {
    /// Sent for the first time.
    #[default]
    NewData,
    /// A retransmission timeout.
    Timeout,
    /// A tail loss probe.
    TailProbe,
    /// Sent again on signs of loss (fast retransmission, RACK).
    LossSigns,
    /// Sent again, one cannot tell why.
    Repeat,
    /// A probe of a closed window.
    WindowProbe,
    /// A keep-alive.
    KeepAlive,
}

/// Packets of one side that passed together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BurstSeen {
    /// How many passed: of the receiver within 2 ms, of data within 5 ms.
    pub packets: u32,
    /// From the first to the last of them by the capture's clock.
    pub span_ns: i64,
    /// And by their sender's timestamps; none without.
    pub timestamps_ns: Option<i64>,
}

/// The receiver's first packet after it was silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Return {
    /// Time since the receiver's packet before it.
    pub silence_ns: i64,
    /// The same by the receiver's timestamps; none if these tell no time.
    pub timestamps_ns: Option<i64>,
    /// What passed together with it.
    pub burst: BurstSeen,
    /// Not acknowledged before it, neither cumulatively nor selectively.
    pub outstanding_bytes: u64,
    /// How much of that it acknowledged in either way, with what came within 40 ms after it, until that was most of it.
    pub acknowledged_bytes: u64,
    /// And that was more than the path can have carried since the first of it, or since the last pause in it.
    pub beyond_path: bool,
    /// Where it was not known what the path can carry, so much it would have to, bytes in a second; 0 if that was not asked.
    pub needed_bytes_per_s: u64,
    /// It echoes a timestamp that the capture has not seen the sender send: it missed packets of it.
    pub echoes_unseen: bool,
    /// How many packets within 2 ms acknowledged more than the one before.
    pub advances: u32,
    /// The packet before it acknowledged a single segment, as late as a delayed acknowledgement, and nothing for a while: the
    /// receiver ran while no more reached it.
    pub after_delayed: bool,
    /// It echoes a timestamp older than the sender's last probe or timeout: what it answers was sent before. None without
    /// timestamps or probe.
    pub older_than_probe: Option<bool>,
    /// It reports what the probe or timeout has sent as received, twice or beyond a hole (RFC 2883, RFC 2018): it answers that.
    pub reports_disorder: bool,
    /// How long after the sender's last probe or timeout it came.
    pub after_probe_ns: Option<i64>,
}

/// What is known of a gap.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct GapEvidence {
    /// From data packet to data packet.
    pub gap_ns: i64,
    /// Where the capture stands.
    pub place: CapturePlace,
    /// What ended it.
    pub ending: GapEnding,
    /// Longest time in it without any packet of the connection.
    pub silence_ns: i64,
    /// From the beginning of the gap to that silence.
    pub before_silence_ns: i64,
    /// Packets of the receiver that passed inside the gap while data was outstanding (counted up to a bound).
    pub answers_inside: u32,
    /// From the receiver's last packet to the end of the gap, if that packet passed within the gap.
    pub since_answer_ns: Option<i64>,
    /// From the receiver's last data to the end of the gap, if that passed within the gap and nothing is left outstanding.
    pub since_request_ns: Option<i64>,
    /// Not acknowledged during the silence, bytes.
    pub outstanding_bytes: u64,
    /// At the sender: how long before the silence the oldest segment of that was sent. None if it was sent more than once.
    pub oldest_age_ns: Option<i64>,
    /// Payload of a full segment.
    pub segment_bytes: u64,
    /// Loss recovery is going on, or losses are reported.
    pub recovering: bool,
    /// Away from the sender: it had not heard of that before the gap's end, so that its timer was a probe.
    pub unaware: bool,
    /// The last packet before the gap was as full as they get, and so was the last segment in it.
    pub last_full: bool,
    /// That packet had PSH.
    pub last_push: bool,
    /// A segment that was sent short is not acknowledged: the next short one waits for that (Nagle; RFC 9293 section 3.7.4, in
    /// Minshall's form, Linux `tcp_minshall_check`).
    pub short_outstanding: bool,
    /// Time in the gap for which the receiver's window left no room.
    pub window_full_ns: i64,
    /// The sender's smoothed round trip, as well as it is known from here.
    pub round_trip_ns: Option<i64>,
    /// Its mean deviation (RFC 6298 `RTTVAR`).
    pub deviation_ns: i64,
    /// Away from the sender: by so much longer it was lately. What the sender knows of it lags a round trip behind.
    pub queue_before_ns: i64,
    /// The sender uses SACK, and with it tail loss probes.
    pub sack: bool,
    /// Probes and timeouts of the sender since the receiver was last heard, this gap's ending not among them.
    pub timers_before: u32,
    /// The gap by the sender's timestamps; none if these tell no time.
    pub sender_clock_ns: Option<i64>,
    /// When the receiver was heard again; none if it never was.
    pub answer: Option<Return>,
    /// Data packets that passed together with the one that ended the gap.
    pub data_burst: BurstSeen,
    /// Payload bytes for each 2 ms of the transfer so far.
    pub usual_bytes_in_2_ms: u64,
    /// Data passed in the gap, or right before its end, that the capture missed.
    pub capture_missed: bool,
    /// Bytes sent since the gap before this one.
    pub bytes_since_gap: u64,
    /// So many gaps in a row before this one were about as long.
    pub similar_before: u32,
    /// Away from the sender: by its echo, the sender had so much outstanding when it sent the data that ended the gap. None
    /// without timestamps.
    pub outstanding_to_sender_bytes: Option<u64>,
    /// Away from the sender: the data that ended the gap echoes a timestamp by so much older than the receiver's last before
    /// the gap. None without timestamps.
    pub echo_behind_ns: Option<i64>,
    /// At the receiver: what came with the end of the gap is more than the path can have carried since.
    pub data_beyond_path: bool,
    /// Away from the sender: with the packet that ended the gap it sent others, which echo newer timestamps than that one, though
    /// none that the receiver made since.
    pub echoes_move_on: bool,
}
