//! What the serial and the parallel way share: taking chunks in, filtering, counting frames by input.

use std::collections::HashMap;

use crate::analysis::options::{FilterCompiler, Observer, Options};
use crate::analysis::others::Others;
use crate::decode::batch::Batch;
use crate::decode::reason::{CountsByInput, ReasonCounts};
use crate::decode::unread::Unread;
use crate::filter::Program;
use crate::filter::loopback::Loopback;
use crate::flows::protocols::Amount;
use crate::read::chunk_source::ChunkSource;
use crate::read::read_error::ReadError;
use crate::read::record::Chunk;
use crate::secrets::SharedKeys;
use crate::tcp::flow::table::Shard;

/// The observer is asked once in so many chunks.
const CHUNKS_BETWEEN_REPORTS: u64 = 16;

/// The reading end of a run.
pub struct Intake<'a> {
    /// Where chunks come from.
    pub source: Box<dyn ChunkSource>,
    filter: Option<Filter<'a>>,
    observer: &'a dyn Observer,
    keys: SharedKeys,
    /// Bytes of the inputs' own key logs that are in it.
    key_log_bytes: usize,
    chunks: u64,
    /// The observer ended the run.
    pub interrupted: bool,
    /// Inputs that could not be read.
    pub errors: Vec<ReadError>,
    /// Why the filter could not be compiled.
    pub filter_error: Option<String>,
}

impl<'a> Intake<'a> {
    /// A fresh run.
    pub fn new(source: Box<dyn ChunkSource>, options: &'a Options, observer: &'a dyn Observer) -> Self {
        let filter = options.filter.as_deref();
        let filter =
            filter.map(|compiler| Filter { compiler, programs: HashMap::new(), loopback: Loopback::default() });
        let keys = options.key_log.clone();
        Self {
            source,
            filter,
            observer,
            keys,
            key_log_bytes: 0,
            chunks: 0,
            interrupted: false,
            errors: Vec::new(),
            filter_error: None,
        }
    }

    /// Reads the next chunk; false at the end. Returns how many frames the filter left out through `filtered`.
    pub fn next(&mut self, chunk: &mut Chunk, filtered: &mut Vec<Filtered>) -> bool {
        loop {
            if self.interrupted || self.filter_error.is_some() {
                return false;
            }
            match self.source.next_chunk(chunk) {
                Ok(true) => break,
                Ok(false) => return false,
                Err(error) => self.errors.push(error),
            }
        }
        self.take_secrets();
        self.chunks += 1;
        if self.chunks % CHUNKS_BETWEEN_REPORTS == 1 {
            self.interrupted = self.observer.progress(self.source.consumed_bytes());
        }
        if let Some(filter) = &mut self.filter
            && let Err(what) = filter.apply(chunk, filtered)
        {
            self.filter_error = Some(what);
            return false;
        }
        true
    }

    /// What was read and waits, chunk by chunk, as [`Intake::next`] will give it.
    pub fn waiting(&mut self, mut chunk: impl FnMut(&mut Chunk, &mut Vec<Filtered>)) {
        let Some(mut source) = self.source.waiting() else { return };
        let loopback = self.filter.as_ref().map(|filter| filter.loopback.clone());
        let (mut next, mut filtered) = (Chunk::default(), Vec::new());
        while let Ok(true) = source.next_chunk(&mut next) {
            let applied = self.filter.as_mut().map_or(Ok(()), |filter| filter.apply(&mut next, &mut filtered));
            if applied.is_err() {
                break;
            }
            chunk(&mut next, &mut filtered);
        }
        if let Some((filter, before)) = self.filter.as_mut().zip(loopback) {
            filter.loopback = before;
        }
    }

    /// Keys that the inputs hold themselves, which stand before the packets that they open.
    fn take_secrets(&mut self) {
        let bytes = self.source.key_log_bytes();
        if bytes > self.key_log_bytes {
            self.key_log_bytes = bytes;
            self.source.inputs().iter().for_each(|facts| self.keys.read(&facts.tls_key_log));
        }
    }
}

/// A filter, compiled for each link type as it appears.
struct Filter<'a> {
    compiler: &'a dyn FilterCompiler,
    programs: HashMap<u16, Program>,
    loopback: Loopback,
}

/// Snap length given to the compiler: it only bounds what a program returns.
const SNAP_LENGTH: u32 = 262_144;

impl Filter<'_> {
    fn apply(&mut self, chunk: &mut Chunk, filtered: &mut Vec<Filtered>) -> Result<(), String> {
        for record in &chunk.records {
            if !self.programs.contains_key(&record.link_type) {
                let bytes = self.compiler.compile(record.link_type, SNAP_LENGTH)?;
                let program = Program::parse(&bytes).map_err(|error| error.to_string())?;
                self.programs.insert(record.link_type, program);
            }
        }
        let (bytes, programs, loopback) = (&chunk.bytes, &self.programs, &mut self.loopback);
        chunk.records.retain(|record| {
            let start = record.offset as usize;
            let frame = bytes.get(start..start + record.captured_length as usize).unwrap_or_default();
            let frame = loopback.as_captured_here(record.link_type, frame);
            let keep =
                programs.get(&record.link_type).is_some_and(|program| program.run(frame, record.original_length) > 0);
            if !keep {
                filtered.push(Filtered { input: record.input, wire_bytes: record.original_length });
            }
            keep
        });
        Ok(())
    }
}

/// A frame that the filter left out.
#[derive(Debug, Clone, Copy)]
pub struct Filtered {
    input: u16,
    wire_bytes: u32,
}

/// What a run leaves, either way.
pub struct Collected {
    /// All connections.
    pub shards: Vec<Shard>,
    /// One entry for each input seen.
    pub tallies: Vec<InputTally>,
    /// What came of frames without a TCP segment.
    pub others: Others,
    /// There were more connections than there is room for: the run was given up.
    pub is_overfull: bool,
    /// No parts would help: what came until then is kept.
    pub is_exhausted: bool,
}

/// Frames of one input.
#[derive(Debug, Clone, Default)]
pub struct InputTally {
    /// TCP segments.
    pub tcp_packets: u64,
    counts: ReasonCounts,
    filtered: Amount,
}

impl InputTally {
    /// Frames that the filter left out.
    pub fn filtered(&self) -> Amount {
        self.filtered
    }

    /// Reasons with their counts.
    pub fn undecoded(&self) -> Vec<(String, u64)> {
        let mut reasons: Vec<(String, u64)> =
            self.counts.iter().map(|(reason, count)| (reason.name().into_owned(), count)).collect();
        if self.filtered.packets > 0 {
            reasons.push(("left_out_by_filter".to_owned(), self.filtered.packets));
        }
        reasons
    }

    /// Tunnels and link layers that are not read.
    pub fn unread(&self) -> Vec<Unread> {
        self.counts.unread.iter().cloned().collect()
    }
}

/// Frames of all inputs.
#[derive(Debug, Clone, Default)]
pub struct Tallies {
    list: Vec<InputTally>,
}

impl Tallies {
    fn at(&mut self, input: u16) -> &mut InputTally {
        let index = usize::from(input);
        if self.list.len() <= index {
            self.list.resize_with(index + 1, InputTally::default);
        }
        &mut self.list[index]
    }

    /// Counts the frames of a decoded chunk.
    pub fn add(&mut self, chunk: &Chunk, batch: &Batch) {
        let Some(first) = chunk.records.first() else { return };
        if chunk.records.iter().fold(true, |same, record| same & (record.input == first.input)) {
            self.at(first.input).tcp_packets += batch.packets().len() as u64;
        } else {
            batch.packets().iter().for_each(|packet| self.at(packet.input).tcp_packets += 1);
        }
        self.add_counts(&batch.counts);
    }

    /// Counts frames the filter left out.
    pub fn add_filtered(&mut self, filtered: &[Filtered]) {
        for one in filtered {
            let amount = Amount { packets: 1, wire_bytes: u64::from(one.wire_bytes) };
            self.at(one.input).filtered.add(amount);
        }
    }

    /// Adds frames that gave no packet.
    pub fn add_counts(&mut self, counts: &CountsByInput) {
        counts.iter().for_each(|(input, counts)| self.at(input).counts.merge(counts));
    }

    /// One entry for each input seen.
    pub fn into_list(self) -> Vec<InputTally> {
        self.list
    }
}
