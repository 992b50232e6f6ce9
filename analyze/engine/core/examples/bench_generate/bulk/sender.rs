//! The sending end of a bulk flow: scoreboard, congestion window, what to send next.

use std::collections::VecDeque;

/// Later deliveries after which an earlier transmission counts as lost (RFC 6675's DupThresh, by order of sending).
const REORDERING: u64 = 3;
const INITIAL_WINDOW: f64 = 10.0;
const LARGEST_WINDOW: f64 = 400.0;

/// One data segment as it leaves: always a full one.
#[derive(Clone, Copy)]
pub struct Transmission {
    /// First byte, counted after the SYN.
    pub start: u64,
    /// Sent before.
    pub again: bool,
}

/// A segment that is not cumulatively acknowledged yet.
struct Outstanding {
    /// When it was last sent, in the order of sending.
    order: u64,
    sacked: bool,
    lost: bool,
}

/// The state of a sender.
pub struct Sender {
    segment_bytes: u32,
    /// The next new byte.
    pub next: u64,
    first: u64,
    outstanding: VecDeque<Outstanding>,
    in_flight: u32,
    sacked: u32,
    lost: u32,
    order: u64,
    window: f64,
    threshold: f64,
    recovery_end: Option<u64>,
    /// ACKs that brought nothing new, one behind the other.
    duplicates: u32,
}

impl Sender {
    /// A sender of segments of that many bytes.
    pub fn new(segment_bytes: u32) -> Self {
        Self {
            segment_bytes,
            next: 0,
            first: 0,
            outstanding: VecDeque::new(),
            in_flight: 0,
            sacked: 0,
            lost: 0,
            order: 0,
            window: INITIAL_WINDOW,
            threshold: f64::MAX,
            recovery_end: None,
            duplicates: 0,
        }
    }

    /// True if the window has room and there is something to send; new data only if `more`.
    pub fn may_send(&self, more: bool) -> bool {
        // Each duplicate ACK says that one segment has left the path.
        let window = self.window.floor() + f64::from(self.duplicates);
        f64::from(self.in_flight) < window && (self.lost > 0 || more)
    }

    /// True if all that was sent is acknowledged.
    pub fn is_done(&self) -> bool {
        self.outstanding.is_empty()
    }

    /// Sends a lost segment again, or else the next new one.
    pub fn send(&mut self) -> Transmission {
        self.order += 1;
        self.in_flight += 1;
        if self.lost > 0
            && let Some(index) = self.outstanding.iter().position(|segment| segment.lost)
        {
            self.outstanding[index].lost = false;
            self.outstanding[index].order = self.order;
            self.lost -= 1;
            return Transmission { start: self.first + index as u64 * u64::from(self.segment_bytes), again: true };
        }
        let start = self.next;
        self.next += u64::from(self.segment_bytes);
        self.outstanding.push_back(Outstanding { order: self.order, sacked: false, lost: false });
        Transmission { start, again: false }
    }

    /// Takes an ACK in; true if it says anything new.
    pub fn acknowledge(&mut self, next: u64, sack: &[(u64, u64)], has_sack: bool) -> bool {
        let mut delivered = 0;
        let mut latest = 0;
        while self.first < next
            && let Some(segment) = self.outstanding.pop_front()
        {
            self.first += u64::from(self.segment_bytes);
            delivered += 1;
            latest = latest.max(segment.order);
            self.sacked -= u32::from(segment.sacked);
            self.lost -= u32::from(segment.lost);
            self.in_flight -= u32::from(!segment.sacked && !segment.lost);
        }
        let advanced = delivered > 0;
        for &(start, end) in sack.iter().filter(|(start, end)| start < end) {
            latest = latest.max(self.mark_sacked(start, end, &mut delivered));
        }
        if self.sacked > 0 {
            self.mark_lost(latest);
        }
        if self.recovery_end.is_some_and(|end| self.first >= end) {
            (self.recovery_end, self.duplicates) = (None, 0);
        }
        if !has_sack {
            self.count_duplicates(advanced);
        }
        if advanced && self.recovery_end.is_none() {
            self.grow(delivered);
        }
        delivered > 0
    }

    /// Nothing moves: all that is not known to have arrived goes again, from one segment on.
    pub fn time_out(&mut self) {
        if self.outstanding.is_empty() {
            return;
        }
        for segment in self.outstanding.iter_mut().filter(|segment| !segment.sacked) {
            segment.lost = true;
        }
        self.lost = self.outstanding.len() as u32 - self.sacked;
        self.in_flight = 0;
        self.threshold = (self.window / 2.0).max(2.0);
        self.window = 1.0;
        (self.recovery_end, self.duplicates) = (None, 0);
    }

    fn mark_sacked(&mut self, start: u64, end: u64, delivered: &mut u32) -> u64 {
        let index = |position: u64| (position.saturating_sub(self.first) / u64::from(self.segment_bytes)) as usize;
        let range = index(start)..index(end).min(self.outstanding.len());
        let mut latest = 0;
        for segment in self.outstanding.range_mut(range).filter(|segment| !segment.sacked) {
            self.in_flight -= u32::from(!segment.lost);
            self.lost -= u32::from(segment.lost);
            (segment.sacked, segment.lost) = (true, false);
            self.sacked += 1;
            *delivered += 1;
            latest = latest.max(segment.order);
        }
        latest
    }

    /// NewReno (RFC 6582): the third duplicate, and each partial ACK of a recovery, say that the first segment is lost.
    fn count_duplicates(&mut self, advanced: bool) {
        match (self.recovery_end.is_some(), advanced) {
            (true, true) => self.lose(|index, _| index == 0),
            (false, true) => self.duplicates = 0,
            (_, false) => {
                self.duplicates += u32::from(!self.outstanding.is_empty());
                if self.duplicates == 3 && self.recovery_end.is_none() {
                    self.lose(|index, _| index == 0);
                }
            }
        }
    }

    fn mark_lost(&mut self, latest: u64) {
        self.lose(|_, segment| segment.order + REORDERING <= latest);
    }

    fn lose(&mut self, is_lost: impl Fn(usize, &Outstanding) -> bool) {
        let mut found = 0;
        for (index, segment) in self.outstanding.iter_mut().enumerate() {
            if !segment.sacked && !segment.lost && is_lost(index, segment) {
                segment.lost = true;
                found += 1;
            }
        }
        self.lost += found;
        self.in_flight -= found;
        if found > 0 && self.recovery_end.is_none() {
            self.recovery_end = Some(self.next);
            self.threshold = (self.window / 2.0).max(2.0);
            self.window = self.threshold;
        }
    }

    fn grow(&mut self, delivered: u32) {
        let step = if self.window < self.threshold { 1.0 } else { 1.0 / self.window };
        self.window = (self.window + step * f64::from(delivered)).min(LARGEST_WINDOW);
    }
}
