//! SYNs without a reply, summed up by source and by server: in a flood or a scan they are too many for a connection each.
//!
//! See docs/performance.md, "Memory".

use std::cmp::Reverse;
use std::hash::Hash;

use crate::keyed::KeyedMap;
use crate::tcp::connection::connection::Connection;
use crate::tcp::requests::servers::ServerKey;
use crate::tcp::summary::summary::ConnectionSummary;

/// Sources, and servers, that are known by themselves: those of the most attempts. Up to twice as many are counted.
const MOST_KNOWN: usize = 8192;

/// Address (16 bytes, of IPv4 the first four) and version.
pub type SourceKey = ([u8; 16], u8);

/// An attempt to open a connection, of SYNs alone.
#[derive(Debug, Clone, Copy)]
pub struct Attempt {
    source: SourceKey,
    server: ServerKey,
    sum: Sum,
}

/// Attempts together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sum {
    /// How many.
    pub attempts: u64,
    /// Their SYNs.
    pub syns: u64,
    /// When the first and the last of these passed.
    pub between_ns: [i64; 2],
}

impl Sum {
    fn add(&mut self, other: &Self) {
        if self.attempts == 0 {
            self.between_ns = other.between_ns;
        } else if other.attempts > 0 {
            let ([first, last], [from, to]) = (self.between_ns, other.between_ns);
            self.between_ns = [first.min(from), last.max(to)];
        }
        self.attempts += other.attempts;
        self.syns += other.syns;
    }
}

impl Attempt {
    /// Of a connection that is SYNs alone.
    pub(super) fn of_connection(connection: &Connection) -> Self {
        let identity = &connection.identity;
        let syns = u64::from(connection.terms.handshake.syn.count);
        let between_ns = [connection.times.start_ns, connection.times.end_ns];
        Self::of(&identity.addresses, identity.ip_version, identity.ports[1], Sum { attempts: 1, syns, between_ns })
    }

    /// Of one that is over; none if it is more than SYNs.
    pub fn of_summary(summary: &ConnectionSummary) -> Option<Self> {
        let [client, server] = &summary.directions;
        let syns = summary.opening_repeats()[0].map_or(0, |repeats| repeats + 1);
        let is_alone = syns > 0 && client.packets == syns && server.packets == 0 && summary.icmp_errors().is_none();
        let between_ns = [summary.start_ns, summary.end_ns];
        is_alone.then(|| {
            Self::of(&summary.addresses, summary.ip_version, summary.ports[1], Sum { attempts: 1, syns, between_ns })
        })
    }

    fn of(addresses: &[u8; 32], ip_version: u8, port: u16, sum: Sum) -> Self {
        let bytes = if ip_version == 4 { 4 } else { 16 };
        let [mut source, mut server] = [[0; 16]; 2];
        source[..bytes].copy_from_slice(&addresses[..bytes]);
        server[..bytes].copy_from_slice(&addresses[bytes..2 * bytes]);
        Self { source: (source, ip_version), server: (server, ip_version, port), sum }
    }
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Unanswered {
    /// All of them.
    pub all: Sum,
    /// By where they came from.
    pub sources: Sums<SourceKey>,
    /// By where they went.
    pub servers: Sums<ServerKey>,
}

impl Unanswered {
    /// None was summed up.
    pub fn is_empty(&self) -> bool {
        self.all.attempts == 0
    }

    /// Adds one.
    pub fn add(&mut self, attempt: &Attempt) {
        self.all.add(&attempt.sum);
        self.sources.add(attempt.source, &attempt.sum);
        self.servers.add(attempt.server, &attempt.sum);
    }

    /// Adds others.
    pub fn merge(&mut self, other: Self) {
        self.all.add(&other.all);
        self.sources.merge(other.sources);
        self.servers.merge(other.servers);
    }
}

/// Sums by key, of a bounded number of keys.
#[derive(Debug, Clone)]
pub struct Sums<K> {
    known: KeyedMap<K, Sum>,
    /// Of those that had few when there was no room for more.
    rest: Sum,
}

impl<K> Default for Sums<K> {
    fn default() -> Self {
        Self { known: KeyedMap::default(), rest: Sum::default() }
    }
}

impl<K: Copy + Ord + Hash> Sums<K> {
    /// The `most` of most attempts, and all others together.
    pub fn largest(&self, most: usize) -> (Vec<(K, Sum)>, Sum) {
        let mut all = self.by_attempts();
        let others = all.split_off(most.min(all.len()));
        let mut rest = self.rest;
        others.iter().for_each(|(_, sum)| rest.add(sum));
        (all, rest)
    }

    fn by_attempts(&self) -> Vec<(K, Sum)> {
        let mut all: Vec<(K, Sum)> = self.known.iter().map(|(key, sum)| (*key, *sum)).collect();
        all.sort_unstable_by_key(|(key, sum)| (Reverse(sum.attempts), *key));
        all
    }

    fn add(&mut self, key: K, sum: &Sum) {
        self.known.entry(key).or_default().add(sum);
        if self.known.len() >= 2 * MOST_KNOWN {
            let (known, rest) = self.largest(MOST_KNOWN);
            self.known = known.into_iter().collect();
            self.rest = rest;
        }
    }

    fn merge(&mut self, other: Self) {
        self.rest.add(&other.rest);
        other.by_attempts().iter().for_each(|(key, sum)| self.add(*key, sum));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(source: u32, port: u16, at_ns: i64) -> Attempt {
        let mut addresses = [0; 32];
        addresses[..4].copy_from_slice(&source.to_be_bytes());
        addresses[4..8].copy_from_slice(&[198, 18, 0, 1]);
        Attempt::of(&addresses, 4, port, Sum { attempts: 1, syns: 2, between_ns: [at_ns, at_ns + 5] })
    }

    #[test]
    fn all_are_counted_and_few_keys_are_kept() {
        let mut sums = [Unanswered::default(), Unanswered::default()];
        for number in 0..100_000u32 {
            let source = if number.is_multiple_of(4) { 7 } else { 1000 + number };
            sums[usize::from(number.is_multiple_of(3))].add(&attempt(source, 443, i64::from(number)));
        }
        let [mut one, other] = sums;
        one.merge(other);
        assert!(one.sources.known.len() < 2 * MOST_KNOWN);
        assert_eq!(one.all, Sum { attempts: 100_000, syns: 200_000, between_ns: [0, 100_004] });
        let (listed, rest) = one.sources.largest(3);
        assert_eq!((listed[0].0.0[..4].to_vec(), listed[0].1.attempts), (7u32.to_be_bytes().to_vec(), 25_000));
        assert_eq!(listed.iter().map(|(_, sum)| sum.attempts).sum::<u64>() + rest.attempts, 100_000);
        let (servers, rest) = one.servers.largest(3);
        assert_eq!((servers.len(), servers[0].0.2, servers[0].1, rest), (1, 443, one.all, Sum::default()));
    }
}
