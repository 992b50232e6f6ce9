//! Chunks that wait, given out in the order of their records' times. Owns the order; [`crate::analysis::time_order`] says what
//! may go on.
//!
//! A chunk whose times rise and that nothing else comes between goes on as it is; others are copied record by record.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::read::chunk_source::ChunkSource;
use crate::read::file_source::CHUNK_BYTES;
use crate::read::input_facts::InputFacts;
use crate::read::read_error::ReadError;
use crate::read::record::{Chunk, Record};

/// Where a record stands: how often the clock was set before, then its time.
pub(super) type RecordKey = (u32, i64);

/// No key is later.
pub(super) const LAST: RecordKey = (u32::MAX, i64::MAX);

/// A sort costs about as much as so many steps of each record.
const STEPS_OF_A_RECORD: usize = 16;

/// By so much the last frame makes a chunk longer than the rest, or seldom by more.
const MOST_BEYOND: usize = 64 << 10;

/// A place in the order; of equal keys the chunk that was read first comes first.
type ChunkOrder = (RecordKey, u64);

/// A chunk and how far it has been given out.
#[derive(Clone)]
struct HeldChunk {
    chunk: Chunk,
    /// Where its records stand, with their indices; empty where that is the order of the records.
    order: Vec<(RecordKey, u32)>,
    next: usize,
    last: RecordKey,
    /// Of records that have no key of their own.
    epoch: u32,
}

impl HeldChunk {
    /// The key of the record that stands `place`-th in the order, and its index.
    fn at(&self, place: usize) -> Option<(RecordKey, usize)> {
        match self.order.get(place) {
            Some(&(key, index)) => Some((key, index as usize)),
            None if self.order.is_empty() => {
                self.chunk.records.get(place).map(|record| ((self.epoch, record.time_ns), place))
            }
            None => None,
        }
    }

    fn bytes(&self) -> usize {
        self.chunk.bytes.len() + self.chunk.records.len() * size_of::<Record>()
    }
}

/// See the module.
#[derive(Clone, Default)]
pub(super) struct HeldChunks {
    chunks: VecDeque<HeldChunk>,
    /// Number of the first of them.
    first: u64,
    turns: BinaryHeap<Reverse<ChunkOrder>>,
    bytes: usize,
    /// Key of the latest record given out.
    passed: Option<RecordKey>,
}

impl HeldChunks {
    /// Takes a chunk whose times rise, read after the clock was set `epoch` times.
    pub(super) fn push_rising(&mut self, chunk: Chunk, epoch: u32) {
        self.push(chunk, Vec::new(), epoch);
    }

    /// Takes a chunk to be given out by these keys of its records; of equal ones, as they stand.
    pub(super) fn push_by(&mut self, chunk: Chunk, keys: &[RecordKey]) {
        let mut order: Vec<(RecordKey, u32)> = keys.iter().copied().zip(0..).collect();
        sort_nearly_sorted(&mut order);
        self.push(chunk, order, 0);
    }

    fn push(&mut self, chunk: Chunk, order: Vec<(RecordKey, u32)>, epoch: u32) {
        let mut held = HeldChunk { chunk, order, next: 0, last: (epoch, 0), epoch };
        let Some((first, _)) = held.at(0) else { return };
        held.last = held.at(held.chunk.records.len() - 1).map_or(first, |(key, _)| key);
        self.turns.push(Reverse((first, self.first + self.chunks.len() as u64)));
        self.bytes += held.bytes();
        self.chunks.push_back(held);
    }

    /// Something later than this has been given out.
    pub(super) fn is_past(&self, key: RecordKey) -> bool {
        self.passed.is_some_and(|passed| key < passed)
    }

    /// The records of all chunks, the last one first, with the bytes that they lie in.
    pub(super) fn backwards(&self) -> impl Iterator<Item = (&Record, &[u8])> {
        self.chunks
            .iter()
            .rev()
            .flat_map(|held| held.chunk.records.iter().rev().map(|record| (record, held.chunk.bytes.as_slice())))
    }

    /// Fills the empty `out` with what stands no later than `settled`, and with the earliest while at least `least_held` bytes
    /// wait beside the chunk that has it.
    pub(super) fn give_out(&mut self, out: &mut Chunk, settled: RecordKey, least_held: usize) {
        while let Some(&Reverse(turn)) = self.turns.peek() {
            let (key, number) = turn;
            let index = (number - self.first) as usize;
            let Some(held) = self.chunks.get(index) else { return };
            let is_forced = key > settled;
            if is_forced && self.bytes - held.bytes() < least_held {
                return;
            }
            self.turns.pop();
            let next = self.turns.peek().map(|Reverse(turn)| *turn);
            let settled = if is_forced { None } else { Some((settled, u64::MAX)) };
            let until = next.into_iter().chain(settled).min().unwrap_or((LAST, u64::MAX));
            let is_whole = held.next == 0 && held.order.is_empty();
            if is_whole && (held.last, number) <= until {
                if !out.records.is_empty() {
                    self.turns.push(Reverse(turn));
                    return;
                }
                return self.give_whole(index, out);
            }
            self.copy_run(index, number, until, out);
            if out.bytes.len() >= CHUNK_BYTES {
                return;
            }
        }
    }

    fn give_whole(&mut self, index: usize, out: &mut Chunk) {
        let Some(held) = self.chunks.get_mut(index) else { return };
        self.bytes -= held.bytes();
        let last = held.last;
        *out = std::mem::take(&mut held.chunk);
        self.pass(last);
    }

    /// Copies records of a chunk up to the turn of another one, or until `out` is full.
    fn copy_run(&mut self, index: usize, number: u64, until: ChunkOrder, out: &mut Chunk) {
        let Some(held) = self.chunks.get_mut(index) else { return };
        if out.records.is_empty() {
            out.clear();
            // At once: with little room it would be copied again and again.
            out.bytes.reserve(self.bytes.min(CHUNK_BYTES + MOST_BEYOND));
            out.records.reserve(held.chunk.records.len());
        }
        while let Some((key, place)) = held.at(held.next) {
            if (key, number) > until || out.bytes.len() >= CHUNK_BYTES {
                self.turns.push(Reverse((key, number)));
                break;
            }
            if let Some(record) = held.chunk.records.get(place) {
                push_record(out, record, &held.chunk.bytes);
            }
            held.next += 1;
            self.passed = self.passed.max(Some(key));
        }
        if held.next == held.chunk.records.len() {
            self.bytes -= held.bytes();
            held.chunk = Chunk::default();
            (held.next, held.order) = (0, Vec::new());
            self.drop_empty();
        }
    }

    fn pass(&mut self, key: RecordKey) {
        self.passed = self.passed.max(Some(key));
        self.drop_empty();
    }

    fn drop_empty(&mut self) {
        while self.chunks.front().is_some_and(|held| held.chunk.records.is_empty()) {
            self.chunks.pop_front();
            self.first += 1;
        }
    }
}

/// All that is held, with nothing behind it.
impl ChunkSource for HeldChunks {
    fn next_chunk(&mut self, chunk: &mut Chunk) -> Result<bool, ReadError> {
        chunk.clear();
        self.give_out(chunk, LAST, 0);
        Ok(!chunk.records.is_empty())
    }

    fn inputs(&self) -> Vec<InputFacts> {
        Vec::new()
    }

    fn consumed_bytes(&self) -> u64 {
        0
    }
}

/// Records of several queues stand a few places from where they belong: each goes back to its place, unless that takes too long.
fn sort_nearly_sorted(order: &mut [(RecordKey, u32)]) {
    let mut steps_left = STEPS_OF_A_RECORD * order.len();
    for index in 1..order.len() {
        let mut place = index;
        while place > 0 && order[place] < order[place - 1] {
            if steps_left == 0 {
                return order.sort_unstable();
            }
            steps_left -= 1;
            order.swap(place - 1, place);
            place -= 1;
        }
    }
}

/// Adds a record of other bytes to a chunk, with its frame.
pub(super) fn push_record(chunk: &mut Chunk, record: &Record, bytes: &[u8]) {
    let start = record.offset as usize;
    let frame = bytes.get(start..start + record.captured_length as usize).unwrap_or(&[]);
    chunk.records.push(Record { offset: chunk.bytes.len() as u32, ..*record });
    chunk.bytes.extend_from_slice(frame);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chunk of frames of one byte each, which says its place.
    fn chunk(times_ns: &[i64]) -> Chunk {
        let record = |(time_ns, frame): (&i64, u32)| Record {
            time_ns: *time_ns,
            offset: frame,
            captured_length: 1,
            original_length: 1,
            frame,
            link_type: 1,
            ..Record::default()
        };
        let records = times_ns.iter().zip(0..).map(record).collect();
        Chunk { bytes: (0..times_ns.len() as u8).collect(), records, stretch: None }
    }

    fn all(held: &mut HeldChunks, settled: RecordKey, least_held: usize) -> Vec<i64> {
        let mut times_ns = Vec::new();
        loop {
            let mut out = Chunk::default();
            held.give_out(&mut out, settled, least_held);
            if out.records.is_empty() {
                return times_ns;
            }
            for record in &out.records {
                assert_eq!(out.bytes[record.offset as usize], record.frame as u8, "each keeps its frame");
                times_ns.push(record.time_ns);
            }
        }
    }

    #[test]
    fn chunks_that_overlap_come_out_in_order() {
        let mut held = HeldChunks::default();
        held.push_rising(chunk(&[1, 4, 9]), 0);
        held.push_by(chunk(&[7, 2, 3]), &[(0, 7), (0, 2), (0, 3)]);
        held.push_rising(chunk(&[8, 10]), 0);
        assert_eq!(all(&mut held, (0, 8), usize::MAX), [1, 2, 3, 4, 7, 8]);
        assert!(held.is_past((0, 7)) && !held.is_past((0, 9)));
        assert_eq!(all(&mut held, LAST, 0), [9, 10]);
    }

    #[test]
    fn records_far_from_their_places_are_put_in_order_as_well() {
        for stride in [1, 7, 61, 499] {
            let mut order: Vec<(RecordKey, u32)> =
                (0..500).map(|number| ((0, i64::from(number * stride % 500)), number as u32)).collect();
            sort_nearly_sorted(&mut order);
            assert!(order.is_sorted_by(|one, next| one < next), "{stride}");
        }
    }

    #[test]
    fn nothing_passes_a_clock_that_was_set() {
        let mut held = HeldChunks::default();
        held.push_by(chunk(&[100, 200, 50, 40]), &[(0, 100), (0, 200), (1, 50), (1, 40)]);
        held.push_rising(chunk(&[60, 70]), 1);
        assert_eq!(all(&mut held, (1, 30), usize::MAX), [100, 200], "no later record can come before these");
        assert!(!held.is_past((1, 40)));
        assert_eq!(all(&mut held, (1, 65), usize::MAX), [40, 50, 60]);
        assert_eq!(all(&mut held, LAST, 0), [70]);
    }

    #[test]
    fn what_takes_too_much_room_goes_on_before_its_time() {
        let mut held = HeldChunks::default();
        held.push_rising(chunk(&[1, 2]), 0);
        assert_eq!(all(&mut held, (0, i64::MIN), 1), [], "nothing waits beside it");
        held.push_rising(chunk(&[3, 4]), 0);
        assert_eq!(all(&mut held, (0, i64::MIN), 1), [1, 2]);
    }
}
