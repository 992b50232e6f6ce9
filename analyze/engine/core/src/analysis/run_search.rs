//! Where in a file another capture begins, though it overlaps the one before it in time. Record headers alone are walked over for
//! that; around a step back in time packets are decoded, to tell a clock that was set from another capture.
//!
//! Rule: docs/methods.md, "Captures appended in one file".

use std::collections::VecDeque;
use std::io::BufReader;

use crate::analysis::options::Observer;
use crate::analysis::set_back::{
    FEWEST_SHOWING, LONGEST_DISORDER_NS, LOOKED_FAR_AHEAD, LastPackets, MOST_FAR_STEPS, OrderShown, order_shown,
};
use crate::read::chunk_source::Input;
use crate::read::file_source::{FileSource, InputPart};
use crate::read::record::{Chunk, Record};
use crate::read::reopen::Reopen;

/// Captures that are read beside each other: each has a file open, and a chunk in memory.
pub(super) const MOST_RUNS: usize = 64;

/// A capture within an input.
pub(super) struct AppendedCapture {
    /// Stretches before it that declare what its records are.
    pub(super) heads: Vec<InputPart>,
    pub(super) part: InputPart,
}

/// A sample is looked at in so many bytes of a file, ...
const SAMPLE_EVERY_BYTES: u64 = 1 << 20;

/// ... of at most so many samples, ...
const MOST_SAMPLES: u64 = 32;

/// ... each so long that some records follow each other in it.
const SAMPLE_BYTES: u64 = 32 << 10;

/// Bytes of a chunk in a search: the place of a step is looked for within one.
const SEARCH_BYTES: usize = 64 << 10;

/// Little enough to end before the next record.
const STEP_BYTES: usize = 16;

/// Records before a step that show what it is, and their bytes with those behind it.
const RECORDS_BEFORE: usize = 2048;
const BYTES_AROUND: usize = 8 << 20;

/// Places that declare interfaces.
const MOST_HEADS: usize = 64;

/// The observer is asked once in so many chunks.
const CHUNKS_BETWEEN_REPORTS: u64 = 64;

/// Samples of the file go back in time.
pub(super) fn is_likely(again: &dyn Reopen, input: usize) -> bool {
    let length = again.length_bytes(input).unwrap_or(0);
    let samples = (length / SAMPLE_EVERY_BYTES).min(MOST_SAMPLES);
    if samples < 2 {
        return false;
    }
    let offsets = (0..=samples).map(|number| length / (samples + 1) * number);
    let parts: Vec<InputPart> = offsets.map(|offset| InputPart { offset, length: SAMPLE_BYTES, frame: 1 }).collect();
    let Some(reader) = parts_of(again, input, &parts) else { return false };
    let mut source = FileSource::of_parts(reader, 0, &parts);
    let (mut chunk, mut newest_ns) = (Chunk::default(), i64::MIN + LONGEST_DISORDER_NS);
    while source.next_chunk_of(&mut chunk, SAMPLE_BYTES as usize).unwrap_or(false) {
        for record in chunk.records.iter().filter(|record| record.time_ns != Record::NO_TIME) {
            if record.time_ns < newest_ns - LONGEST_DISORDER_NS {
                return true;
            }
            newest_ns = newest_ns.max(record.time_ns);
        }
    }
    false
}

/// Reads these parts of an input one behind the other; none if it cannot be read in parts.
pub(super) fn parts_of(again: &dyn Reopen, input: usize, parts: &[InputPart]) -> Option<Input> {
    let ranges: Vec<(u64, u64)> = parts.iter().map(|part| (part.offset, part.length)).collect();
    again.ranges(input, &ranges)
}

/// The captures in an input, each in order of its times; none if it is one, or cannot be taken apart.
pub(super) fn search(again: &dyn Reopen, input: usize, observer: &dyn Observer) -> Option<Vec<AppendedCapture>> {
    let length = again.length_bytes(input)?;
    let whole = InputPart { offset: 0, length, frame: 1 };
    let source = FileSource::new(parts_of(again, input, &[whole])?, 0);
    let mut search = Search {
        again,
        input,
        source,
        chunks: VecDeque::new(),
        at: 0,
        heads: Vec::new(),
        starts: vec![(0, whole)],
        latest_ns: Vec::new(),
        newest_ns: None,
        steps: 0,
    };
    let mut chunks = 0u64;
    while search.advance() {
        chunks += 1;
        if chunks.is_multiple_of(CHUNKS_BETWEEN_REPORTS) && observer.progress(0) || search.is_packed() {
            return None;
        }
        search.look_for_steps()?;
    }
    search.into_runs(length)
}

/// A chunk and where it lies.
struct PlacedChunk {
    chunk: Chunk,
    part: InputPart,
}

struct Search<'a> {
    again: &'a dyn Reopen,
    input: usize,
    source: FileSource,
    /// Chunks around the one that is looked at, which is number `at` of them.
    chunks: VecDeque<PlacedChunk>,
    at: usize,
    /// Chunks that declare interfaces.
    heads: Vec<InputPart>,
    /// Where captures begin, and how many heads there are before.
    starts: Vec<(usize, InputPart)>,
    /// Latest time by interface since the last step.
    latest_ns: Vec<Option<i64>>,
    newest_ns: Option<i64>,
    steps: usize,
}

impl Search<'_> {
    fn is_packed(&self) -> bool {
        self.source.facts().compression.is_some()
    }

    /// Goes to the next chunk; false at the end.
    fn advance(&mut self) -> bool {
        let is_first = self.chunks.is_empty();
        self.at += usize::from(!is_first);
        (self.at < self.chunks.len() || self.read()) && {
            self.forget_old_ones();
            true
        }
    }

    fn read(&mut self) -> bool {
        let frame = self.chunks.back().map_or(1, |last| behind(&last.chunk, last.part.frame));
        let is_old = |placed: &PlacedChunk| placed.chunk.records.is_empty();
        let mut chunk = match self.chunks.front() {
            Some(first) if is_old(first) && self.at > 0 => {
                self.at -= 1;
                self.chunks.pop_front().map(|placed| placed.chunk).unwrap_or_default()
            }
            _ => Chunk::default(),
        };
        let is_first = self.chunks.is_empty() && frame == 1;
        if !self.source.next_chunk_of(&mut chunk, SEARCH_BYTES).unwrap_or(false) {
            return false;
        }
        // The file header belongs to the first chunk.
        let offset = if is_first { 0 } else { chunk.stretch.map_or(0, |stretch| stretch.offset) };
        let part = InputPart { offset, length: self.source.offset().saturating_sub(offset), frame };
        if is_first || chunk.stretch.is_some_and(|stretch| stretch.has_headers) {
            self.heads.push(part);
        }
        self.chunks.push_back(PlacedChunk { chunk, part });
        true
    }

    /// Chunks that are too far before the one that is looked at are emptied, but for the last of them used again.
    fn forget_old_ones(&mut self) {
        let (mut records, mut bytes) = (0, 0);
        for placed in self.chunks.range_mut(..self.at).rev() {
            if records >= RECORDS_BEFORE || bytes >= BYTES_AROUND {
                placed.chunk.records.clear();
            }
            records += placed.chunk.records.len();
            bytes += placed.chunk.bytes.len();
        }
    }

    /// Looks through the chunk at hand; none if the file cannot be taken apart.
    fn look_for_steps(&mut self) -> Option<()> {
        let mut index = 0;
        while let Some(&record) = self.chunks.get(self.at).and_then(|placed| placed.chunk.records.get(index)) {
            index += 1;
            if record.time_ns == Record::NO_TIME {
                continue;
            }
            let interface = usize::from(record.interface);
            if self.latest_ns.len() <= interface {
                self.latest_ns.resize(interface + 1, None);
            }
            let last_ns = self.latest_ns[interface].or(self.newest_ns).unwrap_or(record.time_ns);
            if record.time_ns < last_ns.saturating_sub(LONGEST_DISORDER_NS) {
                self.step(&record, index - 1)?;
                self.latest_ns.fill(None);
                self.newest_ns = None;
            }
            self.latest_ns[interface] = self.latest_ns[interface].max(Some(record.time_ns));
            self.newest_ns = self.newest_ns.max(Some(record.time_ns));
        }
        Some(())
    }

    /// A step back in time to a record: where another capture begins there, that is noted.
    fn step(&mut self, record: &Record, index: usize) -> Option<()> {
        self.steps += 1;
        let (start, has_headers) = self.place(record)?;
        if self.shown(index).is_another_capture(has_headers) {
            let heads = self.heads.iter().take_while(|head| head.offset < start.offset).count();
            self.starts.push((heads, start));
        }
        let is_little =
            self.starts.len() <= MOST_RUNS && self.heads.len() <= MOST_HEADS && self.steps <= MOST_FAR_STEPS;
        is_little.then_some(())
    }

    /// Which order the packets before and behind the record at `index` of the chunk at hand show.
    fn shown(&mut self, index: usize) -> OrderShown {
        let around = |chunks: &VecDeque<PlacedChunk>, at: usize| {
            let behind = chunks.range(at..).map(|placed| &placed.chunk);
            behind.fold((0, 0), |(records, bytes), chunk| (records + chunk.records.len(), bytes + chunk.bytes.len()))
        };
        loop {
            let (records, bytes) = around(&self.chunks, self.at);
            if records >= index + LOOKED_FAR_AHEAD || bytes >= BYTES_AROUND || !self.read() {
                break;
            }
        }
        let newest_ns = self.newest_ns.unwrap_or(i64::MAX);
        let mut last = LastPackets::default();
        let mut all = self.chunks.iter().enumerate().flat_map(|(number, placed)| {
            let records = placed.chunk.records.iter().enumerate();
            records.map(move |(place, record)| ((number, place), record, placed.chunk.bytes.as_slice()))
        });
        let before = all.by_ref().take_while(|(place, ..)| *place < (self.at, index));
        before.for_each(|(_, record, bytes)| last.note(record, bytes));
        // The first behind the step was taken to see that.
        let first = self
            .chunks
            .get(self.at)
            .and_then(|placed| placed.chunk.records.get(index).map(|record| (record, placed.chunk.bytes.as_slice())));
        let behind = first.into_iter().chain(all.map(|(_, record, bytes)| (record, bytes)));
        let behind = behind.take(LOOKED_FAR_AHEAD).take_while(|(record, _)| record.time_ns < newest_ns);
        order_shown(FEWEST_SHOWING, &last, behind)
    }

    /// Where exactly the record begins, with what declares it; whether something does. None if that cannot be told.
    fn place(&self, record: &Record) -> Option<(InputPart, bool)> {
        let placed = self.chunks.get(self.at)?;
        let heads: Vec<InputPart> =
            self.heads.iter().take_while(|head| head.offset < placed.part.offset).copied().collect();
        let parts = [heads.as_slice(), &[placed.part]].concat();
        let reader = BufReader::new(parts_of(self.again, self.input, &parts)?);
        let mut source = FileSource::of_run(Box::new(reader), 0, &heads, placed.part);
        let (mut chunk, mut frame) = (Chunk::default(), placed.part.frame);
        while source.next_chunk_of(&mut chunk, STEP_BYTES).unwrap_or(false) {
            if chunk.records.iter().any(|one| one.frame == record.frame) {
                let stretch =
                    chunk.stretch.filter(|_| chunk.records.first().is_some_and(|one| one.frame == record.frame))?;
                return Some((InputPart { offset: stretch.offset, length: 0, frame }, stretch.has_headers));
            }
            frame = behind(&chunk, frame);
        }
        None
    }

    fn into_runs(self, length: u64) -> Option<Vec<AppendedCapture>> {
        if self.starts.len() < 2 {
            return None;
        }
        let ends = self.starts.iter().skip(1).map(|(_, next)| next.offset).chain([length]);
        let runs = self.starts.iter().zip(ends).map(|((heads, start), end)| {
            let heads = self
                .heads
                .iter()
                .take(*heads)
                .map(|head| InputPart { length: head.length.min(start.offset - head.offset), ..*head });
            AppendedCapture {
                heads: heads.collect(),
                part: InputPart { length: end.saturating_sub(start.offset), ..*start },
            }
        });
        Some(runs.collect())
    }
}

/// Number of the frame behind a chunk whose first frame, or one before it, is `frame`.
fn behind(chunk: &Chunk, frame: u32) -> u32 {
    chunk.records.last().map_or(frame, |last| last.frame.wrapping_add(1))
}
