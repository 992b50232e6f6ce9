//! Hosts whose packets were recorded later than those of the others by a constant (docs/methods.md, section 2 rule 4).
//!
//! An acknowledgement cannot pass before what it acknowledges. Where it stands before it in the capture time and again, by a time
//! that is nearly always the same, the data was recorded late: by the longest of these times, as the fastest answers take
//! next to none. A capture that misses data shows acknowledgements of it, too, but no data behind them.
//!
//! Rule: docs/methods.md, "Recorded late".

use crate::packet::Packet;

/// Later than this is not recorded late.
pub const LONGEST_NS: i64 = 1_000_000_000;

/// Acknowledgements that must have come before their data.
const FEWEST: u32 = 20;

/// Recorded out of order within this time, packets keep their place in the stream by other rules.
const SHORTEST_NS: i64 = 20_000;

/// Data of one direction that was recorded behind its acknowledgement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecordedBehind {
    /// Data packets.
    packets: u32,
    /// The sum of the times between.
    sum_ns: i64,
    /// The longest time between.
    longest_ns: i64,
}

impl RecordedBehind {
    /// A data packet that came so much later than an acknowledgement of it.
    pub fn add(&mut self, behind_ns: i64) {
        if (0..=LONGEST_NS).contains(&behind_ns) {
            self.packets = self.packets.saturating_add(1);
            self.sum_ns = self.sum_ns.saturating_add(behind_ns);
            self.longest_ns = self.longest_ns.max(behind_ns);
        }
    }

    /// By how much the sender of `data_packets` was recorded late; none if it was not.
    pub fn lag_ns(&self, data_packets: u64) -> Option<i64> {
        let most_are = u64::from(self.packets) * 2 >= data_packets;
        let is_constant = 2 * i128::from(self.sum_ns) >= i128::from(self.longest_ns) * i128::from(self.packets);
        (self.packets >= FEWEST && most_are && is_constant && self.longest_ns >= SHORTEST_NS).then_some(self.longest_ns)
    }
}

/// A host by its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostAddress {
    address: [u8; 16],
    ip_version: u8,
}

impl HostAddress {
    /// One of the addresses of a connection as its summary has them, the client's (0) or the server's (1).
    pub fn of_side(addresses: &[u8; 32], ip_version: u8, side: usize) -> Self {
        let length = if ip_version == 4 { 4 } else { 16 };
        let mut address = [0; 16];
        address[..length].copy_from_slice(&addresses[side * length..(side + 1) * length]);
        Self { address, ip_version }
    }

    /// The host of these 4 or 16 bytes; none if they are no address.
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let ip_version = match bytes.len() {
            4 => 4,
            16 => 6,
            _ => return None,
        };
        let mut address = [0; 16];
        address.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(Self { address, ip_version })
    }

    /// Its address, 4 or 16 bytes.
    pub fn bytes(&self) -> &[u8] {
        self.address.get(..if self.ip_version == 4 { 4 } else { 16 }).unwrap_or_default()
    }

    /// The host that sent a packet, if its address was captured.
    pub fn sender_of(packet: &Packet, bytes: &[u8]) -> Option<Self> {
        Self::at(packet, bytes, 0)
    }

    /// The host that it was sent to.
    pub fn receiver_of(packet: &Packet, bytes: &[u8]) -> Option<Self> {
        Self::at(packet, bytes, 1)
    }

    fn at(packet: &Packet, bytes: &[u8], place: usize) -> Option<Self> {
        let length = if packet.ip_version == 4 { 4 } else { 16 };
        let start = packet.address_offset as usize + place * length;
        Self::of_bytes(bytes.get(start..start + length)?)
    }
}

/// A host that was recorded late in an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lag {
    /// The input's number.
    pub input: u16,
    /// The host.
    pub host: HostAddress,
    /// By how much.
    pub lag_ns: i64,
}

/// Hosts that are remembered, at most.
const MOST_HOSTS: usize = 4096;

/// Adds what one connection shows of a host: its longest lag counts.
pub fn add_lag(lags: &mut Vec<Lag>, lag: Lag) {
    let known = lags.iter().position(|known| (known.input, known.host) == (lag.input, lag.host));
    match known {
        Some(index) => lags[index].lag_ns = lags[index].lag_ns.max(lag.lag_ns),
        None if lags.len() < MOST_HOSTS => lags.push(lag),
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn behind(packets: u32, behind_ns: i64) -> RecordedBehind {
        let mut found = RecordedBehind::default();
        (0..packets).for_each(|_| found.add(behind_ns));
        found
    }

    #[test]
    fn most_of_many_packets_must_have_come_behind_their_acknowledgement() {
        assert_eq!(behind(20, 3_000_000).lag_ns(40), Some(3_000_000));
        assert_eq!(behind(20, 3_000_000).lag_ns(41), None);
        assert_eq!(behind(19, 3_000_000).lag_ns(19), None);
        assert_eq!(behind(20, 1_000).lag_ns(20), None, "neighbours in the file");
        assert_eq!(behind(20, 2_000_000_000).lag_ns(20), None, "sent again after a timeout");
        let mut uneven = behind(20, 30_000);
        uneven.add(3_000_000);
        assert_eq!(uneven.lag_ns(21), None, "now and then out of order");
    }

    #[test]
    fn the_longest_lag_of_a_host_counts() {
        let host = |last: u8| {
            let mut addresses = [0; 32];
            addresses[7] = last;
            HostAddress::of_side(&addresses, 4, 1)
        };
        let mut lags = Vec::new();
        for (last, lag_ns) in [(1, 5), (2, 7), (1, 9), (1, 3)] {
            add_lag(&mut lags, Lag { input: 0, host: host(last), lag_ns });
        }
        assert_eq!(lags.iter().map(|lag| lag.lag_ns).collect::<Vec<_>>(), [9, 7]);
    }
}
