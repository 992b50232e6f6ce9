//! The second of two runs: the slices of one bucket, in the order of their runs of inputs, to connections.
//!
//! Connections that do not fit into memory together are taken in parts by their hashes, as in [`crate::analysis::parts`]; slices
//! are read once for each part then.

use std::io::Read;
use std::ops::RangeInclusive;

use crate::analysis::failure::Failure;
use crate::analysis::options::{Observer, Options};
use crate::analysis::part::{ALL, Part};
use crate::analysis::parts::part_by_part;
use crate::analysis::reading::Reading;
use crate::analysis::results::{Analysis, Inputs};
use crate::analysis::slices::piece::Piece;
use crate::analysis::tunnels::GatheredTunnels;
use crate::read::chunk_source::Input;
use crate::read::read_error::ReadError;
use crate::tcp::flow::by_flow::Lines;
use crate::tcp::flow::memory_budget::Room;
use crate::tcp::flow::orders::Orders;
use crate::tcp::flow::table::Shard;

/// A slice of one run of inputs.
pub struct Slice {
    /// Its bytes.
    pub reader: Input,
    /// Packets of all runs before its own.
    pub first_place: u64,
    /// The numbers that the inputs of its run have among all.
    pub inputs: Vec<u16>,
}

/// Opens the slices of a bucket, in order; asked again where they are read more than once.
pub type OpenSlices<'a> = &'a dyn Fn() -> std::io::Result<Vec<Slice>>;

/// Analyses the slices that `open` gives.
///
/// # Errors
/// [`Failure::Read`] if a slice cannot be read: its number is that of the input.
pub fn analyze_slices(
    open: OpenSlices<'_>,
    inputs: &Inputs,
    options: &Options,
    observer: &dyn Observer,
) -> Result<Analysis, Failure> {
    let room = options.room_bytes.map_or(Room::ANY, Room::of);
    part_by_part(room, ALL, options, &|part, _| one_part(open, inputs, part, options, observer))
}

/// The connections of a part; none if there was no room for them.
fn one_part(
    open: OpenSlices<'_>,
    inputs: &Inputs,
    part: &Part,
    options: &Options,
    observer: &dyn Observer,
) -> Result<Option<Reading>, Failure> {
    let failed = |input: usize, source| {
        Failure::Read(vec![ReadError::Io { input: u16::try_from(input).unwrap_or(u16::MAX), source }])
    };
    let mut run = ShardRun::new(&part.hashes, options);
    let (mut read_bytes, mut interrupted) = (0, false);
    let slices = open().map_err(|source| failed(0, source))?;
    'slices: for (number, mut slice) in slices.into_iter().enumerate() {
        loop {
            match run.next(&mut slice.reader, slice.first_place, &slice.inputs) {
                Ok(0) => break,
                Ok(bytes) => read_bytes += bytes,
                Err(source) => return Err(failed(number, source)),
            }
            interrupted = observer.progress(read_bytes);
            if interrupted {
                break 'slices;
            }
            if run.shard.is_overfull(&part.room) {
                return Ok(None);
            }
        }
    }
    Ok(Some(Reading::of_slices(run.shard, run.tunnels, inputs, interrupted)))
}

/// The shard that takes pieces, and what it reuses from piece to piece.
struct ShardRun {
    shard: Shard,
    lines: Lines,
    piece: Piece,
    tunnels: GatheredTunnels,
}

impl ShardRun {
    fn new(hashes: &RangeInclusive<u32>, options: &Options) -> Self {
        let (piece, tunnels) = (Piece::default(), GatheredTunnels::default());
        Self { shard: options.shard(), lines: Lines::of(hashes.clone()), piece, tunnels }
    }

    /// Takes the next piece; how many bytes it has, 0 at the end.
    fn next(&mut self, reader: &mut dyn Read, first_place: u64, inputs: &[u16]) -> std::io::Result<u64> {
        let Self { shard, lines, piece, tunnels } = self;
        if !piece.read(reader)? {
            return Ok(0);
        }
        piece.tunnels.drain(..).for_each(|found| tunnels.take(found));
        for packet in &mut piece.packets {
            packet.input = inputs.get(usize::from(packet.input)).copied().unwrap_or(packet.input);
        }
        lines.line_up(&piece.packets, &piece.bytes, 1);
        let orders = Orders::of_places(first_place, &piece.places);
        shard.batch_at(&piece.packets, lines, 0, &piece.bytes, orders);
        Ok(piece.bytes.len() as u64)
    }
}
