//! Everything in one loop on the calling thread. The simple way, and what the parallel one must agree with.

use crate::analysis::options::Options;
use crate::analysis::others::Others;
use crate::analysis::part::Part;
use crate::analysis::stage::{Collected, Intake, Tallies};
use crate::decode::batch::Batch;
use crate::decode::fragments::Reassembler;
use crate::decode::reason::CountsByInput;
use crate::read::record::Chunk;
use crate::tcp::flow::by_flow::Lines;

/// Runs to the end of the input, or until there are more connections than the part has room for.
pub fn run(intake: &mut Intake<'_>, options: &Options, part: &Part) -> Collected {
    let mut shard = options.shard();
    let mut tallies = Tallies::default();
    let mut others = Others::new(options);
    let mut reassembler = Reassembler::new();
    let (mut chunk, mut batch, mut filtered) = (Chunk::default(), Batch::default(), Vec::new());
    let mut lines = Lines::of(part.hashes.clone());
    let mut is_overfull = false;
    let mut order = 0;
    while !is_overfull && intake.next(&mut chunk, &mut filtered) {
        batch.clear();
        batch.decode(&mut chunk);
        batch.join_fragments(&mut chunk, &mut reassembler);
        tallies.add(&chunk, &batch);
        others.chunk(&chunk, &batch);
        tallies.add_filtered(&filtered);
        filtered.clear();
        lines.line_up(batch.packets(), &chunk.bytes, 1);
        shard.batch(batch.packets(), &lines, 0, &chunk.bytes, order);
        order += batch.packets().len() as u64;
        is_overfull = shard.is_overfull(&part.room);
    }
    let mut counts = CountsByInput::default();
    reassembler.finish(&mut counts);
    tallies.add_counts(&counts);
    others.end_fragments(&reassembler);
    Collected { shards: vec![shard], tallies: tallies.into_list(), others, is_overfull }
}
