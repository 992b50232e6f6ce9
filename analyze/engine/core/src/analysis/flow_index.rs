//! Which stretches of a capture hold the packets of a flow, so that a second reading need not read the others
//! ([`crate::analysis::indexed`]). A stretch is a chunk as the source gave it: it begins and ends between records.
//!
//! Only what is certain to be read the same way from the middle has an index: a capture that is not compressed, whose records
//! stand in the order of their times, and that is not damaged before its last stretch.
//!
//! The format of the file and its limits: docs/corpus.md.

use crate::analysis::results::InputSummary;
use crate::packet::Packet;
use crate::read::record::{Chunk, ChunkStart};

/// Flows that are noted, each once for each stretch that holds it: a quarter of a gigabyte.
const MOST_NOTED: usize = 1 << 26;

/// A stretch of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Indexed {
    /// Offset of its first byte. It ends where the next one begins.
    pub offset: u64,
    /// Number of its first frame.
    pub frame: u32,
    /// TCP packets of the input before it.
    pub packets_before: u64,
    /// It is read whatever flow is asked for: it describes interfaces, or holds fragments of datagrams.
    pub is_needed: bool,
    /// Hashes of the flows it holds, ascending.
    pub flows: Vec<u32>,
}

/// What is known of an input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FlowIndex {
    /// In the order of their offsets.
    pub stretches: Vec<Indexed>,
    /// Why the input has to be read from its beginning all the same.
    pub obstacle: Option<&'static str>,
    packets: u64,
}

/// Of all inputs.
#[derive(Debug, Default)]
pub(crate) struct FlowIndexes {
    by_input: Vec<FlowIndex>,
    noted: usize,
}

impl FlowIndexes {
    /// Takes the packets of a decoded chunk.
    pub(crate) fn add(&mut self, chunk: &Chunk, packets: &[Packet], has_fragments: bool) {
        let Some(first) = chunk.records.first() else { return };
        let Some(stretch) = chunk.stretch.filter(|_| self.noted < MOST_NOTED) else {
            let what =
                if self.noted < MOST_NOTED { "its records were put into order" } else { "it has too many flows" };
            return chunk.records.iter().for_each(|record| self.at(record.input).obstacle = Some(what));
        };
        let flows = flows_of(packets);
        self.noted += flows.len();
        self.at(first.input).push(stretch, first.frame, packets.len() as u64, has_fragments, flows);
    }

    fn at(&mut self, input: u16) -> &mut FlowIndex {
        let index = usize::from(input);
        if self.by_input.len() <= index {
            self.by_input.resize_with(index + 1, FlowIndex::default);
        }
        &mut self.by_input[index]
    }

    /// One for each input, of which all is known now.
    pub(crate) fn finish(mut self, inputs: &[InputSummary]) -> Vec<FlowIndex> {
        self.by_input.resize_with(inputs.len(), FlowIndex::default);
        for (index, input) in self.by_input.iter_mut().zip(inputs) {
            index.obstacle = index.obstacle.or_else(|| obstacle(input, index.stretches.last()));
            if index.obstacle.is_some() {
                index.stretches.clear();
            }
        }
        self.by_input
    }
}

impl FlowIndex {
    fn push(&mut self, stretch: ChunkStart, frame: u32, packets: u64, has_fragments: bool, flows: Vec<u32>) {
        let is_first = self.stretches.is_empty();
        let offset = if is_first { 0 } else { stretch.offset };
        let is_needed = is_first || stretch.has_headers || has_fragments;
        self.stretches.push(Indexed { offset, frame, packets_before: self.packets, is_needed, flows });
        self.packets += packets;
    }

    /// TCP packets of the input.
    pub fn packets(&self) -> u64 {
        self.packets
    }
}

fn flows_of(packets: &[Packet]) -> Vec<u32> {
    let mut flows: Vec<u32> = Vec::new();
    for packet in packets {
        if flows.last() != Some(&packet.flow_hash) {
            flows.push(packet.flow_hash);
        }
    }
    flows.sort_unstable();
    flows.dedup();
    flows.shrink_to_fit();
    flows
}

/// What keeps an input from being read in stretches.
fn obstacle(input: &InputSummary, last: Option<&Indexed>) -> Option<&'static str> {
    let facts = &input.facts;
    let damaged = facts.damage.iter().any(|damage| last.is_none_or(|last| damage.offset < last.offset));
    let obstacles = [
        (facts.compression.is_some(), "it is compressed"),
        (damaged, "it is damaged"),
        (facts.out_of_time_order != Default::default() || facts.clock_steps_back > 0, "its times go backwards"),
        (facts.packets_without_time > 0, "some of its records have no time"),
        (facts.packets > u64::from(u32::MAX), "it has too many frames"),
    ];
    obstacles.into_iter().find_map(|(is_there, what)| is_there.then_some(what))
}
