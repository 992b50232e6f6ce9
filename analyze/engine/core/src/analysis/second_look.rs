//! Is it worth looking whether captures of two points were put together? A sample of the connections concerned says so: some
//! thousand packets, chosen by what their senders say in them, so that the copies of what is chosen are chosen, too.
//!
//! [`crate::analysis::two_clocks`] reads all of it only then. What is lost and retransmitted often looks like that at first.

use crate::analysis::copies::{CopiedPacket, Copies};
use crate::keyed::KeyedMap;
use crate::packet::Packet;
use crate::read::record::Record;

/// Connections that are looked at.
const MOST_FLOWS: usize = 1024;

/// Packets that are compared, about, of those concerned and of others.
const SAMPLE_PACKETS: u64 = 1 << 14;

/// The same of one connection: without timestamps those of a stretch of data are chosen together.
const PACKETS_OF_A_FLOW: u64 = 4096;

/// Fewer records of a connection that are there twice say nothing.
const FEWEST_RECORDS: u64 = 4;

/// So many may be enough to look at all of it.
const ENOUGH_RECORDS: u64 = 256;

/// A connection that is looked at.
struct LookedAt {
    packets: u64,
    /// One of so many packets is compared.
    every: u64,
    /// Records since the first that was there twice, and those of them that were.
    since: u64,
    with_copy: u64,
}

/// See the module.
pub(crate) struct Sample {
    flows: KeyedMap<u32, LookedAt>,
    copies: Copies,
    order: u64,
    /// Records with copies, and how many of them to ask at whether that is enough.
    with_copy: u64,
    ask_at: u64,
}

impl Sample {
    /// A sample of connections, each by its hash and the number of its packets: of these, and evenly of others where there is room.
    pub(crate) fn of(concerned: Vec<(u32, u64)>, others: Vec<(u32, u64)>) -> Self {
        let mut flows = KeyedMap::default();
        for some in [concerned, others] {
            let room = MOST_FLOWS.saturating_sub(flows.len());
            let stride = some.len() / room.max(1) + 1;
            let looked_at = if room > 0 { some.len().div_ceil(stride) } else { 0 };
            let of_a_flow = (SAMPLE_PACKETS / looked_at.max(1) as u64).clamp(1, PACKETS_OF_A_FLOW);
            for (hash, packets) in some.into_iter().step_by(stride).take(looked_at) {
                let flow = flows.entry(hash).or_insert(LookedAt { packets: 0, every: 1, since: 0, with_copy: 0 });
                flow.packets += packets;
                flow.every = (flow.packets / of_a_flow).max(1);
            }
        }
        Self { flows, copies: Copies::default(), order: 0, with_copy: 0, ask_at: ENOUGH_RECORDS }
    }

    /// No connection is in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// False when enough is known.
    pub(crate) fn take(&mut self, record: &Record, packet: &Packet, bytes: &[u8]) -> bool {
        let Some(flow) = self.flows.get_mut(&packet.flow_hash) else { return true };
        self.order += 1;
        let mut passing = CopiedPacket::of(record, packet, bytes, self.order);
        if !passing.is_one_of(flow.every) {
            return true;
        }
        let mut copies = 0;
        while passing.left > 0 && self.copies.take(&mut passing, &|first| Some(first.order)).is_some() {
            copies += 1;
        }
        flow.since += u64::from(flow.with_copy > 0);
        flow.with_copy += if copies > 0 { copies + 1 } else { 0 };
        if passing.left > 0 {
            self.copies.remember(passing);
        }
        self.with_copy += copies;
        if self.with_copy < self.ask_at {
            return true;
        }
        self.ask_at = 2 * self.with_copy;
        !self.is_worth_looking()
    }

    /// At least half of what may be of two points is there twice.
    pub(crate) fn is_worth_looking(&self) -> bool {
        let twice = self.flows.values().filter(|flow| flow.with_copy * flow.every >= FEWEST_RECORDS);
        let [with_copy, since] = twice.fold([0, 0], |[with_copy, since], flow| {
            [with_copy + flow.with_copy * flow.every, since + flow.since * flow.every]
        });
        with_copy > 0 && 2 * with_copy >= since
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tcp_flags;

    const FLOW: u32 = 7;

    fn record(packet: &Packet) -> Record {
        Record {
            time_ns: packet.time_ns,
            original_length: packet.wire_length,
            frame: packet.frame,
            link_type: 1,
            ..Record::default()
        }
    }

    fn data(number: u32, ip_id: u16) -> Packet {
        let sequence = 1000 * number;
        let flags = tcp_flags::ACK;
        Packet { flow_hash: FLOW, sequence, payload_length: 1000, ip_id, flags, ..Packet::default() }
    }

    fn worth(packets: impl Iterator<Item = Packet>, others: &[u32]) -> (bool, u64) {
        let others = others.iter().map(|hash| (*hash, 1000)).collect();
        let mut sample = Sample::of(vec![(FLOW, 100_000)], others);
        for packet in packets {
            if !sample.take(&record(&packet), &packet, &[]) {
                break;
            }
        }
        (sample.is_worth_looking(), sample.order)
    }

    #[test]
    fn what_is_retransmitted_is_no_copy() {
        let packets =
            (0..50_000).flat_map(|number| [2 * number, 2 * number + 1].map(|ip_id| data(number, ip_id as u16)));
        assert!(!worth(packets, &[]).0);
    }

    #[test]
    fn copies_are_found_beside_and_behind_one_another() {
        let one = |number: u32| data(number, number as u16);
        let (is_worth, looked_at) = worth((0..50_000).flat_map(|number| [one(number), one(number)]), &[]);
        assert!(is_worth && looked_at < 100_000, "some are enough");
        assert!(worth((0..50_000).chain(0..50_000).map(one), &[]).0);
    }

    #[test]
    fn a_sample_stays_small() {
        let others: Vec<u32> = (100..100_000).collect();
        let one = |number: u32| data(number, number as u16);
        let sample = Sample::of(vec![(FLOW, 100_000)], others.iter().map(|hash| (*hash, 1000)).collect());
        assert!(sample.flows.contains_key(&FLOW) && sample.flows.len() > MOST_FLOWS / 2);
        assert!(sample.flows.len() <= MOST_FLOWS);
        assert!(worth((0..50_000).chain(0..50_000).map(one), &others).0);
    }
}
