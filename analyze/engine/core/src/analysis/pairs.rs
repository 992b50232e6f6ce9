//! The second reading of captures of two points: which frames are of which.
//!
//! [`crate::analysis::points_apart`] has measured how far apart copies lie.

use crate::analysis::copies::{CopiedPacket, Copies};
use crate::analysis::gaps_to_copies::LastPair;
use crate::analysis::point_labels::TwoClocks;
use crate::analysis::points_apart::Apart;
use crate::keyed::KeyedMap;
use crate::packet::Packet;
use crate::read::record::Record;
use crate::tcp::capture::lag::HostAddress;

/// Flows whose last pairs are remembered.
const MOST_FLOWS: usize = 1 << 18;

/// See the module.
pub(crate) struct Pairs {
    apart: Apart,
    copies: Copies,
    last: KeyedMap<(u32, u32), LastPair>,
    order: u64,
    found: TwoClocks,
}

impl Pairs {
    pub(crate) fn new(apart: Apart) -> Self {
        let found = TwoClocks::new(&apart);
        Self { apart, copies: Copies::default(), last: KeyedMap::default(), order: 0, found }
    }

    /// The next packet.
    pub(crate) fn take(&mut self, record: &Record, packet: &Packet, bytes: &[u8]) {
        let Some(host) = HostAddress::sender_of(packet, bytes) else { return };
        let usual = *self.apart.hosts.get(&host).unwrap_or(&self.apart.others);
        self.order += 1;
        let mut passing = CopiedPacket::of(record, packet, bytes, self.order);
        let fewest_packets = self.apart.fewest_packets;
        let [own, _] = packet.flows();
        let last = self.last.get(&own).copied();
        let mut pair = None;
        // Of a frame, and of each of its segments, a packet is a copy but once.
        let mut taken: Vec<u64> = Vec::new();
        while passing.left > 0 {
            let copy = passing;
            let apart = |first: &CopiedPacket| {
                // Once one is found, of which it has the rest must be of the same point.
                let is_elsewhere = copy.point.is_none_or(|point| first.point.unwrap_or(usual.first) != point);
                let is_far = first.packets_before(&copy) >= fewest_packets;
                let is_other = is_elsewhere && is_far && !taken.contains(&first.order);
                usual.apart(first, &copy, last.as_ref()).filter(|_| is_other)
            };
            let Some(first) = self.copies.take(&mut passing, &apart) else { break };
            taken.push(first.order);
            let point = first.point.unwrap_or(usual.first);
            self.found.label(&first, point);
            if passing.point.is_none() {
                pair = Some(LastPair::of(&first, &passing));
            }
            passing.point = Some(point.other());
            self.found.label(&passing, point.other());
        }
        if let Some(pair) = pair {
            self.remember_last(own, pair);
            self.found.has_copies(packet);
        }
        if passing.left > 0 {
            self.copies.remember(passing);
        }
    }

    fn remember_last(&mut self, flow: (u32, u32), pair: LastPair) {
        if self.last.len() < MOST_FLOWS || self.last.contains_key(&flow) {
            self.last.insert(flow, pair);
        }
    }

    /// What was found.
    pub(crate) fn conclude(self) -> TwoClocks {
        let mut found = self.found;
        found.is_incomplete |= self.copies.forgot;
        found
    }
}
