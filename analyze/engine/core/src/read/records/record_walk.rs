//! The walk over fixed record headers: state, the chain of ordinary records, and what is done about a place where it breaks.
//! `judge` says what an unusual header can be, `search` finds the next good one.
//!
//! How it works: such a file is a chain in which each header tells where the next one is, with nothing to check it by.
//! [`RecordWalk::run`] hops along the chain and takes every header that looks ordinary; this loop is the serial part of
//! the whole engine, so it must stay tiny. A header that is odd in any way is looked at closer, with the help of the
//! next one. Where the chain is broken, `search` tries byte by byte for the next place where some ordinary records follow
//! each other. A false length shows only at the *next* header, so the search starts within the record before, if
//! that one's length is unusual, and that record is taken back if the chain resumes inside it.
//!
//! What to check when you change it: every decision may only depend on the file's bytes, not on the window (ask for
//! more bytes instead); the search must cost a bounded number of header checks per byte; after a search the walk must
//! stand further on than before it.

use crate::read::ledger::InputLedger;
use crate::read::record::Record;
use crate::read::records::layout::{Declared, Header, JUMP_S, Layout, MAX_PADDING_BYTES, USUAL_SNAP_BYTES, near};
use crate::read::walk::{BytesAtHand, CUT_SHORT, FAR_FROM_BOTH, MAX_FRAME_BYTES, Stop, Walk, Walked};

/// What is said of a file header where a record should be.
const ANOTHER_FILE: &str = "the header of another file, put behind this one";

/// The chain is broken: what is known of the place until it is found again.
pub(super) struct Lost {
    /// Start of the header that cannot be right.
    pub(super) bad_at: u64,
    /// Start of the record before, if its length may be what is wrong.
    pub(super) before: Option<u64>,
    pub(super) what: String,
}

/// Walks over the records of one file.
pub(super) struct RecordWalk<L> {
    pub(super) layout: L,
    pub(super) declared: Declared,
    pub(super) input: u16,
    pub(super) unit_ns: i64,
    /// Captured lengths up to this are ordinary; grows where the file proves its header wrong.
    pub(super) snap: u32,
    /// Captured lengths beyond this are impossible.
    pub(super) longest: u32,
    /// Number of the last frame.
    pub(super) frame: u32,
    /// Seconds of the last record.
    pub(super) last_s: Option<u32>,
    /// Seconds of the last record when the current walk began.
    pub(super) entry_s: Option<u32>,
    /// Number of the last frame that jumped in time, and the seconds before the jump.
    pub(super) jump: Option<(u32, u32)>,
    pub(super) lost: Option<Lost>,
    /// Number of the last frame that is certainly all there: the header of another file stands behind it.
    pub(super) sound: u32,
    /// Where the last record begins whose time was reported to be false.
    pub(super) timeless: Option<u64>,
}

/// What a closer look at a header gives.
pub(super) enum Closer {
    Fine,
    /// The record stands where it should, but its time is far from those of both its neighbours.
    Timeless,
    Short(usize),
    Bad(String),
}

impl<L: Layout> RecordWalk<L> {
    pub(super) fn new(layout: L, declared: Declared, input: u16) -> Self {
        let snap = declared.believable_snap();
        Self {
            layout,
            declared,
            input,
            unit_ns: declared.unit_ns(),
            snap,
            longest: snap.max(USUAL_SNAP_BYTES),
            frame: 0,
            last_s: None,
            entry_s: None,
            jump: None,
            lost: None,
            sound: 0,
            timeless: None,
        }
    }

    /// Hops along the chain from `at`, as far as it is sound.
    fn run(
        &mut self,
        window: BytesAtHand<'_>,
        mut at: usize,
        records: &mut Vec<Record>,
        ledger: &mut InputLedger,
    ) -> (usize, Stop) {
        let mut last_s = match (self.last_s, self.layout.header_at(window.bytes, at)) {
            (Some(last_s), _) => last_s,
            (None, Some(first)) => first.seconds,
            (None, None) => return (at, Stop::Short(L::HEADER_BYTES)),
        };
        let stop = loop {
            at = self.hop(window.bytes, at, &mut last_s, records);
            match self.step(window, at, &mut last_s, records, ledger) {
                Ok(behind) => at = behind,
                Err(stop) => break stop,
            }
        };
        if !records.is_empty() {
            self.last_s = Some(last_s);
        }
        (at, stop)
    }

    /// Takes what stopped a hop, if it is a record after all, or the header of another file: the position behind it.
    fn step(
        &mut self,
        window: BytesAtHand<'_>,
        at: usize,
        last_s: &mut u32,
        records: &mut Vec<Record>,
        ledger: &mut InputLedger,
    ) -> Result<usize, Stop> {
        let header = self.layout.header_at(window.bytes, at).ok_or(Stop::Short(L::HEADER_BYTES))?;
        let mut timeless = false;
        if !self.is_ordinary(&header, *last_s) {
            match self.look_closer(window, at, &header, *last_s) {
                Closer::Fine if near(header.seconds, *last_s, JUMP_S) => {}
                Closer::Fine => self.jump = Some((self.frame.wrapping_add(1), *last_s)),
                Closer::Timeless => timeless = true,
                Closer::Short(needed) => return Err(Stop::Short(needed)),
                Closer::Bad(what) => return self.pass_file_header(window, at, what, last_s, ledger),
            }
        }
        let end = at + header.record_bytes;
        if end > window.bytes.len() {
            return Err(Stop::Short(header.record_bytes));
        }
        self.frame = self.frame.wrapping_add(1);
        let original_length = header.original.max(header.captured);
        let record = Record { original_length, ..self.record(&header, at, self.frame) };
        if timeless {
            records.push(Record { time_ns: Record::NO_TIME, ..record });
            self.report_timeless(window.base + at as u64, ledger);
        } else {
            records.push(record);
            *last_s = header.seconds;
        }
        Ok(end)
    }

    /// What cannot be a record may be the header of another file.
    fn pass_file_header(
        &mut self,
        window: BytesAtHand<'_>,
        at: usize,
        what: String,
        last_s: &mut u32,
        ledger: &mut InputLedger,
    ) -> Result<usize, Stop> {
        match self.layout.file_header_at(window.bytes, at) {
            Err(needed) if !window.at_end => Err(Stop::Short(needed)),
            Ok(Some((declared, header_bytes))) => {
                ledger.damage(window.base + at as u64, header_bytes as u64, ANOTHER_FILE);
                let behind = at + header_bytes;
                *last_s = self.layout.header_at(window.bytes, behind).map_or(*last_s, |first| first.seconds);
                self.go_on_with(declared, *last_s, ledger);
                Ok(behind)
            }
            _ => Err(Stop::Bad(what)),
        }
    }

    /// A record in doubt is walked over twice, and reported once.
    fn report_timeless(&mut self, offset: u64, ledger: &mut InputLedger) {
        if self.timeless.is_none_or(|reported| reported < offset) {
            ledger.damage(offset, 0, FAR_FROM_BOTH);
            self.timeless = Some(offset);
        }
    }

    /// Records of another file follow.
    fn go_on_with(&mut self, declared: Declared, first_s: u32, ledger: &mut InputLedger) {
        declared.tell(ledger);
        (self.unit_ns, self.snap) = (declared.unit_ns(), declared.believable_snap());
        self.longest = self.snap.max(USUAL_SNAP_BYTES);
        (self.declared, self.last_s, self.jump, self.sound) = (declared, Some(first_s), None, self.frame);
    }

    /// Takes ordinary records from `at` on; returns where the first that is not, or is not all there, begins.
    // Apart from what is asked of the others, which would want the registers of this loop.
    #[inline(never)]
    fn hop(&mut self, bytes: &[u8], mut at: usize, last_s: &mut u32, records: &mut Vec<Record>) -> usize {
        let (mut seconds, mut frame) = (*last_s, self.frame);
        while let Some(header) = self.layout.header_at(bytes, at)
            && self.is_ordinary(&header, seconds)
            && header.record_bytes <= bytes.len() - at
        {
            frame = frame.wrapping_add(1);
            records.push(self.record(&header, at, frame));
            seconds = header.seconds;
            at += header.record_bytes;
        }
        (*last_s, self.frame) = (seconds, frame);
        at
    }

    /// Nothing about the header is odd; `last_s` are the seconds of the record before.
    #[inline(always)]
    fn is_ordinary(&self, header: &Header, last_s: u32) -> bool {
        header.captured.wrapping_sub(1) < self.snap
            && header.captured <= header.original
            && header.original <= MAX_FRAME_BYTES
            && header.fraction < self.declared.units_per_second
            && header.seconds.wrapping_sub(last_s).wrapping_add(JUMP_S) <= 2 * JUMP_S
            && L::padding(header) <= MAX_PADDING_BYTES
    }

    /// The record with a header that begins at `at`. A fraction of seconds or below zero is added as libpcap has it.
    #[inline(always)]
    fn record(&self, header: &Header, at: usize, frame: u32) -> Record {
        let Declared { link_type, fcs_length, .. } = self.declared;
        Record {
            time_ns: i64::from(header.seconds) * 1_000_000_000
                + i64::from(header.fraction.cast_signed()) * self.unit_ns,
            offset: (at + L::HEADER_BYTES) as u32,
            captured_length: header.captured,
            original_length: header.original,
            frame,
            link_type,
            input: self.input,
            interface: 0,
            fcs_length,
        }
    }

    /// Seconds around which the next record is expected: those of the last one, or, if that one alone jumped, those
    /// before it.
    pub(super) fn era_s(&self) -> Option<u32> {
        match self.jump {
            Some((frame, before_s)) if frame == self.frame => Some(before_s),
            _ => self.last_s,
        }
    }

    /// Start of the last record if its length is not what its frame or the snap length makes it: then it may be false.
    fn unusual_start(&self, records: &[Record]) -> Option<usize> {
        let last = records.last()?;
        let usual = last.captured_length == last.original_length.min(self.snap) || last.frame <= self.sound;
        (!usual).then_some((last.offset as usize).saturating_sub(L::HEADER_BYTES))
    }

    pub(super) fn take_back(&mut self, bytes: &[u8], records: &mut Vec<Record>) {
        if records.pop().is_some() {
            self.frame = self.frame.wrapping_sub(1);
            let timed = records.iter().rev().find(|record| record.time_ns != Record::NO_TIME);
            let header = timed.and_then(|record| {
                self.layout.header_at(bytes, (record.offset as usize).saturating_sub(L::HEADER_BYTES))
            });
            self.last_s = header.map(|header| header.seconds).or(self.entry_s);
        }
    }

    /// The window ends within a record. A last record in doubt is left for the next window, which shows what follows.
    fn pause(&mut self, bytes: &[u8], at: usize, needed: usize, records: &mut Vec<Record>) -> Walked {
        match self.unusual_start(records) {
            Some(start) => {
                self.take_back(bytes, records);
                Walked { consumed: start, needed: at - start + needed }
            }
            None => Walked { consumed: at, needed },
        }
    }

    /// Notes where and why the chain is broken; the position to search from.
    fn lose(&mut self, window: BytesAtHand<'_>, at: usize, what: String, records: &[Record]) -> usize {
        let before = self.unusual_start(records);
        self.lost = Some(Lost {
            bad_at: window.base + at as u64,
            before: before.map(|start| window.base + start as u64),
            what,
        });
        before.unwrap_or(at) + 1
    }
}

impl<L: Layout> Walk for RecordWalk<L> {
    fn jump(&mut self, frame: u32) {
        (self.frame, self.last_s, self.jump, self.lost) = (frame.wrapping_sub(1), None, None, None);
    }

    fn walk(&mut self, window: BytesAtHand<'_>, records: &mut Vec<Record>, ledger: &mut InputLedger) -> Walked {
        let length = window.bytes.len();
        let mut at = 0;
        self.entry_s = self.last_s;
        loop {
            at = match self.recover(window, at, records, ledger) {
                Ok(at) => at,
                Err(pause) => return pause,
            };
            let (stopped, stop) = self.run(window, at, records, ledger);
            at = match stop {
                Stop::Short(needed) if !window.at_end => {
                    return self.pause(window.bytes, stopped, needed, records);
                }
                Stop::Short(_) if stopped == length => {
                    return Walked { consumed: length, needed: 0 };
                }
                Stop::Short(_) => self.lose(window, stopped, CUT_SHORT.to_owned(), records),
                Stop::Bad(what) => self.lose(window, stopped, what, records),
            };
        }
    }
}
