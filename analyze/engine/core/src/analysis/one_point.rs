//! Of what two capture points saw of one traffic, the packets of one of them: the other's say nothing new, and its clock may be hours
//! away.
//!
//! [`crate::analysis::two_clocks`] says which records are of which point.

use crate::analysis::point_labels::TwoClocks;
use crate::read::chunk_source::ChunkSource;
use crate::read::input_facts::InputFacts;
use crate::read::read_error::ReadError;
use crate::read::record::{Chunk, Record};

/// A step back in time of more than this is a clock step.
const CLOCK_STEP_NS: i64 = 1_000_000_000;

/// See the module.
pub(crate) struct OnePoint {
    inner: Box<dyn ChunkSource>,
    clocks: TwoClocks,
    /// Records left out, by input.
    left_out: Vec<u64>,
    last_ns: i64,
    clock_steps: u64,
}

impl OnePoint {
    /// `inner` without the packets of the point that is not kept.
    pub(crate) fn new(inner: Box<dyn ChunkSource>, clocks: TwoClocks) -> Self {
        Self { inner, clocks, left_out: Vec::new(), last_ns: i64::MIN / 2, clock_steps: 0 }
    }

    fn leave_out(&mut self, chunk: &mut Chunk) {
        let (bytes, clocks, left_out) = (&chunk.bytes, &self.clocks, &mut self.left_out);
        chunk.records.retain(|record| {
            let point = clocks.point_of(record, bytes);
            let is_kept = point.is_none_or(|point| point == clocks.kept);
            if !is_kept {
                let index = usize::from(record.input);
                left_out.resize(left_out.len().max(index + 1), 0);
                left_out[index] += 1;
            }
            is_kept
        });
        for record in chunk.records.iter().filter(|record| record.time_ns != Record::NO_TIME) {
            self.clock_steps += u64::from(record.time_ns < self.last_ns.saturating_sub(CLOCK_STEP_NS));
            self.last_ns = record.time_ns;
        }
    }
}

impl ChunkSource for OnePoint {
    fn next_chunk(&mut self, chunk: &mut Chunk) -> Result<bool, ReadError> {
        while self.inner.next_chunk(chunk)? {
            self.leave_out(chunk);
            if !chunk.records.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn inputs(&self) -> Vec<InputFacts> {
        let mut inputs = self.inner.inputs();
        for (index, facts) in inputs.iter_mut().enumerate() {
            // Where one capture stands behind the other, its clock was not set.
            facts.clock_steps_back = if index == 0 { self.clock_steps } else { 0 };
            facts.left_out = self.left_out.get(index).copied().unwrap_or(0);
            facts.clock_offset_ns = (facts.left_out > 0).then_some(self.clocks.offset_ns);
            facts.copies_may_be_missed = self.clocks.is_incomplete;
        }
        inputs
    }

    fn key_log_bytes(&self) -> usize {
        self.inner.key_log_bytes()
    }

    fn consumed_bytes(&self) -> u64 {
        self.inner.consumed_bytes()
    }
}
