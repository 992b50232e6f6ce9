//! Captures of two points put together: which frames are of which capture point, and by how much the clocks differ. Read before a
//! further reading, which [`crate::analysis::one_point`] leaves one of them.
//!
//! Each packet of a connection passes both points. What its sender says in it (TSval, numbers, identification) is the same at both,
//! whatever the clocks say. [`crate::analysis::points_apart`] decides whether there are two points; TTLs say then which packet is of
//! which ([`crate::analysis::hops_apart`]), and the rest of that reading which connections both show; or a second reading does
//! ([`crate::analysis::pairs`]).
//!
//! Rule: docs/methods.md, "Two capture points with clocks of their own".

use crate::analysis::hops_apart::Hops;
use crate::analysis::options::Observer;
use crate::analysis::pairs::Pairs;
use crate::analysis::point_labels::TwoClocks;
use crate::analysis::points_apart::PointsApart;
use crate::analysis::second_look::Sample;
use crate::decode::frame::decode_segment;
use crate::packet::Packet;
use crate::read::chunk_source::ChunkSource;
use crate::read::record::{Chunk, Record};

/// Finds two points in what `open` gives, which is called up to three times: first to see whether `sample` makes them likely.
pub(crate) fn find<E>(
    mut sample: Sample,
    open: &dyn Fn() -> Result<Box<dyn ChunkSource>, E>,
    observer: &dyn Observer,
) -> Result<Option<TwoClocks>, E> {
    each_packet(open()?, observer, &mut |record, packet, bytes| sample.take(record, packet, bytes));
    if !sample.is_worth_looking() {
        return Ok(None);
    }
    let mut points = PointsApart::default();
    let (mut hops, mut is_enough) = (None, false);
    each_packet(open()?, observer, &mut |record, packet, bytes| {
        if is_enough {
            hops.iter_mut().for_each(|hops: &mut Hops| hops.see(packet, bytes));
            return true;
        }
        is_enough = !points.take(record, packet, bytes);
        if is_enough {
            hops = points.hops();
        }
        !is_enough || hops.is_some()
    });
    if let Some(hops) = hops.or_else(|| points.hops()) {
        return Ok(Some(TwoClocks::by_hops(hops)));
    }
    let Some(apart) = points.conclude() else { return Ok(None) };
    let mut pairs = Pairs::new(apart);
    each_packet(open()?, observer, &mut |record, packet, bytes| {
        pairs.take(record, packet, bytes);
        true
    });
    Ok(Some(pairs.conclude()))
}

/// Calls `take` for each TCP packet until it returns false.
fn each_packet(
    mut source: Box<dyn ChunkSource>,
    observer: &dyn Observer,
    take: &mut dyn FnMut(&Record, &Packet, &[u8]) -> bool,
) {
    let (mut chunk, mut packet) = (Chunk::default(), Packet::default());
    while source.next_chunk(&mut chunk).unwrap_or(false) && !observer.progress(source.consumed_bytes()) {
        for record in &chunk.records {
            if decode_segment(&chunk.bytes, record, &mut packet) && !take(record, &packet, &chunk.bytes) {
                return;
            }
        }
    }
}
