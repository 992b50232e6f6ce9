//! Blocks that hold frames: enhanced, simple and obsolete packet blocks.

use crate::read::endian::{Endian, array_at, u32_at};
use crate::read::ledger::InputLedger;
use crate::read::pcapng::blocks::{Block, PacketOptions, block_type, near};
use crate::read::pcapng::{FRAMING_BYTES, MAX_BLOCK_BYTES, PcapngWalk, interface_at};
use crate::read::record::Record;
use crate::read::walk::{BytesAtHand, FAR_FROM_BOTH, MAX_FRAME_BYTES};

/// Fixed part of enhanced and obsolete packet blocks, without the trailer.
pub(super) const PACKET_HEADER_BYTES: usize = 28;

/// Blocks behind a packet among which the next of its interface is looked for.
const MOST_BLOCKS: usize = 64;

const SIMPLE_HEADER_BYTES: usize = 12;

/// The parts of a packet block that all kinds share.
struct PacketBlock<'a> {
    interface: u32,
    stamp: u64,
    captured: u32,
    original: u32,
    options: &'a [u8],
}

impl PcapngWalk {
    /// Takes enhanced packet blocks that are sound and have no options; stops at any other block. Nearly all blocks of
    /// nearly all files end here, so this loop has to be tight.
    pub(super) fn plain_packets<E: Endian>(&mut self, bytes: &[u8], mut at: usize, records: &mut Vec<Record>) -> usize {
        let (mut frame, mut last_ns) = (self.frame, self.last_ns);
        while let Some(head) = array_at::<PACKET_HEADER_BYTES>(bytes, at) {
            let [kind, length, index, high, low, captured, original] =
                std::array::from_fn(|field| u32_at::<E>(head, 4 * field).unwrap_or(0));
            // The block's length without its packet is 32 to 35 if there are no options.
            let rest = length.wrapping_sub(captured).wrapping_sub(32);
            let plain =
                kind == block_type::ENHANCED_PACKET && rest < 4 && captured <= original && original <= MAX_FRAME_BYTES;
            let end = at + length as usize;
            if !plain || end > bytes.len() || u32_at::<E>(bytes, end - 4) != Some(length) {
                break;
            }
            let Some(interface) = self.interfaces.get(index as usize) else {
                break;
            };
            // What is far from the packet before is looked at closer.
            let Some(time_ns) = interface.time_near(u64::from(high) << 32 | u64::from(low), last_ns) else {
                break;
            };
            last_ns = time_ns;
            frame = frame.wrapping_add(1);
            records.push(Record {
                time_ns,
                offset: (at + PACKET_HEADER_BYTES) as u32,
                captured_length: captured,
                original_length: original,
                frame,
                link_type: interface.link_type,
                input: self.input,
                interface: interface_at(self.first_interface, index),
                fcs_length: interface.fcs_length,
            });
            at = end;
        }
        (self.frame, self.last_ns) = (frame, last_ns);
        at
    }

    /// Whether the packet of an enhanced packet block has an impossible time; an error says how many bytes from the block's
    /// start it takes to tell.
    pub(super) fn is_timeless<E: Endian>(
        &self,
        window: BytesAtHand<'_>,
        block: Block<'_>,
        records: &[Record],
        ledger: &InputLedger,
    ) -> Result<bool, usize> {
        let Some((packet, interface)) = packet_block::<E>(block.body)
            .and_then(|packet| self.interfaces.get(packet.interface as usize).map(|interface| (packet, interface)))
        else {
            return Ok(false);
        };
        let time_ns = interface.time_ns(packet.stamp);
        let number = interface_at(self.first_interface, packet.interface);
        let timed = records.iter().rev().find(|known| known.interface == number && known.time_ns != Record::NO_TIME);
        let last_ns = timed.map(|record| record.time_ns).or_else(|| ledger.last_ns(number));
        let Some(last_ns) = last_ns.filter(|&last_ns| time_ns != Record::NO_TIME && !near(time_ns, last_ns)) else {
            return Ok(false);
        };
        let mut at = block.at + block.body.len() + 4;
        for _ in 0..MOST_BLOCKS {
            let Some(head) = array_at::<PACKET_HEADER_BYTES>(window.bytes, at) else {
                return if window.at_end { Ok(false) } else { Err(at + PACKET_HEADER_BYTES - block.at) };
            };
            let word = |field: usize| u32_at::<E>(head, 4 * field).unwrap_or(0);
            if word(0) == block_type::ENHANCED_PACKET && word(2) == packet.interface {
                let next_ns = interface.time_ns(u64::from(word(3)) << 32 | u64::from(word(4)));
                return Ok(next_ns != Record::NO_TIME && near(next_ns, last_ns) && !near(next_ns, time_ns));
            }
            at += word(1) as usize;
            // All up to there must be at hand: no more than for the largest block.
            if word(0) == block_type::SECTION_HEADER
                || (word(1) as usize) < FRAMING_BYTES
                || at - block.at > MAX_BLOCK_BYTES as usize
            {
                return Ok(false);
            }
        }
        Ok(false)
    }

    pub(super) fn enhanced_packet<E: Endian>(
        &mut self,
        block: Block<'_>,
        is_timeless: bool,
        records: &mut Vec<Record>,
        ledger: &mut InputLedger,
    ) {
        let Some(packet) = packet_block::<E>(block.body) else {
            return block.report_unusable("a packet block without room for its packet", ledger);
        };
        let last_ns = self.last_ns;
        self.packet::<E>(packet, block, records, ledger);
        if is_timeless && let Some(record) = records.last_mut() {
            ledger.damage(block.offset, 0, FAR_FROM_BOTH);
            (record.time_ns, self.last_ns) = (Record::NO_TIME, last_ns);
        }
    }

    fn packet<E: Endian>(
        &mut self,
        packet: PacketBlock<'_>,
        block: Block<'_>,
        records: &mut Vec<Record>,
        ledger: &mut InputLedger,
    ) {
        let Some(interface) = self.interfaces.get(packet.interface as usize) else {
            return block.report_unusable("a packet of an interface that is not described", ledger);
        };
        if packet.original > MAX_FRAME_BYTES {
            return block.report_unusable("a packet that claims more than 16 MiB on the wire", ledger);
        }
        let options = PacketOptions::parse::<E>(packet.options);
        self.frame = self.frame.wrapping_add(1);
        let time_ns = interface.time_ns(packet.stamp);
        if time_ns != Record::NO_TIME {
            self.last_ns = time_ns;
        }
        records.push(Record {
            time_ns,
            offset: (block.at + PACKET_HEADER_BYTES) as u32,
            captured_length: packet.captured,
            original_length: packet.original.max(packet.captured),
            frame: self.frame,
            link_type: interface.link_type,
            input: self.input,
            interface: interface_at(self.first_interface, packet.interface),
            fcs_length: options.fcs_length.unwrap_or(interface.fcs_length),
        });
        self.note_drops(options.dropped, ledger);
    }

    /// Obsolete packet blocks hold a count of drops beside a 16-bit interface number (draft appendix A).
    pub(super) fn obsolete_packet<E: Endian>(
        &mut self,
        block: Block<'_>,
        records: &mut Vec<Record>,
        ledger: &mut InputLedger,
    ) {
        let Some(mut packet) = packet_block::<E>(block.body) else {
            return block.report_unusable("a packet block without room for its packet", ledger);
        };
        let number = |at| array_at(block.body, at).map_or(0, |number| E::u16(*number));
        packet.interface = u32::from(number(8));
        let drops = number(10);
        // All bits set: unknown.
        self.note_drops((drops != u16::MAX).then_some(u64::from(drops)), ledger);
        self.packet::<E>(packet, block, records, ledger);
    }

    pub(super) fn simple_packet<E: Endian>(
        &mut self,
        block: Block<'_>,
        records: &mut Vec<Record>,
        ledger: &mut InputLedger,
    ) {
        let Some(interface) = self.interfaces.first() else {
            return block.report_unusable("a packet of an interface that is not described", ledger);
        };
        let original = u32_at::<E>(block.body, 8).unwrap_or(u32::MAX);
        let snap = if interface.snap_length == 0 { u32::MAX } else { interface.snap_length };
        let captured = original.min(snap);
        if original > MAX_FRAME_BYTES || captured as usize > block.body.len().saturating_sub(SIMPLE_HEADER_BYTES) {
            return block.report_unusable("a packet block without room for its packet", ledger);
        }
        self.frame = self.frame.wrapping_add(1);
        records.push(Record {
            time_ns: Record::NO_TIME,
            offset: (block.at + SIMPLE_HEADER_BYTES) as u32,
            captured_length: captured,
            original_length: original,
            frame: self.frame,
            link_type: interface.link_type,
            input: self.input,
            interface: interface_at(self.first_interface, 0),
            fcs_length: interface.fcs_length,
        });
    }
}

/// The shared layout of enhanced and obsolete packet blocks; none if the packet does not fit.
fn packet_block<E: Endian>(body: &[u8]) -> Option<PacketBlock<'_>> {
    let head = body.first_chunk::<PACKET_HEADER_BYTES>()?;
    let captured = u32_at::<E>(head, 20)?;
    let room = body.len() - PACKET_HEADER_BYTES;
    if captured as usize > room {
        return None;
    }
    let padded = (captured as usize).next_multiple_of(4);
    Some(PacketBlock {
        interface: u32_at::<E>(head, 8)?,
        stamp: u64::from(u32_at::<E>(head, 12)?) << 32 | u64::from(u32_at::<E>(head, 16)?),
        captured,
        original: u32_at::<E>(head, 24)?,
        options: body.get(PACKET_HEADER_BYTES + padded..).unwrap_or(&[]),
    })
}
