//! A segment outstanding, and what may be learnt of it: sampled, acknowledged, reported, retransmitted.

use crate::packet::Packet;

/// Record states, combined.
pub mod state {
    /// Sent more than once.
    pub const RETRANSMITTED: u8 = 1;
    /// Selectively acknowledged.
    pub const SACKED: u8 = 2;
    /// Taken for lost (RFC 6675 `IsLost`), and not acknowledged since.
    pub const LOST: u8 = 4;
    /// Taken for lost and retransmitted.
    pub const RESENT: u8 = 8;
    /// An original that came late, counted as out of order when it passed.
    pub const LATE: u8 = 16;
    /// Its last two transmissions have the same TSval, or none.
    pub const SAME_STAMP: u8 = 32;
}

/// One captured data frame, or what splitting left of it.
#[derive(Debug, Clone, Copy)]
pub struct Segment {
    /// Position of the first byte.
    pub start: u64,
    /// Time of the last transmission seen.
    pub time_ns: i64,
    /// Bytes.
    pub length: u32,
    /// Frame of the last transmission.
    pub frame: u32,
    /// TSval of the last transmission (0 without timestamps).
    pub tsval: u32,
    /// Largest wire segment the frame was, or would be, cut into.
    pub segment_size: u16,
    /// See [`state`].
    pub state: u8,
}

impl Segment {
    /// That of `start..end`, which `packet` carries.
    #[inline(always)]
    pub(crate) fn of(packet: &Packet, [start, end]: [u64; 2], segment_size: u16, state: u8) -> Self {
        let &Packet { time_ns, frame, tsval, .. } = packet;
        Self { start, time_ns, length: (end - start) as u32, frame, tsval, segment_size, state }
    }

    /// Position after the last byte.
    #[inline]
    pub fn end(&self) -> u64 {
        self.start + u64::from(self.length)
    }

    /// Wire segments the record stands for.
    #[inline]
    pub fn wire_segments(&self) -> u32 {
        wire_segments(self.length, self.segment_size)
    }

    /// `length` bytes from `start` on are whole wire segments of it.
    pub fn has_segments_at(&self, start: u64, length: u32) -> bool {
        let size = u64::from(self.segment_size.max(1));
        let [from, to] = [start, start + u64::from(length)].map(|position| position.checked_sub(self.start));
        let is_edge = |offset: u64| offset.is_multiple_of(size) || offset == u64::from(self.length);
        from.is_some_and(is_edge) && to.is_some_and(|to| to <= u64::from(self.length) && is_edge(to))
    }

    /// It was sent once, as far as was seen, and has not been reported.
    pub fn is_hole(&self) -> bool {
        self.was_sent_once() && !self.is(state::SACKED)
    }

    /// It was sent once, as far as was seen.
    pub fn was_sent_once(&self) -> bool {
        !self.is(state::RETRANSMITTED | state::LATE)
    }

    #[inline]
    pub(crate) fn is(&self, bits: u8) -> bool {
        self.state & bits != 0
    }
}

/// Wire segments that `length` bytes take in pieces of `segment_size`.
#[inline]
pub fn wire_segments(length: u32, segment_size: u16) -> u32 {
    if length <= u32::from(segment_size) { 1 } else { length.div_ceil(u32::from(segment_size.max(1))) }
}

/// The segment that a round trip is measured from.
#[derive(Debug, Clone, Copy)]
pub struct Sampled {
    /// When it was sent last.
    pub time_ns: i64,
    /// In which frame.
    pub frame: u32,
}

impl Sampled {
    /// The last transmission of a segment.
    #[inline]
    pub fn of(segment: &Segment) -> Self {
        Self { time_ns: segment.time_ns, frame: segment.frame }
    }

    /// Nanoseconds from it to `packet`, which is no earlier.
    #[inline]
    pub(crate) fn until(&self, packet: &Packet) -> u64 {
        (packet.time_ns - self.time_ns) as u64
    }
}

/// The segments that an acknowledgement covers.
#[derive(Debug, Clone, Copy)]
pub struct Covered {
    /// The wire segment whose acknowledgement this is: the last of all.
    pub newest: Option<Sampled>,
    /// How many on the wire.
    pub wire_segments: u32,
    /// Latest transmission time among all of them.
    pub latest_time_ns: i64,
}

impl Default for Covered {
    fn default() -> Self {
        Self { newest: None, wire_segments: 0, latest_time_ns: i64::MIN }
    }
}

impl Covered {
    /// One more, behind the others.
    #[inline(always)]
    pub fn add(&mut self, segment: &Segment) {
        self.newest = Some(Sampled::of(segment));
        self.wire_segments += segment.wire_segments();
        self.latest_time_ns = self.latest_time_ns.max(segment.time_ns);
    }
}

/// What an acknowledgement took off the queue.
#[derive(Debug, Default, Clone, Copy)]
pub struct Acknowledged {
    /// All that it covers.
    pub covered: Covered,
    /// The first covered record, if it had been retransmitted.
    pub first_retransmitted: Option<Segment>,
    /// Something covered had been retransmitted.
    pub any_retransmitted: bool,
    /// Something covered had been selectively acknowledged before.
    pub any_sacked: bool,
    /// Wire segments never retransmitted, delivered although a later one had been reported before.
    pub late_originals: u32,
    /// The acknowledgement ends inside a segment that is no superpacket.
    pub partial: bool,
}

/// What a selective acknowledgement brought of a stretch.
#[derive(Debug, Clone, Copy)]
pub struct Reported {
    /// Wire segments, never retransmitted, delivered below what had been reported before, i.e. out of order.
    pub late_originals: u32,
    /// Latest transmission time among all that had not been reported before.
    pub latest_time_ns: i64,
}

/// What was known of a stretch before it was retransmitted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Retransmitted {
    /// When the first part of it was last sent before; none if no record was left.
    pub previous_time_ns: Option<i64>,
    /// All of it had been selectively acknowledged.
    pub all_sacked: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_segments_of_a_frame_begin_and_end_at_its_edges() {
        let frame = Segment { start: 500, length: 3500, time_ns: 0, frame: 0, tsval: 0, segment_size: 1000, state: 0 };
        let whole = [(500, 1000), (1500, 2000), (3500, 500), (500, 3500)];
        let parts = [(500, 900), (600, 1000), (3500, 600), (400, 1000), (4000, 500)];
        assert!(whole.iter().all(|&(start, length)| frame.has_segments_at(start, length)));
        assert!(!parts.iter().any(|&(start, length)| frame.has_segments_at(start, length)));
    }
}
