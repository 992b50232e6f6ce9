//! The first of two runs: inputs are read and decoded as in any analysis, and each packet goes into the slice of its bucket.
//!
//! What is said of frames (times, damage, what could not be decoded, names looked up) is known then; connections are not.

use crate::analysis::failure::Failure;
use crate::analysis::flow_index::{FlowIndex, FlowIndexes};
use crate::analysis::options::{Observer, Options};
use crate::analysis::others::Others;
use crate::analysis::reading::Reading;
use crate::analysis::results::Analysis;
use crate::analysis::slices::frames::FramesWriter;
use crate::analysis::slices::piece::PieceWriter;
use crate::analysis::stage::{Intake, Tallies};
use crate::analysis::time_order::Patience;
use crate::analysis::tunnels::FlowTunnels;
use crate::decode::batch::Batch;
use crate::decode::fragments::Reassembler;
use crate::decode::hash;
use crate::decode::icmp::IcmpError;
use crate::decode::reason::CountsByInput;
use crate::packet::Packet;
use crate::read::chunk_source::ChunkSource;
use crate::read::record::Chunk;

/// Pieces are no shorter than this but for the last of a bucket: what reads them starts anew with each.
const SHORTEST_PIECE_BYTES: usize = 64 << 10;

/// Nor longer: what reads them holds one at a time.
const LONGEST_PIECE_BYTES: usize = 4 << 20;

/// Where pieces go: the number of a bucket and the next piece of its slice; behind the last bucket's stands the number of the slice of
/// frames without TCP. False ends the run.
pub type Sink<'a> = &'a mut dyn FnMut(u32, Vec<u8>) -> bool;

/// What a run of inputs gave.
pub struct Split {
    /// Inputs and names looked up; no connections.
    pub analysis: Analysis,
    /// TCP packets: the places that were given out.
    pub packets: u64,
    /// Fragments of IP datagrams there were.
    pub fragments: u64,
    /// Datagrams that still wait for fragments at the end, which inputs behind these may hold.
    pub open_datagrams: u64,
    /// ICMP errors, in their order.
    pub icmp_errors: Vec<IcmpError>,
    /// Of each input, in which of its stretches the packets of a flow lie.
    pub indexes: Vec<FlowIndex>,
}

/// Splits `source` into `buckets` slices (none: its packets are counted and indexed only), which hold about `room_bytes` at a time until `sink` takes them.
///
/// # Errors
/// As [`crate::analysis::whole::analyze`].
pub fn split(
    source: Box<dyn ChunkSource>,
    buckets: u32,
    room_bytes: usize,
    options: &Options,
    observer: &dyn Observer,
    sink: Sink<'_>,
) -> Result<Split, Failure> {
    let source = Reading::corrected(source, options, Patience::OfPart);
    let mut intake = Intake::new(source, options, observer);
    let mut slices = Slices::new(buckets, room_bytes);
    let (mut tallies, mut others, mut reassembler) = (Tallies::default(), Others::default(), Reassembler::new());
    let (mut chunk, mut batch, mut filtered) = (Chunk::default(), Batch::default(), Vec::new());
    let (mut packets, mut fragments) = (0, 0);
    let mut indexes = FlowIndexes::default();
    while intake.next(&mut chunk, &mut filtered) {
        batch.clear();
        batch.decode(&mut chunk);
        let chunk_fragments = batch.fragments.len() as u64;
        fragments += chunk_fragments;
        batch.join_fragments(&mut chunk, &mut reassembler);
        tallies.add(&chunk, &batch);
        let bytes = &chunk.bytes;
        others
            .tunnels
            .chunk(&chunk, &batch, |found, packet| slices.take_tunnels(found, bucket(packet, bytes, buckets)));
        others.chunk_without_tunnels(&chunk, &batch);
        indexes.add(&chunk, batch.packets(), chunk_fragments > 0);
        tallies.add_filtered(&filtered);
        filtered.clear();
        if !slices.take(batch.packets(), packets, &chunk.bytes, sink) || !slices.take_frames(&chunk, &batch, sink) {
            intake.interrupted = true;
            break;
        }
        packets += batch.packets().len() as u64;
    }
    let open_datagrams = reassembler.waiting();
    let mut counts = CountsByInput::default();
    reassembler.finish(&mut counts);
    reassembler.beginnings().iter().for_each(|beginning| slices.frames.push_beginning(beginning));
    slices.finish(sink);
    tallies.add_counts(&counts);
    others.end_fragments(&reassembler);
    let icmp_errors = others.icmp.errors().to_vec();
    let reading = Reading::of_frames(intake, tallies.into_list(), others)?;
    let analysis = reading.conclude(options);
    let indexes = indexes.finish(&analysis.inputs);
    Ok(Split { analysis, packets, fragments, open_datagrams, icmp_errors, indexes })
}

/// The bucket of a packet: that of both directions, of all ports and of all fragments of one pair of addresses.
fn bucket(packet: &Packet, bytes: &[u8], buckets: u32) -> u32 {
    let hash = match packet.ip_version {
        4 => hash::flow_v4(packet.address_key, 0),
        _ => {
            let start = packet.address_offset as usize;
            let pair = bytes.get(start..start + 32).unwrap_or_default();
            match pair.as_chunks::<16>().0 {
                [source, destination] => hash::flow_v6(source, destination, 0).1,
                _ => 0,
            }
        }
    };
    ((u64::from(hash) * u64::from(buckets)) >> 32) as u32
}

/// The pieces that grow, by bucket.
struct Slices {
    pieces: Vec<PieceWriter>,
    /// Frames without TCP, of all buckets.
    frames: FramesWriter,
    full_bytes: usize,
}

impl Slices {
    fn new(buckets: u32, room_bytes: usize) -> Self {
        let full_bytes = (room_bytes / buckets.max(1) as usize).clamp(SHORTEST_PIECE_BYTES, LONGEST_PIECE_BYTES);
        let pieces = (0..buckets).map(|_| PieceWriter::default()).collect();
        Self { pieces, frames: FramesWriter::default(), full_bytes }
    }

    fn take(&mut self, packets: &[Packet], first_place: u64, bytes: &[u8], sink: Sink<'_>) -> bool {
        let buckets = self.pieces.len() as u32;
        if buckets == 0 {
            return true;
        }
        for (packet, place) in packets.iter().zip(first_place..) {
            let bucket = bucket(packet, bytes, buckets);
            let Some(piece) = self.pieces.get_mut(bucket as usize) else { continue };
            piece.push(packet, place, bytes);
            if piece.len() >= self.full_bytes && !sink(bucket, piece.take()) {
                return false;
            }
        }
        true
    }

    fn take_frames(&mut self, chunk: &Chunk, batch: &Batch, sink: Sink<'_>) -> bool {
        if self.pieces.is_empty() {
            return true;
        }
        for at in &batch.others {
            self.frames.push(chunk, batch, at);
        }
        self.frames.len() < self.full_bytes || sink(self.pieces.len() as u32, self.frames.take())
    }

    /// Those of a flow whose first packet in a tunnel comes next.
    fn take_tunnels(&mut self, found: &FlowTunnels, bucket: u32) {
        if let Some(piece) = self.pieces.get_mut(bucket as usize) {
            piece.push_tunnels(found);
        }
    }

    fn finish(&mut self, sink: Sink<'_>) {
        for (bucket, piece) in (0..).zip(&mut self.pieces) {
            if piece.len() > 0 && !sink(bucket, piece.take()) {
                return;
            }
        }
        if self.frames.len() > 0 && !self.pieces.is_empty() {
            sink(self.pieces.len() as u32, self.frames.take());
        }
    }
}
