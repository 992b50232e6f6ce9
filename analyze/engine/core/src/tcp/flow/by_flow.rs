//! The packets of a chunk, flow by flow: which belong together and in which of the two directions each goes.
//!
//! Needs nothing but the chunk, so that whoever decodes it can do this, on any thread. [`crate::tcp::flow::table`] then looks up one
//! connection for each line and not for each packet, and takes its packets one after the other.
//!
//! ```text
//! packets   A> B> A> A< C> B<          line A: 0 2 3    line B: 1 5    line C: 4
//! followers 2> 5< 3< END END END       first packets and their shards; the rest hangs on them
//! ```

use std::ops::RangeInclusive;

use crate::packet::Packet;

/// Flows that are told apart at a time, by the low bits of their hash. A flow that loses its place to another gets a further line
/// in the same chunk, whose packets all come after those of the line before.
const PLACES: usize = 1024;

/// A packet in a line: its index in the chunk, and in the lowest bit whether it goes the other way than the line's first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link(u32);

impl Link {
    /// The index lies behind any chunk's last packet.
    pub const END: Self = Self(u32::MAX);

    /// A packet by its index.
    #[inline]
    pub fn new(index: u32, is_reverse: bool) -> Self {
        Self(index << 1 | u32::from(is_reverse))
    }

    /// Index in the chunk.
    #[inline]
    pub fn index(self) -> usize {
        (self.0 >> 1) as usize
    }

    /// It goes the other way than the first packet of its line.
    #[inline]
    pub fn is_reverse(self) -> bool {
        self.0 & 1 != 0
    }
}

/// A flow within the chunk that lines are made of.
#[derive(Debug, Clone, Copy, Default)]
struct ChunkFlow {
    /// Of the line's first packet.
    address_key: u64,
    ports: u32,
    /// The line's last packet so far.
    tail: u32,
    /// Number of the chunk the rest is about.
    chunk: u64,
    /// Of the line's first packet, for flows whose addresses are not all in the key.
    address_offset: u32,
    ip_version: u8,
}

/// Whether an IPv4 packet is of the flow with this [`Packet::address_key`] and these ports, and then whether it goes the other way.
///
/// Which way it goes nobody can predict where flows take turns: it must not become a branch.
#[inline(always)]
pub(crate) fn is_reverse_v4(address_key: u64, ports: u32, packet: &Packet) -> Option<bool> {
    let differs = |address_key: u64, ports: u32| (packet.address_key ^ address_key) | u64::from(packet.ports ^ ports);
    let same_way = differs(address_key, ports);
    let reverse = differs(address_key.rotate_left(32), ports.rotate_left(16));
    (same_way.min(reverse) == 0).then_some(same_way != 0)
}

/// The same of an IPv6 packet and a flow with this pair of addresses; `bytes` are those of the packet's chunk.
pub(crate) fn is_reverse_v6(pair: &[u8; 32], ports: u32, packet: &Packet, bytes: &[u8]) -> Option<bool> {
    let own = pair_at(bytes, packet.address_offset)?;
    if packet.ports == ports && own == pair {
        return Some(false);
    }
    let swapped = own[..16] == pair[16..] && own[16..] == pair[..16];
    (packet.ports == ports.rotate_left(16) && swapped).then_some(true)
}

/// The two IPv6 addresses at a place, if all of them are there.
fn pair_at(bytes: &[u8], offset: u32) -> Option<&[u8; 32]> {
    bytes.get(offset as usize..)?.first_chunk()
}

/// See the module.
#[derive(Debug)]
pub struct Lines {
    /// First packets of the lines, by shard.
    by_shard: Vec<Vec<u32>>,
    /// For each packet the next one of its line.
    followers: Vec<Link>,
    places: Box<[ChunkFlow; PLACES]>,
    /// The places that flows of the chunk have taken.
    taken: Vec<u16>,
    /// Number of the chunk, from 1.
    chunk: u64,
    /// Flows whose hash is another have no line.
    hashes: RangeInclusive<u32>,
}

impl Default for Lines {
    fn default() -> Self {
        Self::of(0..=u32::MAX)
    }
}

impl Lines {
    /// Lines of the flows with these hashes, and of no others.
    pub fn of(hashes: RangeInclusive<u32>) -> Self {
        Self {
            hashes,
            by_shard: Vec::new(),
            followers: Vec::new(),
            places: Box::new([ChunkFlow::default(); PLACES]),
            taken: Vec::new(),
            chunk: 0,
        }
    }

    /// Lines up the packets of a chunk for so many shards. `bytes` are those of the chunk.
    pub fn line_up(&mut self, packets: &[Packet], bytes: &[u8], shards: usize) {
        self.by_shard.resize_with(shards.max(1), Vec::new);
        self.by_shard.iter_mut().for_each(Vec::clear);
        if self.followers.len() < packets.len() {
            self.followers.resize(packets.len(), Link::END);
        }
        self.chunk += 1;
        self.taken.clear();
        for (packet, index) in packets.iter().zip(0..) {
            self.add(packet, index, bytes);
        }
        for &place in &self.taken {
            let tail = self.places[usize::from(place) % PLACES].tail;
            follow(&mut self.followers, tail, Link::END);
        }
    }

    #[inline(always)]
    fn add(&mut self, packet: &Packet, index: u32, bytes: &[u8]) {
        let place = &mut self.places[packet.flow_hash as usize % PLACES];
        if place.chunk == self.chunk
            && place.ip_version == packet.ip_version
            && packet.ip_version == 4
            && let Some(is_reverse) = is_reverse_v4(place.address_key, place.ports, packet)
        {
            follow(&mut self.followers, place.tail, Link::new(index, is_reverse));
            place.tail = index;
        } else {
            self.add_any(packet, index, bytes);
        }
    }

    /// A packet of a flow that has no place, or not of IPv4.
    #[inline(never)]
    fn add_any(&mut self, packet: &Packet, index: u32, bytes: &[u8]) {
        let &Packet { address_key, ports, flow_hash, address_offset, ip_version, .. } = packet;
        let place = &mut self.places[flow_hash as usize % PLACES];
        let tail = std::mem::replace(&mut place.tail, index);
        if place.chunk == self.chunk {
            let pair = pair_at(bytes, place.address_offset).filter(|_| place.ip_version == 6 && ip_version == 6);
            let is_reverse = pair.and_then(|pair| is_reverse_v6(pair, place.ports, packet, bytes));
            follow(&mut self.followers, tail, is_reverse.map_or(Link::END, |reverse| Link::new(index, reverse)));
            if is_reverse.is_some() {
                return;
            }
        } else {
            self.taken.push((flow_hash as usize % PLACES) as u16);
        }
        *place = ChunkFlow { address_key, ports, tail: index, chunk: self.chunk, address_offset, ip_version };
        if !self.hashes.contains(&flow_hash) {
            return;
        }
        // The shard takes the middle bits of the hash; the tables within use the others.
        let shard = (u64::from(flow_hash.rotate_left(16)) * self.by_shard.len() as u64) >> 32;
        if let Some(lines) = self.by_shard.get_mut(shard as usize) {
            lines.push(index);
        }
    }

    /// How many lines there are.
    pub fn count(&self) -> usize {
        self.by_shard.iter().map(Vec::len).sum()
    }

    /// The first packets of a shard's lines, in order.
    pub fn of_shard(&self, shard: usize) -> &[u32] {
        self.by_shard.get(shard).map_or(&[], Vec::as_slice)
    }

    /// The packet after this one in its line, [`Link::END`] behind the last.
    #[inline(always)]
    pub fn after(&self, link: Link) -> Link {
        self.followers.get(link.index()).copied().unwrap_or(Link::END)
    }
}

#[inline(always)]
fn follow(followers: &mut [Link], tail: u32, next: Link) {
    if let Some(follower) = followers.get_mut(tail as usize) {
        *follower = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A packet between two numbered ends; those of IPv6 have their addresses at 32 times their number in the bytes.
    fn packet(source: u32, destination: u32, ip_version: u8) -> Packet {
        let (address_key, address_offset) = match ip_version {
            4 => (u64::from(source) << 32 | u64::from(destination), 0),
            // As the hash that decoding leaves, it says nothing of the way back.
            _ => (u64::from(3 * source + 5 * destination), 32 * (8 * source + destination)),
        };
        let ports = (1000 + source) << 16 | (1000 + destination);
        Packet { address_key, ports, flow_hash: source + destination, address_offset, ip_version, ..Packet::default() }
    }

    /// Address pairs of all ends below 8, as [`packet`] has them.
    fn addresses() -> Vec<u8> {
        (0..8u8)
            .flat_map(|source| (0..8u8).flat_map(move |destination| [[source; 16], [destination; 16]].concat()))
            .collect()
    }

    /// The lines of all shards: packets and whether each goes the other way than the first.
    fn lines_of(lines: &Lines, shards: usize) -> Vec<Vec<(usize, bool)>> {
        let walk = |&first: &u32| {
            std::iter::successors(Some(Link::new(first, false)), |&link| Some(lines.after(link)))
                .take_while(|&link| link != Link::END)
                .map(|link| (link.index(), link.is_reverse()))
                .collect()
        };
        (0..shards).flat_map(|shard| lines.of_shard(shard).iter().map(walk)).collect()
    }

    #[test]
    fn packets_of_a_flow_stand_in_one_line_with_their_directions() {
        let packets =
            [packet(1, 2, 4), packet(3, 4, 4), packet(1, 2, 4), packet(2, 1, 4), packet(5, 7, 4), packet(4, 3, 4)];
        let mut lines = Lines::default();
        lines.line_up(&packets, &[], 1);
        let expected = [vec![(0, false), (2, false), (3, true)], vec![(1, false), (5, true)], vec![(4, false)]];
        assert_eq!((lines_of(&lines, 1), lines.count()), (expected.to_vec(), 3));
    }

    #[test]
    fn a_chunk_knows_nothing_of_the_one_before() {
        let mut lines = Lines::default();
        lines.line_up(&[packet(1, 2, 4), packet(2, 1, 4), packet(1, 2, 4)], &[], 1);
        lines.line_up(&[packet(2, 1, 4), packet(2, 1, 4)], &[], 1);
        assert_eq!(lines_of(&lines, 1), [vec![(0, false), (1, false)]]);
        lines.line_up(&[], &[], 1);
        assert_eq!((lines_of(&lines, 1), lines.count()), (vec![], 0));
    }

    #[test]
    fn addresses_beyond_the_captured_bytes_are_of_no_flow() {
        let mut lines = Lines::default();
        lines.line_up(&[packet(1, 2, 6), packet(1, 2, 6)], &[], 1);
        assert_eq!(lines_of(&lines, 1), [vec![(0, false)], vec![(1, false)]]);
    }

    proptest! {
        #[test]
        fn flows_of_other_hashes_have_no_line(
            ends in proptest::collection::vec((0u32..8, 0u32..8), 0..100), first in 0u32..16, length in 0u32..8,
        ) {
            let packets: Vec<Packet> = ends.iter().map(|&(a, b)| packet(a, b, 4)).collect();
            let hashes = first..=first + length;
            let mut lines = Lines::of(hashes.clone());
            lines.line_up(&packets, &[], 2);
            let mut found: Vec<usize> = lines_of(&lines, 2).into_iter().flatten().map(|(index, _)| index).collect();
            found.sort_unstable();
            let wanted = packets.iter().enumerate().filter(|(_, packet)| hashes.contains(&packet.flow_hash));
            prop_assert!(found.into_iter().eq(wanted.map(|(index, _)| index)));
        }

        /// Ends of one sum share a place, as flows of one hash do.
        #[test]
        fn every_packet_stands_in_one_line_of_its_own_flow_behind_those_before(
            ends in proptest::collection::vec((0u32..8, 0u32..8, any::<bool>()), 0..200), shards in 1usize..5,
        ) {
            let packets: Vec<Packet> = ends.iter().map(|&(a, b, v6)| packet(a, b, if v6 { 6 } else { 4 })).collect();
            let mut lines = Lines::default();
            lines.line_up(&packets, &addresses(), shards);
            let found = lines_of(&lines, shards);
            prop_assert_eq!(found.len(), lines.count());
            for line in &found {
                let (source, destination, v6) = ends[line[0].0];
                for &(index, is_reverse) in line {
                    let way = if is_reverse { (destination, source, v6) } else { (source, destination, v6) };
                    prop_assert_eq!(ends[index], way);
                }
            }
            let flow = |index: usize| { let (a, b, v6) = ends[index]; (a.min(b), a.max(b), v6) };
            let mut last = std::collections::HashMap::new();
            for &(index, _) in found.iter().flatten() {
                prop_assert!(last.insert(flow(index), index).is_none_or(|before| before < index));
            }
            let mut indices: Vec<usize> = found.iter().flatten().map(|&(index, _)| index).collect();
            indices.sort_unstable();
            prop_assert!(indices.into_iter().eq(0..packets.len()));
        }
    }
}
