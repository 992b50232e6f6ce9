//! Several inputs as one, in time order. Owns the order; each input is read by its own `FileSource`.
//!
//! Inputs wait until the time of their first record. While only one runs and its chunks end before the next one starts
//! (files of a rotation), chunks are handed on as they are. Where inputs overlap, records are copied in the order of
//! their times; the order within an input is always kept, even where its times step back.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::read::chunk_source::{ChunkSource, Input};
use crate::read::file_source::{CHUNK_BYTES, FileSource};
use crate::read::input_facts::InputFacts;
use crate::read::read_error::ReadError;
use crate::read::record::{Chunk, Record};

/// Bytes read of an input to learn when it starts: small, for there may be thousands.
const FIRST_READ_BYTES: usize = 8 << 10;

/// Opens inputs as one capture: records carry the position of their input in `readers`, and come in time order.
///
/// Reading starts with the first chunk that is asked for. An input that cannot be read gives its error once from
/// `next_chunk`; to call on reads the others. Inputs beyond the 65,536th are not read.
pub fn open(mut readers: Vec<Input>) -> Box<dyn ChunkSource> {
    match (readers.len(), readers.pop()) {
        (1, Some(reader)) => Box::new(FileSource::new(reader, 0)),
        (_, last) => {
            readers.extend(last);
            Box::new(MergedSource::new(readers))
        }
    }
}

/// One input with the chunk it is in.
struct MergedInput {
    source: FileSource,
    chunk: Chunk,
    /// The next record of the chunk.
    next: usize,
    /// Latest time of the records handed on: an input's place in the order never steps back.
    reached_ns: i64,
}

impl MergedInput {
    /// Where the lane stands in the order.
    fn key_ns(&self) -> i64 {
        self.chunk.records.get(self.next).map_or(self.reached_ns, |record| record.time_ns.max(self.reached_ns))
    }

    /// The latest time in the chunk.
    fn last_ns(&self) -> i64 {
        let rest = self.chunk.records.get(self.next..).unwrap_or(&[]);
        rest.iter().map(|record| record.time_ns).fold(self.reached_ns, i64::max)
    }

    /// Reads the next chunk; `false` at the end.
    fn refill(&mut self, read_bytes: usize) -> Result<bool, ReadError> {
        self.next = 0;
        self.source.next_chunk_of(&mut self.chunk, read_bytes)
    }
}

/// A place in the order: time, then input.
type MergeOrder = (i64, usize);

/// Several inputs, merged in time order.
pub struct MergedSource {
    lanes: Vec<MergedInput>,
    started: bool,
    /// Lanes that have not begun, by the time of their first record.
    waiting: VecDeque<MergeOrder>,
    /// Lanes that have records at hand.
    running: BinaryHeap<Reverse<MergeOrder>>,
    /// Errors that have not been told.
    errors: VecDeque<ReadError>,
}

impl MergedSource {
    /// A source over several inputs, see [`open`].
    pub fn new(readers: Vec<Input>) -> Self {
        Self::of_sources(readers.into_iter().zip(0..=u16::MAX).map(|(reader, input)| FileSource::new(reader, input)))
    }

    /// The same over sources, of which several may be parts of one input.
    pub(crate) fn of_sources(sources: impl Iterator<Item = FileSource>) -> Self {
        let lane = |source| MergedInput { source, chunk: Chunk::default(), next: 0, reached_ns: i64::MIN };
        let lanes: Vec<MergedInput> = sources.map(lane).collect();
        let (waiting, running, errors) = (VecDeque::new(), BinaryHeap::new(), VecDeque::new());
        Self { lanes, started: false, waiting, running, errors }
    }

    /// Reads the start of every input.
    fn start(&mut self) {
        self.started = true;
        let mut turns = Vec::new();
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            match lane.refill(FIRST_READ_BYTES) {
                Ok(true) => turns.push((lane.key_ns(), index)),
                Ok(false) => {}
                Err(error) => self.errors.push_back(error),
            }
        }
        turns.sort_unstable();
        self.waiting = turns.into();
    }

    /// Takes the lane whose turn it is, with the turn of the next one.
    fn next_turn(&mut self) -> Option<(usize, Option<MergeOrder>)> {
        let waiting_first = match (self.running.peek(), self.waiting.front()) {
            (Some(Reverse(running)), Some(waiting)) => waiting < running,
            (None, Some(_)) => true,
            (_, None) => false,
        };
        let (_, index) = if waiting_first { self.waiting.pop_front()? } else { self.running.pop()?.0 };
        let other = self.running.peek().map(|Reverse(turn)| *turn);
        let until = other.into_iter().chain(self.waiting.front().copied()).min();
        Some((index, until))
    }

    /// Gives the lane its next turn, reading on if its chunk is used up.
    fn requeue(&mut self, index: usize) {
        let Some(lane) = self.lanes.get_mut(index) else {
            return;
        };
        let more = if lane.next < lane.chunk.records.len() { Ok(true) } else { lane.refill(CHUNK_BYTES) };
        match more {
            Ok(true) => self.running.push(Reverse((lane.key_ns(), index))),
            Ok(false) => lane.chunk = Chunk::default(),
            Err(error) => {
                lane.chunk = Chunk::default();
                self.errors.push_back(error);
            }
        }
    }

    /// Copies the lane's records up to the turn of the next lane, or until `out` is full.
    fn copy_run(lane: &mut MergedInput, index: usize, until: Option<MergeOrder>, out: &mut Chunk) {
        while let Some(record) = lane.chunk.records.get(lane.next) {
            let key = (record.time_ns.max(lane.reached_ns), index);
            if until.is_some_and(|until| key > until) || out.bytes.len() >= CHUNK_BYTES {
                break;
            }
            let start = record.offset as usize;
            let frame = lane.chunk.bytes.get(start..start + record.captured_length as usize).unwrap_or(&[]);
            out.records.push(Record { offset: out.bytes.len() as u32, ..*record });
            out.bytes.extend_from_slice(frame);
            lane.reached_ns = key.0;
            lane.next += 1;
        }
    }

    /// Fills `out`: with a lane's whole chunk if nothing else comes before its end, with copies otherwise.
    fn fill(&mut self, out: &mut Chunk) {
        while let Some((index, until)) = self.next_turn() {
            let Some(lane) = self.lanes.get_mut(index) else {
                return;
            };
            let whole_ns = (lane.next == 0).then(|| lane.last_ns());
            let whole_ns = whole_ns.filter(|last_ns| until.is_none_or(|until| (*last_ns, index) <= until));
            if let Some(last_ns) = whole_ns {
                if out.records.is_empty() {
                    std::mem::swap(out, &mut lane.chunk);
                    lane.chunk.records.clear();
                    lane.reached_ns = last_ns;
                    self.requeue(index);
                } else {
                    self.running.push(Reverse((lane.key_ns(), index)));
                }
                return;
            }
            if out.records.is_empty() {
                out.clear();
            }
            Self::copy_run(lane, index, until, out);
            self.requeue(index);
            if out.bytes.len() >= CHUNK_BYTES {
                return;
            }
        }
    }
}

impl ChunkSource for MergedSource {
    fn next_chunk(&mut self, chunk: &mut Chunk) -> Result<bool, ReadError> {
        chunk.records.clear();
        if !self.started {
            self.start();
        }
        if self.errors.is_empty() {
            self.fill(chunk);
        }
        if !chunk.records.is_empty() {
            return Ok(true);
        }
        chunk.clear();
        match self.errors.pop_front() {
            Some(error) => Err(error),
            None => Ok(false),
        }
    }

    fn inputs(&self) -> Vec<InputFacts> {
        let mut inputs: Vec<InputFacts> = Vec::new();
        for lane in &self.lanes {
            match inputs.get_mut(usize::from(lane.source.input())) {
                Some(facts) => facts.join(lane.source.facts()),
                None => inputs.push(lane.source.facts()),
            }
        }
        inputs
    }

    fn key_log_bytes(&self) -> usize {
        self.lanes.iter().map(|lane| lane.source.key_log_bytes()).sum()
    }

    fn consumed_bytes(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.source.consumed_bytes()).sum()
    }
}
