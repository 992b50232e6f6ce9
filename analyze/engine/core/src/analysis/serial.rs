//! Everything in one loop on the calling thread. The simple way, and what the parallel one must agree with.

use crate::analysis::options::Options;
use crate::analysis::others::Others;
use crate::analysis::part::Part;
use crate::analysis::stage::{Collected, Filtered, Intake, Tallies};
use crate::decode::batch::Batch;
use crate::decode::fragments::Reassembler;
use crate::decode::reason::CountsByInput;
use crate::read::record::Chunk;
use crate::tcp::flow::by_flow::Lines;
use crate::tcp::flow::memory_budget::Fullness;
use crate::tcp::flow::table::Shard;

/// Runs to the end of the input, or until there are more connections than the part has room for.
pub fn run(intake: &mut Intake<'_>, options: &Options, part: &Part) -> Collected {
    let mut reached = Reached::new(options);
    let mut hand = Hand::of(part);
    let (mut chunk, mut filtered) = (Chunk::default(), Vec::new());
    let mut fullness = Fullness::Fits;
    while fullness == Fullness::Fits && intake.next(&mut chunk, &mut filtered) {
        reached.take(&mut chunk, &mut filtered, &mut hand);
        fullness = reached.shard.fullness(&part.room);
    }
    let (is_overfull, is_exhausted) = (fullness == Fullness::Overfull, fullness == Fullness::Exhausted);
    Collected { is_overfull, is_exhausted, ..reached.end() }
}

/// All that is known of the packets so far. What a copy of it ends with is what they show.
#[derive(Clone)]
pub(super) struct Reached {
    pub(super) shard: Shard,
    tallies: Tallies,
    pub(super) others: Others,
    reassembler: Reassembler,
    order: u64,
}

/// What is written over from chunk to chunk.
pub(super) struct Hand {
    batch: Batch,
    lines: Lines,
}

impl Hand {
    pub(super) fn of(part: &Part) -> Self {
        Self { batch: Batch::default(), lines: Lines::of(part.hashes.clone()) }
    }
}

impl Reached {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            shard: options.shard(),
            tallies: Tallies::default(),
            others: Others::new(options),
            reassembler: Reassembler::new(),
            order: 0,
        }
    }

    /// The next chunk, and what a filter left out of it.
    pub(super) fn take(&mut self, chunk: &mut Chunk, filtered: &mut Vec<Filtered>, hand: &mut Hand) {
        let Hand { batch, lines } = hand;
        batch.clear();
        batch.decode(chunk);
        batch.join_fragments(chunk, &mut self.reassembler);
        self.tallies.add(chunk, batch);
        self.others.chunk(chunk, batch);
        self.tallies.add_filtered(filtered);
        filtered.clear();
        lines.line_up(batch.packets(), &chunk.bytes, 1);
        self.shard.batch(batch.packets(), lines, 0, &chunk.bytes, self.order);
        self.order += batch.packets().len() as u64;
    }

    /// No packet follows.
    pub(super) fn end(self) -> Collected {
        let Self { shard, mut tallies, mut others, mut reassembler, .. } = self;
        let mut counts = CountsByInput::default();
        reassembler.finish(&mut counts);
        tallies.add_counts(&counts);
        others.end_fragments(&reassembler);
        let tallies = tallies.into_list();
        Collected { shards: vec![shard], tallies, others, is_overfull: false, is_exhausted: false }
    }
}
