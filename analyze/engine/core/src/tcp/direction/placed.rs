//! A data packet at its place in the stream, and what the rules for it may ask.

use crate::packet::Packet;
use crate::tcp::direction::direction::Direction;
use crate::tcp::events::context::Context;
use crate::tcp::events::openings::Openings;
use crate::tcp::events::segment::Segment;

/// The other side, for what the rules for a direction's data ask of it. Each answer is looked up when it is asked for.
#[derive(Clone, Copy)]
pub struct Peer<'a> {
    /// Its own direction.
    pub direction: &'a Direction,
    /// Its SYNs.
    pub openings: &'a Openings,
    /// It is the client: the data in question is the server's.
    pub is_client: bool,
}

impl Peer<'_> {
    /// Highest position it has sent.
    #[inline(always)]
    pub fn max(&self) -> u64 {
        self.direction.max
    }

    /// When it last sent something that wants an acknowledgement.
    #[inline(always)]
    pub fn spoke_ns(&self) -> Option<i64> {
        self.direction.spoke_ns().max((self.openings.count > 0).then_some(self.openings.last_ns))
    }

    /// Its newest TSval.
    #[inline(always)]
    pub fn tsval(&self) -> Option<u32> {
        self.direction.newest_tsval()
    }
}

/// See the module.
#[derive(Clone, Copy)]
pub(crate) struct Placed<'a> {
    /// The packet.
    pub packet: &'a Packet,
    /// Position of its first byte.
    pub start: u64,
    /// Position after its last byte.
    pub end: u64,
    /// Payload of a full wire segment.
    pub segment_size: u16,
    /// Time of the data packet before it.
    pub last_data_ns: Option<i64>,
    /// What is known of the connection.
    pub context: &'a Context,
    /// The other side.
    pub peer: Peer<'a>,
}

impl Placed<'_> {
    /// How long no data has passed.
    pub fn silence_ns(&self) -> i64 {
        self.last_data_ns.map_or(0, |last| self.packet.time_ns.saturating_sub(last))
    }

    /// TSval, if it has one.
    #[inline]
    pub fn tsval(&self) -> Option<u32> {
        self.packet.timestamp()
    }

    /// A record of `start..end`, a part of it.
    #[inline]
    pub fn record(&self, start: u64, end: u64, state: u8) -> Segment {
        Segment::of(self.packet, [start, end], self.segment_size, state)
    }
}
