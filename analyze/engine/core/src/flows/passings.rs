//! Each datagram for itself, for who compares two captures: when it passed, in which flow, and a digest of what it holds.
//!
//! A datagram is known by its length and the beginning of its payload, since the path changes neither. Both captures must
//! hold as much of it: [`Passings::least_captured`] says how much that is.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Datagrams that are kept of a capture.
const MOST_KEPT: usize = 1 << 22;

/// One datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passing {
    /// When it passed, Unix nanoseconds.
    pub time_ns: i64,
    /// Of its length and its payload.
    pub digest: u64,
    /// Place of its flow.
    pub flow: u32,
    /// The side of the flow that sent it.
    pub side: u8,
}

/// See the module.
#[derive(Debug, Clone)]
pub struct Passings {
    list: Vec<Passing>,
    most_bytes: u32,
    least_captured: Option<u32>,
    not_kept: u64,
}

impl Passings {
    /// Datagrams are known by so many bytes of their payload.
    pub fn new(most_bytes: u32) -> Self {
        Self { list: Vec::new(), most_bytes, least_captured: None, not_kept: 0 }
    }

    pub(super) fn take(&mut self, (flow, side): (u32, usize), time_ns: i64, captured: &[u8], length: u32) {
        if self.list.len() >= MOST_KEPT {
            self.not_kept += 1;
            return;
        }
        let wanted = length.min(self.most_bytes) as usize;
        let known = captured.get(..wanted).unwrap_or(captured);
        if known.len() < wanted {
            let bytes = known.len() as u32;
            self.least_captured = Some(self.least_captured.map_or(bytes, |least| least.min(bytes)));
        }
        let mut hasher = DefaultHasher::new();
        (length, known).hash(&mut hasher);
        self.list.push(Passing { time_ns, digest: hasher.finish(), flow, side: side as u8 });
    }

    /// In the order in which they passed.
    pub fn list(&self) -> &[Passing] {
        &self.list
    }

    /// Bytes of the payload that the shortest capture of a datagram holds; none if all hold what is wanted.
    pub fn least_captured(&self) -> Option<u32> {
        self.least_captured
    }

    /// Datagrams beyond those kept.
    pub fn not_kept(&self) -> u64 {
        self.not_kept
    }

    /// Adds those of inputs that were analysed apart, whose flows stand behind `flows` others.
    pub(super) fn append(&mut self, next: Self, flows: usize) {
        let room = MOST_KEPT - self.list.len().min(MOST_KEPT);
        self.not_kept += next.not_kept + next.list.len().saturating_sub(room) as u64;
        self.least_captured = [self.least_captured, next.least_captured].into_iter().flatten().min();
        let moved = |one: Passing| Passing { flow: one.flow.saturating_add(flows as u32), ..one };
        self.list.extend(next.list.into_iter().take(room).map(moved));
    }
}
