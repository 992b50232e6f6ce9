//! A sender that is modelled in the open: a window that follows a rule, a path with a round trip and a rate, acknowledgements for
//! every segment.

use std::collections::VecDeque;

use super::{CLIENT, FULL, SERVER, Segment, Talk, ack, data};
use vmtrace_core::tcp::events::factor::Factor;
use vmtrace_core::tcp::summary::summary::ConnectionSummary;

pub const SEGMENT: u32 = FULL;
/// The server's timestamp clock at 0 ms; it ticks once a millisecond.
const TICKS_AT_SERVER: u32 = 2_000_000;
/// The client's.
const TICKS_AT_CLIENT: u32 = 1_000_000;
/// The window scale of both sides is 7.
const WINDOW_UNIT: usize = 128;

/// A transfer of full segments from the client.
#[derive(Clone)]
pub struct Transfer {
    pub segments: usize,
    pub rtt_ms: f64,
    /// Time the path takes for a segment.
    pub serialization_ms: f64,
    /// After so many segments it takes another time.
    pub slower_ms: Option<(usize, f64)>,
    /// Data waits for so long behind other traffic, the handshake did not.
    pub behind_others_ms: f64,
    /// Acknowledgements wait for so long behind other traffic, by when they are sent; the handshake did not.
    pub acks_behind_others_ms: fn(f64) -> f64,
    /// Segments in flight allowed, after so many have been acknowledged.
    pub window: fn(usize) -> usize,
    /// The receiver's window in segments.
    pub advertised: usize,
    /// The application gives so many segments and a short one at a time, and so often.
    pub writes: Option<(usize, f64)>,
    /// What both sides take in a segment, options included. Full segments have no PSH where they are smaller.
    pub offered: u16,
    pub beside_sender: bool,
    /// The path's link is the first of it, and the capture right behind that: at the sender but for the link's queue.
    pub behind_link: bool,
    /// Away from the sender: time from data to its acknowledgement, as seen there.
    pub receiver_loop_ms: f64,
    pub timestamps: bool,
    /// The receiver's host stalled for so long before it answered the SYN.
    pub handshake_held_ms: f64,
    /// The sender's host stalls: when, and for how long.
    pub stalls_ms: &'static [(f64, f64)],
}

impl Default for Transfer {
    fn default() -> Self {
        Self {
            segments: 2000,
            rtt_ms: 20.0,
            serialization_ms: 0.01,
            slower_ms: None,
            behind_others_ms: 0.0,
            acks_behind_others_ms: |_| 0.0,
            window: |_| 20,
            advertised: 5000,
            writes: None,
            offered: SEGMENT as u16,
            beside_sender: true,
            behind_link: false,
            receiver_loop_ms: 0.05,
            timestamps: true,
            handshake_held_ms: 0.0,
            stalls_ms: &[],
        }
    }
}

impl Transfer {
    /// The capture of it.
    pub fn talk(&self) -> Talk {
        let mut lines: Vec<(f64, usize, Segment)> = Vec::new();
        let (mut sent, mut acknowledged, mut link_free_ms, mut now_ms) = (0usize, 0usize, 0.0f64, self.rtt_ms + 1.0);
        // When they are sent, and when they come.
        let mut answers: VecDeque<[f64; 2]> = VecDeque::new();
        // What the sender has heard last, as timestamps tell it: at first what opened the connection.
        let mut heard = Some(TICKS_AT_SERVER);
        while acknowledged < self.segments {
            let given = self.writes.map_or(self.segments, |(piece, every_ms)| {
                (piece * (1 + ((now_ms - self.rtt_ms - 1.0) / every_ms) as usize)).min(self.segments)
            });
            let limit = (self.window)(acknowledged).min(self.advertised);
            while sent < given && sent - acknowledged < limit {
                let slower_ms = self.slower_ms.filter(|(after, _)| sent >= *after).map(|(_, slower_ms)| slower_ms);
                let passes_ms = link_free_ms.max(now_ms) + slower_ms.unwrap_or(self.serialization_ms);
                link_free_ms = passes_ms;
                let arrives_ms = passes_ms + self.behind_others_ms;
                let length = match self.writes {
                    Some((piece, _)) if (sent + 1).is_multiple_of(piece) => SEGMENT / 2,
                    _ => SEGMENT,
                };
                let captured_ms = if self.beside_sender && !self.behind_link { now_ms } else { arrives_ms };
                let segment = data(self.position(sent), length);
                let is_pushed = u32::from(self.offered) == SEGMENT || length < SEGMENT;
                let segment = if is_pushed { segment } else { segment.without_push() };
                let stamped = Some(TICKS_AT_CLIENT + (self.handshake_held_ms + now_ms) as u32);
                lines.push((captured_ms, CLIENT, Segment { tsval: stamped, tsecr: heard, ..segment }));
                let answered_ms = arrives_ms + self.rtt_ms;
                answers.push_back([answered_ms, answered_ms + (self.acks_behind_others_ms)(answered_ms)]);
                sent += 1;
            }
            let written_ms = self
                .writes
                .filter(|_| sent == given && given < self.segments)
                .map(|(piece, every_ms)| self.rtt_ms + 1.0 + every_ms * (given / piece) as f64 + 1e-6);
            match (answers.front().copied(), written_ms) {
                (Some([sent_ms, answer_ms]), write) if write.is_none_or(|write| answer_ms <= write) => {
                    answers.pop_front();
                    acknowledged += 1;
                    now_ms = answer_ms;
                    let captured_ms =
                        if self.beside_sender { now_ms } else { sent_ms - self.rtt_ms + self.receiver_loop_ms };
                    let stamped_ms = if self.beside_sender { sent_ms } else { captured_ms };
                    let window = (self.advertised * SEGMENT as usize).div_ceil(WINDOW_UNIT) as u16;
                    let segment = ack(self.position(acknowledged)).window(window);
                    heard = Some(TICKS_AT_SERVER + (self.handshake_held_ms + stamped_ms) as u32);
                    lines.push((captured_ms, SERVER, Segment { tsval: heard, ..segment }));
                }
                (_, Some(write_ms)) => now_ms = write_ms,
                (answer, None) => assert!(answer.is_some(), "the model waits for something"),
            }
        }
        lines.sort_by(|one, other| one.0.total_cmp(&other.0));
        lines.iter_mut().for_each(|line| line.0 += self.handshake_held_ms);
        let receiver_loop_ms = if self.beside_sender { self.rtt_ms } else { self.receiver_loop_ms };
        let talk = if self.timestamps { Talk::new().with_timestamps() } else { Talk::new() };
        let answered_ms = self.handshake_held_ms + receiver_loop_ms;
        let open = talk.open_with_sizes(answered_ms, (self.rtt_ms - receiver_loop_ms).max(0.05), [self.offered; 2]);
        lines.into_iter().fold(open, |talk, (time_ms, side, mut segment)| {
            // What was under way when the host stopped had been stamped by then.
            let under_way_ms = if side == SERVER { self.rtt_ms } else { 0.0 };
            let late_ticks = self.late_ms(time_ms - under_way_ms) as u32;
            segment.tsval = segment.tsval.map(|tsval| tsval + late_ticks);
            talk.line(side, time_ms + self.late_ms(time_ms), segment)
        })
    }

    /// How much later than without stalls it is.
    fn late_ms(&self, time_ms: f64) -> f64 {
        self.stalls_ms.iter().filter(|(at_ms, _)| *at_ms < time_ms).map(|(_, for_ms)| for_ms).sum()
    }

    /// Stream position of a segment: those that end a write are half as long.
    fn position(&self, number: usize) -> i64 {
        let short = self.writes.map_or(0, |(piece, _)| number / piece);
        (number * SEGMENT as usize - short * SEGMENT as usize / 2) as i64
    }

    pub fn summary(&self) -> ConnectionSummary {
        self.talk().summary()
    }

    /// Share of the time that a factor took.
    pub fn share(&self, factor: Factor) -> f64 {
        let summary = self.summary();
        let list = summary.limits(CLIENT).map(|limits| limits.list()).unwrap_or_default();
        list.iter().find(|limit| limit.factor == factor).map_or(0.0, |limit| limit.fraction)
    }

    pub fn verdict(&self) -> (Factor, f64) {
        self.summary().verdict().map_or((Factor::Unknown, 0.0), |verdict| (verdict.factor, verdict.confidence))
    }
}

/// The same transfer at either end of the path.
pub fn at_both_ends(transfer: Transfer) -> [Transfer; 2] {
    [Transfer { beside_sender: true, ..transfer.clone() }, Transfer { beside_sender: false, ..transfer }]
}

pub fn window_limited() -> Transfer {
    Transfer { window: |_| 1000, advertised: 20, ..Transfer::default() }
}

pub fn send_buffer_limited() -> Transfer {
    Transfer { window: |_| 20, ..Transfer::default() }
}

pub fn path_limited() -> Transfer {
    Transfer { window: |acknowledged| 10 + acknowledged / 20, serialization_ms: 1.0, ..Transfer::default() }
}

pub fn growing_slowly() -> Transfer {
    // One more segment for each window acknowledged, far below what the path takes (2000 in a round trip).
    Transfer { window: |acknowledged| (100.0 + 2.0 * acknowledged as f64).sqrt() as usize, ..Transfer::default() }
}

pub fn over_in_slow_start() -> Transfer {
    Transfer { segments: 1200, window: |acknowledged| 10 + acknowledged, rtt_ms: 50.0, ..Transfer::default() }
}

pub fn written_in_pieces() -> Transfer {
    Transfer { segments: 600, window: |_| 60, writes: Some((6, 50.0)), ..Transfer::default() }
}
