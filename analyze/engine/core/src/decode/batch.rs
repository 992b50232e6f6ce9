//! The packets of one chunk. Decoding needs nothing but the chunk; only joining fragments must go in file order.

use crate::decode::entered::TunnelPath;
use crate::decode::fragments::{Joined, Reassembler};
use crate::decode::frame::{Outcome, decode_into};
use crate::decode::other::Other;
use crate::decode::reason::CountsByInput;
use crate::decode::walk;
use crate::packet::Packet;
use crate::read::record::Chunk;

/// A frame that holds a fragment of an IP datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FragmentAt {
    /// Its index in [`Chunk::records`].
    pub record: u32,
    /// How many of the batch's packets come before it.
    pub packets_before: u32,
}

/// A frame without a TCP segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherAt {
    /// Its index in [`Chunk::records`].
    pub record: u32,
    /// Frames that it came in: 1, but for fragments.
    pub frames: u64,
    /// Their length on the wire.
    pub wire_bytes: u64,
    /// What it is.
    pub other: Other,
}

/// A TCP segment in a tunnel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tunnelled {
    /// Index of its frame in [`Chunk::records`].
    pub record: u32,
    /// As in its packet.
    pub flow_hash: u32,
    /// As in its packet.
    pub ports: u32,
}

/// What decoding made of a chunk.
#[derive(Debug, Default)]
pub struct Batch {
    /// Written over from chunk to chunk; the first `length` are those of this one.
    room: Vec<Packet>,
    length: usize,
    /// Fragments not yet joined, in file order.
    pub fragments: Vec<FragmentAt>,
    /// Frames that gave no packet, by input and reason; with those of earlier chunks whose fragments were joined or given up in
    /// this one.
    pub counts: CountsByInput,
    /// Frames without a TCP segment, in file order; of a datagram in fragments the one that completed it.
    pub others: Vec<OtherAt>,
    /// TCP segments in tunnels.
    pub tunnelled: Vec<Tunnelled>,
    /// Tunnels of records whose frames another run has read, in order of the records.
    pub(crate) known_tunnels: Vec<(u32, TunnelPath)>,
}

impl Batch {
    /// TCP segments in file order; they point into the chunk's bytes.
    #[inline]
    #[must_use]
    pub fn packets(&self) -> &[Packet] {
        self.room.get(..self.length).unwrap_or_default()
    }

    /// Empties the batch, keeping its allocations.
    pub fn clear(&mut self) {
        self.length = 0;
        self.fragments.clear();
        self.counts.clear();
        self.others.clear();
        self.tunnelled.clear();
        self.known_tunnels.clear();
    }

    /// The tunnels that one of [`Batch::others`] was found in; none where fragments had to be joined first.
    pub(crate) fn tunnels_of(&self, at: &OtherAt, chunk: &Chunk) -> Option<TunnelPath> {
        if !at.other.is_tunnelled {
            return None;
        }
        match self.known_tunnels.binary_search_by_key(&at.record, |(record, _)| *record) {
            Ok(place) => self.known_tunnels.get(place).map(|(_, path)| path.clone()),
            Err(_) => walk::tunnels_around_other(&chunk.bytes, chunk.records.get(at.record as usize)?),
        }
    }

    /// Decodes all records of a chunk, behind what the batch already holds of it.
    /// Of packets that go between other hosts than their header names, the header is written over.
    pub fn decode(&mut self, chunk: &mut Chunk) {
        let mut end = self.length;
        let most = end + chunk.records.len();
        if self.room.len() < most {
            self.room.resize(most, Packet::default());
        }
        let Chunk { bytes, records, .. } = chunk;
        for (index, record) in records.iter().enumerate() {
            // Packets of chunks gone by are written over in place: measured a third faster than pushing each one.
            let Some(packet) = self.room.get_mut(end) else { break };
            match decode_into(bytes, record, packet) {
                Outcome::Tcp => end += 1,
                Outcome::TcpInTunnel => {
                    end += 1;
                    let Packet { flow_hash, ports, .. } = *packet;
                    self.tunnelled.push(Tunnelled { record: index as u32, flow_hash, ports });
                }
                Outcome::Other(other) => {
                    self.counts.add_frame(record.input, other.reason, record.original_length);
                    let wire_bytes = u64::from(record.original_length);
                    self.others.push(OtherAt { record: index as u32, frames: 1, wire_bytes, other });
                }
                // A chunk's offsets are u32, so its records can be counted in one, too.
                Outcome::Fragment => {
                    self.fragments.push(FragmentAt { record: index as u32, packets_before: end as u32 });
                }
            }
        }
        self.length = end;
    }

    /// Joins the batch's fragments with those of the chunks before it. Completed datagrams are appended to the chunk's
    /// bytes, their segments come in at the place of the fragment that completed them.
    pub fn join_fragments(&mut self, chunk: &mut Chunk, reassembler: &mut Reassembler) {
        if self.fragments.is_empty() {
            return;
        }
        let mut joined = Vec::new();
        for at in self.fragments.drain(..) {
            let Some(record) = chunk.records.get(at.record as usize) else { continue };
            match reassembler.push(&mut chunk.bytes, record, &mut self.counts) {
                Some(Joined::Tcp(packet)) => joined.push((at.packets_before as usize, packet)),
                Some(Joined::Other { other, frames, wire_bytes }) => {
                    self.others.push(OtherAt { record: at.record, frames, wire_bytes, other });
                }
                None => {}
            }
        }
        self.others.sort_by_key(|at| at.record);
        if !joined.is_empty() {
            self.room = merge(self.packets(), &joined);
            self.length = self.room.len();
        }
    }
}

/// Puts each of `joined` before the packet whose index it names.
fn merge(packets: &[Packet], joined: &[(usize, Packet)]) -> Vec<Packet> {
    let mut merged = Vec::with_capacity(packets.len() + joined.len());
    let mut done = 0;
    for &(before, packet) in joined {
        merged.extend_from_slice(packets.get(done..before).unwrap_or_default());
        merged.push(packet);
        done = before;
    }
    merged.extend_from_slice(packets.get(done..).unwrap_or_default());
    merged
}
