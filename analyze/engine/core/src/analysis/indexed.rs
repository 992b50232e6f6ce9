//! The packets of connections that are known, from the stretches of their inputs that hold them ([`crate::analysis::flow_index`]).
//! Frames and packets have the numbers that they have among all, so that the result is that of reading everything once more.

use crate::analysis::failure::Failure;
use crate::analysis::options::{Observer, Options};
use crate::analysis::reading::Reading;
use crate::analysis::results::{Analysis, Inputs};
use crate::analysis::tunnels::GatheredTunnels;
use crate::decode::batch::Batch;
use crate::decode::fragments::Reassembler;
use crate::packet::Packet;
use crate::read::chunk_source::{ChunkSource, Input};
use crate::read::file_source::{FileSource, InputPart};
use crate::read::record::Chunk;
use crate::tcp::flow::by_flow::Lines;
use crate::tcp::flow::orders::Orders;
use crate::tcp::flow::table::Shard;

/// An input and what is read of it. Inputs follow each other in time.
pub struct Stretches {
    /// Gives the parts, one behind the other.
    pub reader: Input,
    /// Number of the input among all.
    pub input: u16,
    /// TCP packets of all inputs before it.
    pub first_place: u64,
    /// The first is its beginning. With each, the TCP packets of the input before it.
    pub parts: Vec<(InputPart, u64)>,
}

/// Reads the packets of [`Options::known_connections`]; nothing else is in the result.
///
/// # Errors
/// [`Failure::Read`] if an input cannot be read.
pub fn packets_of_stretches(
    inputs: Vec<Stretches>,
    options: &Options,
    observer: &dyn Observer,
) -> Result<Analysis, Failure> {
    let mut shard = options.shard();
    let (mut lines, mut reassembler) = (Lines::default(), Reassembler::new());
    let (mut before_bytes, mut interrupted) = (0, false);
    let count = inputs.iter().map(|one| usize::from(one.input) + 1).max().unwrap_or(0);
    for stretches in inputs {
        let mut run = IndexedInput::of(stretches);
        while !interrupted && run.next(&mut shard, &mut lines, &mut reassembler)? {
            interrupted = observer.progress(before_bytes + run.source.consumed_bytes());
        }
        before_bytes += run.source.consumed_bytes();
    }
    let all = Inputs { count, ..Inputs::default() };
    Ok(Reading::of_slices(shard, GatheredTunnels::default(), &all, interrupted).conclude(options))
}

/// One input.
struct IndexedInput {
    source: FileSource,
    parts: Vec<(InputPart, u64)>,
    /// The next of them.
    next: usize,
    first_place: u64,
    place: u64,
    chunk: Chunk,
    batch: Batch,
}

impl IndexedInput {
    fn of(stretches: Stretches) -> Self {
        let Stretches { reader, input, first_place, parts } = stretches;
        let read: Vec<InputPart> = parts.iter().map(|(part, _)| *part).collect();
        let source = FileSource::of_parts(reader, input, &read);
        Self {
            source,
            parts,
            next: 0,
            first_place,
            place: first_place,
            chunk: Chunk::default(),
            batch: Batch::default(),
        }
    }

    /// Takes the next chunk; false at the end.
    fn next(&mut self, shard: &mut Shard, lines: &mut Lines, reassembler: &mut Reassembler) -> Result<bool, Failure> {
        let found = self.source.next_chunk(&mut self.chunk).map_err(|error| Failure::Read(vec![error]))?;
        if !found {
            return Ok(false);
        }
        self.count_what_was_left_out();
        self.batch.clear();
        self.batch.decode(&mut self.chunk);
        self.batch.join_fragments(&mut self.chunk, reassembler);
        let packets: &[Packet] = self.batch.packets();
        lines.line_up(packets, &self.chunk.bytes, 1);
        shard.batch_at(packets, lines, 0, &self.chunk.bytes, Orders::from(self.place));
        self.place += packets.len() as u64;
        Ok(true)
    }

    /// A part begins with a chunk.
    fn count_what_was_left_out(&mut self) {
        let offset = self.chunk.stretch.map_or(0, |stretch| stretch.offset);
        while let Some((_, packets_before)) = self.parts.get(self.next).filter(|(part, _)| part.offset <= offset) {
            self.place = self.first_place + packets_before;
            self.next += 1;
        }
    }
}
