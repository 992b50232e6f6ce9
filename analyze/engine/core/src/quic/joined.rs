//! Several datagrams of a connection that were captured as one: a sender leaves it to the kernel or its card to cut them up (UDP
//! segmentation offload), or a receiver joined them. All have one size, but for the last, which may be shorter.
//!
//! Rule: docs/methods.md, "Datagrams captured as one".

use crate::quic::header;
use crate::quic::version::Version;

/// The largest payload of UDP in an Ethernet frame: what is longer may be several datagrams.
pub(crate) const LARGEST_IN_A_FRAME: usize = 1472;

/// Datagrams with Initials are no shorter (RFC 9000 section 14.1), nor are those of a handshake that are sent together.
const FEWEST_BYTES: usize = 1200;

/// No packet with a short header is told from noise if it is shorter (RFC 9000 section 10.3).
pub(super) const SHORTEST_PACKET: usize = 21;

/// An id this long stands inside of no packet by chance.
const LEAST_ID_BYTES: usize = 4;

/// Packets that say their lengths, in one frame: more are made up.
const MOST_PACKETS: usize = 128;

/// Bytes that are compared at a time.
const STRIDE: usize = 32;

/// What a captured payload of UDP holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joined {
    /// One datagram.
    One,
    /// Datagrams of so many bytes, the last one of what is left.
    Of(u32),
    /// One or several; nobody can say.
    Unknown,
}

impl Joined {
    /// Of a payload that nothing tells more about than its length.
    pub(crate) fn by_length(length: u32) -> Self {
        if length as usize > LARGEST_IN_A_FRAME { Self::Unknown } else { Self::One }
    }

    /// The datagrams: what was captured of each, and how many bytes it had.
    pub fn parts(self, captured: &[u8], length: u32) -> impl Iterator<Item = (&[u8], u32)> {
        let size = if let Self::Of(size) = self { size.max(1) } else { length.max(1) };
        (0..length.div_ceil(size).max(1)).map(move |place| {
            let start = place * size;
            let end = captured.len().min((start + size) as usize);
            (captured.get(start as usize..end).unwrap_or_default(), size.min(length - start))
        })
    }
}

/// By the headers in a payload to an end whose ids have `id_bytes`. Where only keys can tell: where the first short header stands.
pub(super) fn by_headers(captured: &[u8], length: u32, id_bytes: Option<usize>) -> Result<Joined, usize> {
    let Some(Packets { edges, short }) = packets(captured) else { return Ok(Joined::by_length(length)) };
    let is_long = length as usize > LARGEST_IN_A_FRAME;
    let Some(short) = short else {
        // Packets that say their lengths, one behind the other: how they were sent matters to no one but who counts datagrams.
        let fitting = || smallest(&edges, length as usize, |at| edges.contains(&at));
        return Ok(if is_long { fitting().map_or(Joined::Unknown, Joined::Of) } else { Joined::One });
    };
    let id_bytes = id_bytes.filter(|&bytes| bytes >= LEAST_ID_BYTES).ok_or(short)?;
    let Some(id) = captured.get(short + 1..=short + id_bytes) else { return Ok(Joined::by_length(length)) };
    let next = next_with(captured, short + SHORTEST_PACKET, id);
    let starts = |at: usize| match captured.get(at) {
        Some(first) if first & 0xc0 == 0x40 => {
            captured.get(at + 1..captured.len().min(at + 1 + id_bytes)).is_some_and(|found| id.starts_with(found))
        }
        Some(_) => edges.contains(&at),
        None => true,
    };
    match next {
        Some(next) => {
            let sizes: Vec<usize> = edges.iter().copied().filter(|&edge| edge >= FEWEST_BYTES).chain([next]).collect();
            let fitting = sizes.into_iter().find(|&size| multiples(size, length as usize).all(starts));
            Ok(fitting.map_or(Joined::Unknown, |size| Joined::Of(size as u32)))
        }
        None if is_long && short > 0 => {
            Ok(smallest(&edges, length as usize, starts).map_or(Joined::Unknown, Joined::Of))
        }
        // The whole of it was seen, and nothing begins in it.
        None if captured.len() >= length as usize => Ok(Joined::One),
        None => Ok(Joined::by_length(length)),
    }
}

/// Where packets behind the first one begin, and where the first short header stands.
struct Packets {
    edges: Vec<usize>,
    short: Option<usize>,
}

/// Walks over packets that say their lengths; none if one of them cannot be read, or was padded from outside.
fn packets(captured: &[u8]) -> Option<Packets> {
    let (mut at, mut edges) = (0, Vec::new());
    while let Some(&first) = captured.get(at) {
        if at > 0 {
            edges.push(at);
        }
        if edges.len() > MOST_PACKETS {
            return None;
        }
        if !header::is_long(first) {
            return (first & 0x40 != 0).then_some(Packets { edges, short: Some(at) });
        }
        let packet = captured.get(at..)?;
        let version = Version::of(header::long_header(packet)?.version)?;
        at = at.checked_add(header::long_packet(packet, version)?.bytes.max(1))?;
    }
    (at <= captured.len()).then_some(Packets { edges, short: None })
}

/// The smallest size of datagrams of a handshake at whose multiples packets start.
fn smallest(edges: &[usize], length: usize, starts: impl Fn(usize) -> bool) -> Option<u32> {
    let large = edges.iter().copied().filter(|&edge| edge >= FEWEST_BYTES);
    large.into_iter().find(|&size| multiples(size, length).all(&starts)).map(|size| size as u32)
}

fn multiples(size: usize, length: usize) -> impl Iterator<Item = usize> {
    (size.max(1)..length).step_by(size.max(1))
}

/// The next place, `from` there on, of a short header with this id.
fn next_with(captured: &[u8], from: usize, id: &[u8]) -> Option<usize> {
    let (&first, behind) = id.split_first()?;
    let ids = captured.get(from + 1..)?;
    let holds = |chunk: &[u8]| chunk.iter().fold(false, |found, &byte| found | (byte == first));
    let is_start = |at: &usize| {
        captured[at - 1] & 0xc0 == 0x40 && captured[*at] == first && captured[at + 1..].starts_with(behind)
    };
    (from + 1..)
        .step_by(STRIDE)
        .zip(ids.chunks(STRIDE))
        .filter(|(_, chunk)| holds(chunk))
        .find_map(|(at, chunk)| (at..at + chunk.len()).find(is_start).map(|at| at - 1))
}
