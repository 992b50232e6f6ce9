//! The receiving end of a bulk flow: what it has, and what it says about it.

/// 3 MiB at scale 7. Linux never takes back what it offered, so data beyond a hole does not change the field.
const WINDOW: u16 = 24_576;

/// What an ACK says. Positions are bytes after the SYN.
#[derive(Clone, Copy)]
pub struct Acknowledgement {
    /// The next byte that is wanted.
    pub next: u64,
    /// What has arrived beyond it, the latest first; unused blocks are empty.
    pub sack: [(u64, u64); 3],
    /// Timestamp value and echo reply.
    pub timestamps: (u32, u32),
    /// Window field, scaled.
    pub window: u16,
}

/// The state of a receiver.
#[derive(Default)]
pub struct Receiver {
    segment_bytes: u32,
    next: u64,
    /// Ranges beyond a hole, the one that changed last first.
    beyond: Vec<(u64, u64)>,
    unacknowledged: u32,
    last_acknowledged: u64,
    /// The timestamp to echo (RFC 7323 section 4.3).
    pub recent_tsval: u32,
}

impl Receiver {
    /// A receiver of segments of that many bytes.
    pub fn new(segment_bytes: u32) -> Self {
        Self { segment_bytes, ..Self::default() }
    }

    /// Takes a full segment that starts at `start`; gives the ACK that goes out at once, if one does.
    pub fn receive(&mut self, start: u64, tsval: u32, own_tsval: u32) -> Option<Acknowledgement> {
        let end = start + u64::from(self.segment_bytes);
        if start <= self.last_acknowledged {
            self.recent_tsval = tsval;
        }
        let at_once = !self.beyond.is_empty() || start != self.next;
        if start == self.next {
            self.next = end;
            self.close_holes();
        } else if start > self.next {
            self.insert(start, end);
        }
        self.unacknowledged += 1;
        if self.unacknowledged < 2 && !at_once {
            return None;
        }
        self.unacknowledged = 0;
        self.last_acknowledged = self.next;
        let mut sack = [(0, 0); 3];
        sack.iter_mut().zip(&self.beyond).for_each(|(block, range)| *block = *range);
        Some(Acknowledgement { next: self.next, sack, timestamps: (own_tsval, self.recent_tsval), window: WINDOW })
    }

    fn insert(&mut self, mut start: u64, mut end: u64) {
        self.beyond.retain(|&(s, e)| {
            let touches = s <= end && start <= e;
            if touches {
                (start, end) = (start.min(s), end.max(e));
            }
            !touches
        });
        self.beyond.insert(0, (start, end));
    }

    fn close_holes(&mut self) {
        while let Some(index) = self.beyond.iter().position(|&(start, _)| start <= self.next) {
            self.next = self.next.max(self.beyond.remove(index).1);
        }
    }
}
