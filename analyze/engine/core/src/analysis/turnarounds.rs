//! How long hosts take to acknowledge, as the records of two capture points show it: does a path lie between both?
//!
//! Where each packet appears first at its sender, the copy of data is what its receiver got. The first record of the acknowledgement
//! is what it sent then: between both lies no more than a host takes. A capture that shows its own packets twice has the rest of
//! the path there.
//!
//! [`crate::analysis::points_apart`] asks.

use crate::keyed::KeyedMap;
use crate::packet::{Packet, tcp_flags};
use crate::tcp::capture::lag::HostAddress;
use crate::tcp::stats::sequence::serial_difference;

/// Data that waits for its acknowledgement, and flows whose round trips are measured, at a time.
const MOST_WAITING: usize = 1 << 14;

type TurnaroundFlow = (u32, u32);

/// The shortest times of a host.
#[derive(Debug, Clone, Copy, Default)]
struct Shortest {
    /// From the copy of data for it to its acknowledgement; below 0 if that appeared first.
    to_acknowledge_ns: Option<i64>,
    /// From its data to the first record of their acknowledgement.
    round_trip_ns: Option<i64>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Turnarounds {
    /// Flow and end of data whose copy has passed, and when.
    copied: KeyedMap<(TurnaroundFlow, u32), i64>,
    /// Flow and end of data that was acknowledged before its copy has passed, and when.
    early: KeyedMap<(TurnaroundFlow, u32), i64>,
    /// End of data, and when it passed first.
    awaited: KeyedMap<TurnaroundFlow, (u32, i64)>,
    hosts: KeyedMap<HostAddress, Shortest>,
}

impl Turnarounds {
    /// Data that nobody had sent before passes first.
    pub(crate) fn take_new(&mut self, packet: &Packet) {
        let [own, _] = packet.flows();
        if self.awaited.len() < MOST_WAITING {
            self.awaited.entry(own).or_insert((end_of(packet), packet.time_ns));
        }
    }

    /// The copy of data passes.
    pub(crate) fn take_copy(&mut self, packet: &Packet, receiver: Option<HostAddress>) {
        let [own, _] = packet.flows();
        let key = (own, end_of(packet));
        match (self.early.remove(&key), receiver) {
            (Some(acknowledged_ns), Some(receiver)) => {
                let shortest = self.hosts.entry(receiver).or_default();
                keep_least(&mut shortest.to_acknowledge_ns, acknowledged_ns.saturating_sub(packet.time_ns));
            }
            _ => remember(&mut self.copied, key, packet.time_ns),
        }
    }

    /// The first record of a packet from one host to another.
    pub(crate) fn take_first(&mut self, packet: &Packet, sender: HostAddress, receiver: Option<HostAddress>) {
        let [_, opposite] = packet.flows();
        if !packet.has(tcp_flags::ACK) {
            return;
        }
        let key = (opposite, packet.acknowledgement);
        if let Some(copied_ns) = self.copied.remove(&key) {
            let shortest = self.hosts.entry(sender).or_default();
            keep_least(&mut shortest.to_acknowledge_ns, packet.time_ns.saturating_sub(copied_ns));
        } else {
            remember(&mut self.early, key, packet.time_ns);
        }
        let Some(&(end, sent_ns)) = self.awaited.get(&opposite) else { return };
        if serial_difference(packet.acknowledgement, end) >= 0 {
            self.awaited.remove(&opposite);
            let shortest = receiver.map(|receiver| self.hosts.entry(receiver).or_default());
            if let Some(shortest) = shortest {
                keep_least(&mut shortest.round_trip_ns, packet.time_ns.saturating_sub(sent_ns));
            }
        }
    }

    /// A host's shortest time from the copy of data for it to its acknowledgement.
    pub(crate) fn to_acknowledge_ns(&self, host: HostAddress) -> Option<i64> {
        self.hosts.get(&host)?.to_acknowledge_ns
    }

    /// The shortest of a host from data to the first record of an acknowledgement.
    pub(crate) fn round_trip_ns(&self, host: HostAddress) -> Option<i64> {
        self.hosts.get(&host)?.round_trip_ns
    }
}

fn end_of(packet: &Packet) -> u32 {
    packet.sequence.wrapping_add(packet.sequence_length())
}

fn remember(times: &mut KeyedMap<(TurnaroundFlow, u32), i64>, key: (TurnaroundFlow, u32), time_ns: i64) {
    if times.len() >= MOST_WAITING {
        times.clear();
    }
    times.insert(key, time_ns);
}

fn keep_least(least: &mut Option<i64>, value_ns: i64) {
    *least = Some(least.map_or(value_ns, |least_ns| least_ns.min(value_ns)));
}
