//! What is no TCP, of all runs in order: names, datagram flows, echoes and neighbours, by the code of any reading, with the connections of
//! all buckets beside them.

use std::io::{Error, ErrorKind};

use crate::analysis::failure::Failure;
use crate::analysis::options::{Observer, Options};
use crate::analysis::others::Others;
use crate::analysis::outline::Outline;
use crate::analysis::results::{Analysis, Datagrams};
use crate::analysis::slices::bucket::OpenSlices;
use crate::analysis::slices::frames::FramesPiece;
use crate::analysis::slices::outlines::unpacked;
use crate::dns::lookups::Lookups;
use crate::dns::resolutions::resolutions;
use crate::read::read_error::ReadError;

/// What a bucket gave.
pub struct Outlined<'a> {
    /// Its [`Analysis::packed_outlines`].
    pub outlines: &'a [u8],
    /// The numbers of its connections among all.
    pub numbers: &'a [u32],
}

/// Takes the frames of the slices that `open` gives, and what the connections of all buckets looked up and followed. The result has no
/// connections.
///
/// # Errors
/// [`Failure::Read`] if a slice cannot be read (its number is that of the input), or what a bucket gave is damaged.
pub fn beyond(
    open: OpenSlices<'_>,
    buckets: &[Outlined<'_>],
    options: &Options,
    observer: &dyn Observer,
) -> Result<Analysis, Failure> {
    let failed = |input: usize, source| {
        Failure::Read(vec![ReadError::Io { input: u16::try_from(input).unwrap_or(u16::MAX), source }])
    };
    let (mut others, mut piece, mut beginnings) = (Others::new(options), FramesPiece::default(), Vec::new());
    let (mut read_bytes, mut interrupted) = (0, false);
    'slices: for (number, mut slice) in open().map_err(|source| failed(0, source))?.into_iter().enumerate() {
        while piece.read(&mut slice.reader, &slice.inputs).map_err(|source| failed(number, source))? {
            others.chunk_without_tunnels(&piece.chunk, &piece.batch);
            beginnings.append(&mut piece.beginnings);
            read_bytes += piece.chunk.bytes.len() as u64;
            interrupted = observer.progress(read_bytes);
            if interrupted {
                break 'slices;
            }
        }
    }
    others.lookups.cut_answers(&beginnings);
    let damaged = || failed(0, Error::new(ErrorKind::InvalidData, "outlines of connections are damaged"));
    let (outlines, over_tcp) = together(buckets).ok_or_else(damaged)?;
    let Others { mut lookups, icmp, flows, neighbours, errors_of_none, .. } = others;
    lookups.merge(over_tcp);
    let resolutions = resolutions(lookups.all(), outlines.iter().map(Outline::follower));
    Ok(Analysis {
        interrupted,
        datagrams: Datagrams { flows, neighbours, protocols: Vec::new(), errors_of_none },
        lookups,
        resolutions,
        echoes: icmp.echoes,
        known_outlines: Some(outlines),
        ..Analysis::default()
    })
}

/// Connections of all buckets in the order of their numbers, and the names that they looked up.
fn together(buckets: &[Outlined<'_>]) -> Option<(Vec<Outline>, Vec<Lookups>)> {
    let mut all = Vec::new();
    for bucket in buckets {
        all.extend(unpacked(bucket.outlines, bucket.numbers)?);
    }
    all.sort_by_key(|(outline, _)| outline.id);
    let (outlines, lookups): (Vec<_>, Vec<_>) = all.into_iter().unzip();
    Some((outlines, lookups.into_iter().flatten().collect()))
}
