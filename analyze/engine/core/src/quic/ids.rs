//! Connection ids (RFC 9000 section 5.1): those that an end chose for itself, and how often its peer changed between them.

use std::collections::VecDeque;

/// Ids of an end that are remembered, the newest ones.
const MAX_IDS: usize = 16;

/// A random id this long is no known one by chance.
const LEAST_RANDOM_BYTES: usize = 4;

/// The shortest stateless reset (RFC 9000 section 10.3).
const LEAST_RESET_BYTES: usize = 21;

/// The ids that packets to one end carry.
#[derive(Debug, Clone, Default)]
pub(super) struct Ids {
    /// Length that the end's ids have; none as long as no long header said it.
    bytes: Option<usize>,
    known: VecDeque<Box<[u8]>>,
    current: Option<Box<[u8]>>,
    /// Ids that were in use.
    pub(super) used: u64,
    /// When the last packets with short headers came, all of them to ids that nobody knows.
    pub(super) strange_since_ns: Option<i64>,
}

impl Ids {
    /// The end calls itself so in a long header.
    pub(super) fn chosen(&mut self, id: &[u8]) {
        self.bytes = Some(id.len());
        self.announced(id);
    }

    /// The end may be called so.
    pub(super) fn announced(&mut self, id: &[u8]) {
        if !id.is_empty() && !self.known.iter().any(|known| **known == *id) {
            self.known.push_back(id.into());
            if self.known.len() > MAX_IDS {
                self.known.pop_front();
            }
        }
    }

    /// Length of the ids; none if unknown.
    pub(super) fn bytes(&self) -> Option<usize> {
        self.bytes
    }

    /// Ids that are known.
    pub(super) fn known(&self) -> impl Iterator<Item = &[u8]> {
        self.known.iter().map(|id| &**id)
    }

    /// A packet with a short header to this end.
    pub(super) fn short_packet(&mut self, packet: &[u8], time_ns: i64) {
        let Some(id) = self.bytes.filter(|&bytes| bytes > 0).and_then(|bytes| packet.get(1..=bytes)) else { return };
        if self.current.as_deref() == Some(id) {
            self.strange_since_ns = None;
            return;
        }
        let is_known = self.known.iter().any(|known| **known == *id);
        if !is_known && id.len() >= LEAST_RANDOM_BYTES && packet.len() >= LEAST_RESET_BYTES {
            self.strange_since_ns.get_or_insert(time_ns);
        } else {
            self.strange_since_ns = None;
        }
        self.announced(id);
        self.current = Some(id.into());
        self.used += 1;
    }
}
