//! A round: from one moment to the acknowledgement of what was in flight then, as the sender saw it. One round lasts one
//! round trip while the sender is clocked by acknowledgements, and longer while it waits.
//!
//! Rule: docs/verdict.md, "A round".

use crate::tcp::congestion::round_trip::FlightRoundTrip;
use crate::tcp::limits::share::CutGap;
use crate::tcp::sender::pauses::SenderPauses;

/// What a direction has counted by one moment; the difference of two is a [`Round`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Meter {
    /// When.
    pub time_ns: i64,
    /// The frame of that moment.
    pub frame: u32,
    /// Bytes acknowledged, cumulatively or selectively.
    pub delivered_bytes: u64,
    /// Time the advertised window left no room.
    pub limited_ns: u64,
    /// Time data was in flight.
    pub busy_ns: u64,
    /// Time nothing was, because the window was closed.
    pub blocked_ns: u64,
    /// Time nothing was though it was the sender's turn.
    pub thought_ns: u64,
    /// How often it said something in its turn, with nothing in flight.
    pub turns: u32,
    /// Time losses were being repaired.
    pub recovering_ns: u64,
    /// Bytes in flight, summed over `busy_ns`.
    pub flight_area: f64,
    /// Sum of the clean round-trip samples, nanoseconds.
    pub rtt_sum_ns: u64,
    /// Their number.
    pub rtt_samples: u64,
    /// Data packets.
    pub data_packets: u64,
    /// Those of them that were no full segments.
    pub short_packets: u32,
    /// Segments retransmitted.
    pub retransmitted: u32,
    /// Those for a timeout.
    pub timeouts: u32,
    /// Recoveries that began.
    pub reductions: u64,
    /// Payload of a full segment, bytes.
    pub segment_size: u16,
    /// Payload of the largest frame, bytes: with segmentation offload one holds many segments.
    pub largest_frame: u64,
    /// Payload the other side had sent.
    pub peer_bytes: u64,
    /// Packets of the other side that reported marks on the data.
    pub congestion_echoes: u64,
    /// Pauses of the data, and what ended them.
    pub pauses: SenderPauses,
}

/// What a round has that is no difference of counters.
#[derive(Debug, Clone, Copy, Default)]
pub struct RoundSeen {
    /// Largest flight, bytes.
    pub max_flight: u64,
    /// Round trip between the capture and the sender; none if nothing told it.
    pub near_loop_ns: Option<u64>,
    /// The same without a queue, as far as is known.
    pub shortest_loop_ns: u64,
    /// Shortest clean round-trip sample.
    pub least_sample_ns: Option<u64>,
    /// Longest time between two of its data packets; none at the sender, where it says nothing of the path.
    pub longest_gap_ns: Option<u64>,
    /// How much later than its first packet the newest of the sender, and of the receiver, came by its own clock.
    pub late_ns: [Option<i64>; 2],
}

/// See the module.
#[derive(Debug, Clone, Copy, Default)]
pub struct Round {
    /// When it began.
    pub start_ns: i64,
    /// When it was over.
    pub end_ns: i64,
    /// Frames of those moments.
    pub frames: [u32; 2],
    /// Bytes delivered.
    pub delivered_bytes: u64,
    /// Time the advertised window left no room.
    pub limited_ns: u64,
    /// Time nothing was in flight.
    pub idle_ns: u64,
    /// Time the window was closed with nothing in flight.
    pub blocked_ns: u64,
    /// Of `idle_ns`, what passed after the other side had said its last.
    pub thought_ns: u64,
    /// Answers that began in it with nothing in flight.
    pub turns: u32,
    /// Time losses were being repaired.
    pub recovering_ns: u64,
    /// Bytes in flight, mean over the time in which data was.
    pub mean_flight: f64,
    /// The most bytes in flight.
    pub max_flight: u64,
    /// Round trip: mean of the samples, with the way between the capture and the sender.
    pub rtt_ns: Option<u64>,
    /// The shortest of them: what a queue that stands adds to every packet, a burst's own queue does not add to its first.
    pub least_rtt_ns: Option<u64>,
    /// Longest time without data away from the sender, where a path that is full brings data all the time.
    pub longest_gap_ns: u64,
    /// Data packets.
    pub data_packets: u32,
    /// Those of them that were no full segments.
    pub short_packets: u32,
    /// Segments retransmitted.
    pub retransmitted: u32,
    /// Those for a timeout.
    pub timeouts: u32,
    /// Recoveries that began.
    pub reductions: u32,
    /// Payload of a full segment, bytes.
    pub segment_size: u16,
    /// Payload of the largest frame so far, bytes.
    pub largest_frame: u64,
    /// The other side sent data meanwhile, and how many bytes of it.
    pub peer_spoke: bool,
    /// See `peer_spoke`.
    pub peer_bytes: u64,
    /// It reported marks on the data.
    pub marked: bool,
    /// Pauses of the data, and what ended them.
    pub pauses: SenderPauses,
    /// Time that a gap with a cause of its own takes out of it.
    pub cut_ns: u64,
    /// A host or the path stalled in it or right before: what is delivered then was sent at another time.
    pub disturbed: bool,
    /// The flight was growing as in slow start.
    pub slow_start: bool,
    /// What acknowledgements waited for in queues of their direction, as timestamps show it; 0 if they do not.
    pub ack_wait_ns: u64,
}

impl Round {
    /// From one moment to another. `near_loop_ns` is the round trip between the capture and the sender.
    pub fn between(from: &Meter, to: &Meter, seen: &RoundSeen) -> Self {
        let &RoundSeen { max_flight, near_loop_ns, least_sample_ns, longest_gap_ns, .. } = seen;
        let samples = to.rtt_samples - from.rtt_samples;
        let busy_ns = to.busy_ns - from.busy_ns;
        let duration_ns = u64::try_from(to.time_ns.saturating_sub(from.time_ns)).unwrap_or(0);
        let blocked_ns = to.blocked_ns - from.blocked_ns;
        Self {
            start_ns: from.time_ns,
            end_ns: to.time_ns.max(from.time_ns),
            frames: [from.frame, to.frame],
            delivered_bytes: to.delivered_bytes.saturating_sub(from.delivered_bytes),
            limited_ns: (to.limited_ns - from.limited_ns).min(duration_ns),
            idle_ns: duration_ns.saturating_sub(busy_ns + blocked_ns),
            blocked_ns,
            thought_ns: to.thought_ns.saturating_sub(from.thought_ns),
            turns: to.turns.saturating_sub(from.turns),
            recovering_ns: to.recovering_ns.saturating_sub(from.recovering_ns).min(duration_ns),
            mean_flight: if busy_ns > 0 { (to.flight_area - from.flight_area) / busy_ns as f64 } else { 0.0 },
            max_flight,
            rtt_ns: near_loop_ns
                .filter(|_| samples > 0)
                .map(|near_ns| (to.rtt_sum_ns.saturating_sub(from.rtt_sum_ns)) / samples + near_ns),
            least_rtt_ns: least_sample_ns.zip(near_loop_ns).map(|(far_ns, near_ns)| far_ns + near_ns),
            longest_gap_ns: longest_gap_ns.unwrap_or(0),
            data_packets: u32::try_from(to.data_packets.saturating_sub(from.data_packets)).unwrap_or(u32::MAX),
            short_packets: to.short_packets.saturating_sub(from.short_packets),
            retransmitted: to.retransmitted.saturating_sub(from.retransmitted),
            timeouts: to.timeouts.saturating_sub(from.timeouts),
            reductions: u32::try_from(to.reductions.saturating_sub(from.reductions)).unwrap_or(u32::MAX),
            segment_size: to.segment_size,
            largest_frame: to.largest_frame,
            peer_spoke: to.peer_bytes > from.peer_bytes,
            peer_bytes: to.peer_bytes.saturating_sub(from.peer_bytes),
            marked: to.congestion_echoes > from.congestion_echoes,
            pauses: to.pauses.since(&from.pauses),
            cut_ns: 0,
            disturbed: false,
            slow_start: false,
            ack_wait_ns: 0,
        }
    }

    /// A gap takes so much out of it.
    pub fn cut(&mut self, overlap_ns: u64, gap: &CutGap) {
        self.cut_ns = self.cut_ns.saturating_add(overlap_ns);
        let rest_ns = self.duration_ns();
        self.limited_ns = self.limited_ns.saturating_sub(if gap.limited { overlap_ns } else { 0 }).min(rest_ns);
        self.idle_ns = self.idle_ns.saturating_sub(if gap.idle { overlap_ns } else { 0 }).min(rest_ns);
        self.recovering_ns = self.recovering_ns.min(rest_ns);
    }

    /// Round trip in it: as measured, or by Little's law what was in flight over what was delivered, which recovery leaves
    /// as the only way.
    pub fn round_trip_ns(&self) -> Option<u64> {
        let by_flight = || {
            let rate = self.rate_bytes_s();
            (rate > 0.0 && self.mean_flight > 0.0).then(|| (self.mean_flight / rate * 1e9) as u64)
        };
        self.rtt_ns.or_else(by_flight)
    }

    /// Its sender had reason to reduce its window: something was lost, or marked on the way (RFC 3168 section 6.1.2).
    pub fn tells_of_congestion(&self) -> bool {
        self.retransmitted > 0 || self.marked
    }

    /// As congestion control counts, in segments.
    pub fn round_trip(&self, sack: bool) -> FlightRoundTrip {
        let segment_bytes = f64::from(self.segment_size.max(1));
        let is_blurred = !sack && (self.retransmitted > 0 || self.recovering_ns > 0);
        FlightRoundTrip {
            start_ns: self.start_ns,
            end_ns: self.end_ns,
            largest: self.max_flight as f64 / segment_bytes,
            mean: self.mean_flight / segment_bytes,
            rtt_ns: self.rtt_ns,
            repairs: self.retransmitted > 0 || is_blurred,
            is_blurred,
            reductions: self.reductions,
            is_bound: self.limited_ns > 0 || self.timeouts > 0 || self.marked,
            timed_out: self.timeouts > 0,
            is_idle: self.idle_ns > 0,
        }
    }

    /// Data segments of it: packets, or with offload what the bytes delivered come to.
    pub fn segments(&self) -> u64 {
        let by_bytes = self.delivered_bytes / u64::from(self.segment_size.max(1));
        by_bytes.max(u64::from(self.data_packets))
    }

    /// How long it lasted, without what gaps took out of it.
    pub fn duration_ns(&self) -> u64 {
        u64::try_from(self.end_ns.saturating_sub(self.start_ns)).unwrap_or(0).saturating_sub(self.cut_ns)
    }

    /// Bytes delivered for each second of it.
    pub fn rate_bytes_s(&self) -> f64 {
        self.delivered_bytes as f64 * 1e9 / self.duration_ns().max(1) as f64
    }
}
