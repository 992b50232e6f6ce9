//! What passed at two capture points of one path: the memory from which the distance between both is found.
//!
//! [`crate::tcp::connection::at_two_taps`] feeds it.

use std::collections::VecDeque;

use crate::keyed::KeyedMap;
use crate::packet::{Packet, option_bits};

/// Nearer to one another than this, the rules for copies that one capture point makes do.
pub(crate) const SHORTEST_WAY_NS: i64 = 1_000_000;

/// Packets of a direction that are remembered, at most.
const MOST_REMEMBERED: usize = 1 << 16;

/// So many more that passed but once say that there is no second point, or no more.
const MOST_ONCE: u32 = 16;

/// A packet that passed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TapPacket {
    pub(crate) time_ns: i64,
    /// It has passed the other point as well.
    twice: bool,
}

/// The packets of one direction.
#[derive(Debug, Clone, Default)]
pub(crate) struct PassedTwice {
    /// By what their sender says in them.
    pub(crate) passed: KeyedMap<u64, TapPacket>,
    in_order: VecDeque<(i64, u64)>,
    /// When the one passed first that passed again last, and how long it had been under way.
    pub(crate) last_first_ns: i64,
    pub(crate) last_way_ns: i64,
    /// The shortest that any has been.
    shortest_way_ns: Option<i64>,
    /// How many came twice, and how many did not.
    pub(crate) twice: u32,
    once: u32,
}

impl PassedTwice {
    pub(crate) fn remember(&mut self, identity: u64, time_ns: i64) {
        self.passed.insert(identity, TapPacket { time_ns, twice: false });
        self.in_order.push_back((time_ns, identity));
    }

    /// What passed `before` passes the other point.
    pub(crate) fn passed_again(&mut self, identity: u64, before: TapPacket, packet: &Packet) {
        let way_ns = packet.time_ns.saturating_sub(before.time_ns);
        self.twice += u32::from(way_ns >= SHORTEST_WAY_NS && !before.twice);
        self.shortest_way_ns = Some(self.shortest_way_ns.map_or(way_ns, |shortest_ns| shortest_ns.min(way_ns)));
        if before.time_ns >= self.last_first_ns {
            (self.last_first_ns, self.last_way_ns) = (before.time_ns, way_ns);
        }
        if packet.sequence_length() == 0 && packet.options & option_bits::OTHERS == 0 {
            self.passed.remove(&identity);
        } else {
            self.passed.insert(identity, TapPacket { twice: true, ..before });
        }
    }

    pub(crate) fn forget_before(&mut self, time_ns: i64) {
        while let Some(&(passed_ns, identity)) = self.in_order.front()
            && (passed_ns < time_ns || self.in_order.len() > MOST_REMEMBERED)
        {
            self.in_order.pop_front();
            // The same may have been retransmitted since.
            if let Some(passed) = self.passed.get(&identity).filter(|passed| passed.time_ns == passed_ns) {
                self.once += u32::from(!passed.twice);
                self.passed.remove(&identity);
            }
        }
    }

    pub(crate) fn is_mostly_once(&self) -> bool {
        self.once > MOST_ONCE + self.twice
    }
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct TwoPoints {
    pub(crate) directions: [PassedTwice; 2],
    /// That there are two is certain.
    pub(crate) are_certain: bool,
}

impl TwoPoints {
    /// Both SYN and SYN-ACK were captured twice.
    pub fn certain() -> Box<Self> {
        Box::new(Self { are_certain: true, ..Self::default() })
    }

    /// The shortest round trip between the points.
    pub(crate) fn there_and_back_ns(&self) -> Option<i64> {
        let [there_ns, back_ns] = self.directions.each_ref().map(|direction| direction.shortest_way_ns);
        Some(there_ns?.saturating_add(back_ns?))
    }
}
