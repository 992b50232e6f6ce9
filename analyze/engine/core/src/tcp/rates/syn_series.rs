//! Connections opened and refused over time: a count for each second of the capture.

use std::collections::BTreeMap;

use crate::packet::{Packet, tcp_flags};

/// Counts of one second.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct OpeningCounts {
    /// SYNs, repeats included.
    pub syn: u32,
    /// SYN-ACKs, repeats included.
    pub syn_ack: u32,
    /// Repeats of either.
    pub syn_retransmissions: u32,
    /// Handshakes completed.
    pub established: u32,
    /// Resets.
    pub reset: u32,
}

/// Seconds kept; a capture with wild timestamps loses the rest of the series, not memory.
const MOST_SECONDS: usize = 1 << 20;

/// Counts by second (Unix).
#[derive(Debug, Clone, Default)]
pub struct OpeningSeries {
    /// All seconds but the open one.
    seconds: BTreeMap<i64, OpeningCounts>,
    /// The second that was counted in last: nearly always the one that is counted in next.
    open: Option<(i64, OpeningCounts)>,
}

impl OpeningSeries {
    #[inline]
    fn at(&mut self, time_ns: i64) -> Option<&mut OpeningCounts> {
        let second = time_ns.div_euclid(1_000_000_000);
        if self.open.is_none_or(|(open, _)| open != second) {
            self.open_second(second)?;
        }
        self.open.as_mut().map(|(_, counts)| counts)
    }

    /// None if there is no room for one more.
    #[inline(never)]
    fn open_second(&mut self, second: i64) -> Option<()> {
        let counts = match self.seconds.remove(&second) {
            Some(counts) => counts,
            None if self.seconds.len() + usize::from(self.open.is_some()) < MOST_SECONDS => OpeningCounts::default(),
            None => return None,
        };
        self.seconds.extend(self.open.replace((second, counts)));
        Some(())
    }

    /// Counts a SYN or SYN-ACK.
    pub fn syn(&mut self, packet: &Packet, repeated: bool) {
        let answer = packet.has(tcp_flags::ACK);
        if let Some(counts) = self.at(packet.time_ns) {
            counts.syn += u32::from(!answer);
            counts.syn_ack += u32::from(answer);
            counts.syn_retransmissions += u32::from(repeated);
        }
    }

    /// Counts a completed handshake.
    pub fn established(&mut self, packet: &Packet) {
        if let Some(counts) = self.at(packet.time_ns) {
            counts.established += 1;
        }
    }

    /// Counts a reset.
    pub fn reset(&mut self, packet: &Packet) {
        if let Some(counts) = self.at(packet.time_ns) {
            counts.reset += 1;
        }
    }

    /// Forgets the seconds before a time.
    pub fn forget(&mut self, before_ns: i64) {
        self.seconds = self.seconds.split_off(&before_ns.div_euclid(1_000_000_000));
    }

    /// Adds another series.
    pub fn merge(&mut self, other: Self) {
        for (second, counts) in other.iter() {
            if let Some(sum) = self.at(second.saturating_mul(1_000_000_000)) {
                sum.syn += counts.syn;
                sum.syn_ack += counts.syn_ack;
                sum.syn_retransmissions += counts.syn_retransmissions;
                sum.established += counts.established;
                sum.reset += counts.reset;
            }
        }
    }

    /// Seconds with their counts, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (i64, OpeningCounts)> + '_ {
        let after = self.open.map_or(i64::MAX, |(second, _)| second);
        let closed = |(&second, &counts): (&i64, &OpeningCounts)| (second, counts);
        let (before, behind) = (self.seconds.range(..after), self.seconds.range(after..));
        before.map(closed).chain(self.open).chain(behind.map(closed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_adds_the_same_second() {
        let packet = Packet { time_ns: 5_500_000_000, flags: tcp_flags::SYN, ..Packet::default() };
        let (mut one, mut other) = (OpeningSeries::default(), OpeningSeries::default());
        one.syn(&packet, false);
        other.syn(&packet, true);
        one.merge(other);
        let counts = OpeningCounts { syn: 2, syn_retransmissions: 1, ..OpeningCounts::default() };
        assert_eq!(one.iter().collect::<Vec<_>>(), [(5, counts)]);
    }
}
