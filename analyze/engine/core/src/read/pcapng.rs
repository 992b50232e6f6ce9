//! The walk over pcapng blocks (draft-ietf-opsawg-pcapng). Owns sections, packets and the way back after damage; what
//! the rarer blocks hold is `pcapng_blocks`'.
//!
//! A block repeats its length at its end, so that a false length shows at once: the search for the next good block
//! starts within the damaged one and nothing is ever taken back. Section lengths are not needed and not looked at.

use super::Record;
use super::endian::{Big, Endian, Little, array_at, u32_at};
use super::ledger::Ledger;
use super::pcapng_blocks::{Drops, Interface, PacketOptions, TLS_KEY_LOG, block};
use super::record_walk::CUT_SHORT;
use super::walk::{Found, MAX_FRAME_BYTES, Stop, Walk, Walked, Window};

/// The first bytes of the file: the type of a section header block.
pub(super) const MAGIC: &[u8; 4] = &[0x0a, 0x0d, 0x0d, 0x0a];

/// Largest block that is believed.
const MAX_BLOCK_BYTES: u32 = MAX_FRAME_BYTES + (1 << 16);
/// Largest block at which a search stops.
const MAX_FOUND_BLOCK_BYTES: u32 = 512 << 10;
/// Type and length in front, the length again at the end.
const FRAMING_BYTES: usize = 12;
const SECTION_HEADER_BYTES: usize = 28;
/// Fixed part of enhanced and obsolete packet blocks, without the trailer.
const PACKET_HEADER_BYTES: usize = 28;
const SIMPLE_HEADER_BYTES: usize = 12;
/// Interfaces of one section that are believed.
const MAX_INTERFACES: usize = 1 << 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Little,
    Big,
}

/// Walks over the blocks of one file.
pub(super) struct PcapngWalk {
    input: u16,
    order: Order,
    frame: u32,
    /// Interfaces of this section.
    interfaces: Vec<Interface>,
    /// How many there were in the sections before.
    first_interface: usize,
    /// Drops of the sections before.
    drops: Drops,
    /// Drops that packets themselves report.
    dropped_before_packets: Option<u64>,
    /// Start of the stretch that is passed over, and why.
    lost: Option<(u64, String)>,
}

/// The parts of a packet block that all kinds share.
struct PacketBlock<'a> {
    interface: u32,
    stamp: u64,
    captured: u32,
    original: u32,
    options: &'a [u8],
}

/// Starts a walk at the section header block that opens a file.
pub(super) fn open(input: u16, ledger: &mut Ledger) -> Box<dyn Walk> {
    ledger.facts.format = "pcapng";
    Box::new(PcapngWalk {
        input,
        order: Order::Little,
        frame: 0,
        interfaces: Vec::new(),
        first_interface: 0,
        drops: Drops::default(),
        dropped_before_packets: None,
        lost: None,
    })
}

fn section_order(block: &[u8]) -> Option<Order> {
    match array_at(block, 8)? {
        [0x4d, 0x3c, 0x2b, 0x1a] => Some(Order::Little),
        [0x1a, 0x2b, 0x3c, 0x4d] => Some(Order::Big),
        _ => None,
    }
}

fn interface_at(first: usize, index: u32) -> u16 {
    u16::try_from(first.saturating_add(index as usize)).unwrap_or(u16::MAX)
}

impl PcapngWalk {
    /// Takes blocks one after the other from `at`, until one is incomplete, wrong, or begins a section.
    fn run<E: Endian>(
        &mut self,
        window: Window<'_>,
        mut at: usize,
        records: &mut Vec<Record>,
        ledger: &mut Ledger,
    ) -> (usize, Option<Stop>) {
        let bytes = window.bytes;
        loop {
            at = self.plain_packets::<E>(bytes, at, records);
            let Some(head) = array_at::<8>(bytes, at) else {
                return (at, Some(Stop::Short(FRAMING_BYTES)));
            };
            let (Some(kind), Some(length)) = (u32_at::<E>(head, 0), u32_at::<E>(head, 4)) else {
                return (at, Some(Stop::Short(FRAMING_BYTES)));
            };
            if kind == block::SECTION_HEADER {
                return (at, None);
            }
            if (length as usize) < FRAMING_BYTES || length > MAX_BLOCK_BYTES {
                return (at, Some(Stop::Bad(format!("a block that claims {length} bytes"))));
            }
            let end = at + length as usize;
            let Some(block) = bytes.get(at..end) else {
                return (at, Some(Stop::Short(length as usize)));
            };
            let (body, trailer) = block.split_at(block.len() - 4);
            if u32_at::<E>(trailer, 0) != Some(length) {
                return (at, Some(Stop::Bad(WRONG_TRAILER.to_owned())));
            }
            self.other_block::<E>(kind, window, at, body, records, ledger);
            at = end;
        }
    }

    /// Takes enhanced packet blocks that are sound and have no options; stops at any other block. Nearly all blocks of
    /// nearly all files end here, so this loop has to be tight.
    fn plain_packets<E: Endian>(&mut self, bytes: &[u8], mut at: usize, records: &mut Vec<Record>) -> usize {
        let mut frame = self.frame;
        while let Some(head) = array_at::<PACKET_HEADER_BYTES>(bytes, at) {
            let [kind, length, index, high, low, captured, original] =
                std::array::from_fn(|field| u32_at::<E>(head, 4 * field).unwrap_or(0));
            // The block's length without its packet is 32 to 35 if there are no options.
            let rest = length.wrapping_sub(captured).wrapping_sub(32);
            let plain = kind == block::ENHANCED_PACKET && rest < 4 && captured <= original && original <= MAX_FRAME_BYTES;
            let end = at + length as usize;
            if !plain || end > bytes.len() || u32_at::<E>(bytes, end - 4) != Some(length) {
                break;
            }
            let Some(interface) = self.interfaces.get(index as usize) else {
                break;
            };
            frame = frame.wrapping_add(1);
            records.push(Record {
                time_ns: interface.time_ns(u64::from(high) << 32 | u64::from(low)),
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
        self.frame = frame;
        at
    }

    fn enhanced_packet<E: Endian>(
        &mut self,
        window: Window<'_>,
        at: usize,
        body: &[u8],
        records: &mut Vec<Record>,
        ledger: &mut Ledger,
    ) {
        let Some(packet) = packet_block::<E>(body) else {
            return bad_block(window, at, body, "a packet block without room for its packet", ledger);
        };
        self.packet::<E>(packet, window, at, body, records, ledger);
    }

    fn packet<E: Endian>(
        &mut self,
        packet: PacketBlock<'_>,
        window: Window<'_>,
        at: usize,
        body: &[u8],
        records: &mut Vec<Record>,
        ledger: &mut Ledger,
    ) {
        let Some(interface) = self.interfaces.get(packet.interface as usize) else {
            return bad_block(window, at, body, "a packet of an interface that is not described", ledger);
        };
        if packet.original > MAX_FRAME_BYTES {
            return bad_block(window, at, body, "a packet that claims more than 16 MiB on the wire", ledger);
        }
        let options = PacketOptions::parse::<E>(packet.options);
        self.frame = self.frame.wrapping_add(1);
        records.push(Record {
            time_ns: interface.time_ns(packet.stamp),
            offset: (at + PACKET_HEADER_BYTES) as u32,
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
    fn obsolete_packet<E: Endian>(
        &mut self,
        window: Window<'_>,
        at: usize,
        body: &[u8],
        records: &mut Vec<Record>,
        ledger: &mut Ledger,
    ) {
        let Some(mut packet) = packet_block::<E>(body) else {
            return bad_block(window, at, body, "a packet block without room for its packet", ledger);
        };
        let number = |at| array_at(body, at).map_or(0, |number| E::u16(*number));
        packet.interface = u32::from(number(8));
        let drops = number(10);
        // All bits set: unknown.
        self.note_drops((drops != u16::MAX).then_some(u64::from(drops)), ledger);
        self.packet::<E>(packet, window, at, body, records, ledger);
    }

    fn simple_packet<E: Endian>(
        &mut self,
        window: Window<'_>,
        at: usize,
        body: &[u8],
        records: &mut Vec<Record>,
        ledger: &mut Ledger,
    ) {
        let Some(interface) = self.interfaces.first() else {
            return bad_block(window, at, body, "a packet of an interface that is not described", ledger);
        };
        let original = u32_at::<E>(body, 8).unwrap_or(u32::MAX);
        let snap = if interface.snap_length == 0 { u32::MAX } else { interface.snap_length };
        let captured = original.min(snap);
        if original > MAX_FRAME_BYTES || captured as usize > body.len().saturating_sub(SIMPLE_HEADER_BYTES) {
            return bad_block(window, at, body, "a packet block without room for its packet", ledger);
        }
        self.frame = self.frame.wrapping_add(1);
        records.push(Record {
            time_ns: Record::NO_TIME,
            offset: (at + SIMPLE_HEADER_BYTES) as u32,
            captured_length: captured,
            original_length: original,
            frame: self.frame,
            link_type: interface.link_type,
            input: self.input,
            interface: interface_at(self.first_interface, 0),
            fcs_length: interface.fcs_length,
        });
    }

    fn other_block<E: Endian>(
        &mut self,
        kind: u32,
        window: Window<'_>,
        at: usize,
        body: &[u8],
        records: &mut Vec<Record>,
        ledger: &mut Ledger,
    ) {
        match kind {
            block::ENHANCED_PACKET => self.enhanced_packet::<E>(window, at, body, records, ledger),
            block::PACKET => self.obsolete_packet::<E>(window, at, body, records, ledger),
            block::SIMPLE_PACKET => self.simple_packet::<E>(window, at, body, records, ledger),
            block::INTERFACE => self.interface::<E>(window, at, body, ledger),
            block::STATISTICS => self.statistics::<E>(window, at, body, ledger),
            block::SECRETS => secrets::<E>(window, at, body, ledger),
            block::NAME_RESOLUTION => {}
            _ => ledger.unknown_block(kind),
        }
    }

    fn interface<E: Endian>(&mut self, window: Window<'_>, at: usize, body: &[u8], ledger: &mut Ledger) {
        let parsed = Interface::parse::<E>(body).filter(|_| self.interfaces.len() < MAX_INTERFACES);
        let Some((interface, well_formed)) = parsed else {
            return bad_block(window, at, body, "an interface description that is too short, or one too many", ledger);
        };
        if !well_formed {
            ledger.damage(window.base + at as u64, 0, "an option that goes on beyond its block");
        }
        let snap_length = (interface.snap_length != 0).then_some(interface.snap_length);
        ledger.interface(interface.link_type, snap_length, interface.resolution_ns());
        self.interfaces.push(interface);
    }

    fn statistics<E: Endian>(&mut self, window: Window<'_>, at: usize, body: &[u8], ledger: &mut Ledger) {
        let parsed = Drops::parse::<E>(body);
        let interface = parsed.and_then(|(index, ..)| self.interfaces.get_mut(index as usize));
        let (Some((_, drops, well_formed)), Some(interface)) = (parsed, interface) else {
            return bad_block(window, at, body, "statistics of an interface that is not described", ledger);
        };
        interface.drops = drops;
        if !well_formed {
            ledger.damage(window.base + at as u64, 0, "an option that goes on beyond its block");
        }
        self.sum_drops(ledger);
    }

    fn note_drops(&mut self, dropped: Option<u64>, ledger: &mut Ledger) {
        if let Some(dropped) = dropped {
            self.dropped_before_packets = Some(self.dropped_before_packets.unwrap_or(0).saturating_add(dropped));
            self.sum_drops(ledger);
        }
    }

    fn section_drops(&self) -> Drops {
        let mut drops = self.drops;
        for interface in &self.interfaces {
            drops.add(interface.drops);
        }
        drops
    }

    /// What interface statistics say counts; what single packets say only where these are silent.
    fn sum_drops(&self, ledger: &mut Ledger) {
        let drops = self.section_drops();
        ledger.facts.dropped_by_kernel = drops.by_kernel.or(self.dropped_before_packets);
        ledger.facts.dropped_by_interface = drops.by_interface;
    }

    /// Takes the section header block at `at`; the position after it.
    fn section(&mut self, window: Window<'_>, at: usize, ledger: &mut Ledger) -> Result<usize, Stop> {
        let Some(head) = array_at::<SECTION_HEADER_BYTES>(window.bytes, at) else {
            return Err(Stop::Short(SECTION_HEADER_BYTES));
        };
        let Some(order) = section_order(head) else {
            return Err(Stop::Bad("a section header without its byte-order mark".to_owned()));
        };
        let length_at = |bytes: &[u8], at| match order {
            Order::Little => u32_at::<Little>(bytes, at),
            Order::Big => u32_at::<Big>(bytes, at),
        };
        let length = length_at(head, 4).unwrap_or(0);
        if (length as usize) < SECTION_HEADER_BYTES || length > MAX_BLOCK_BYTES {
            return Err(Stop::Bad(format!("a section header that claims {length} bytes")));
        }
        let end = at + length as usize;
        if end > window.bytes.len() {
            return Err(Stop::Short(length as usize));
        }
        if length_at(window.bytes, end - 4) != Some(length) {
            return Err(Stop::Bad(WRONG_TRAILER.to_owned()));
        }
        let options = window.bytes.get(at + 24..end - 4).unwrap_or(&[]);
        let well_formed = match order {
            Order::Little => super::pcapng_blocks::options::<Little>(options, |_, _| {}),
            Order::Big => super::pcapng_blocks::options::<Big>(options, |_, _| {}),
        };
        if !well_formed {
            ledger.damage(window.base + at as u64, 0, "an option that goes on beyond its block");
        }
        self.drops = self.section_drops();
        self.first_interface = self.first_interface.saturating_add(self.interfaces.len());
        self.interfaces.clear();
        self.order = order;
        Ok(end)
    }

    /// Whether a sound block starts at `at`: `Err` tells how many bytes it takes to say.
    fn block_starts<E: Endian>(window: Window<'_>, at: usize) -> Result<bool, usize> {
        let unless_more_comes = |needed| if window.at_end { Ok(false) } else { Err(needed) };
        let Some(kind) = u32_at::<E>(window.bytes, at) else {
            return unless_more_comes(FRAMING_BYTES);
        };
        let least = match kind {
            block::SECTION_HEADER => SECTION_HEADER_BYTES,
            block::ENHANCED_PACKET | block::PACKET => PACKET_HEADER_BYTES + 4,
            block::INTERFACE => 20,
            block::SIMPLE_PACKET => 16,
            block::NAME_RESOLUTION | block::STATISTICS | block::SECRETS => FRAMING_BYTES,
            block::CUSTOM | block::CUSTOM_NOT_COPIED => FRAMING_BYTES,
            _ => return Ok(false),
        };
        let Some(length) = u32_at::<E>(window.bytes, at + 4) else {
            return unless_more_comes(FRAMING_BYTES);
        };
        if (length as usize) < least || length > MAX_FOUND_BLOCK_BYTES {
            return Ok(false);
        }
        match u32_at::<E>(window.bytes, at + length as usize - 4) {
            Some(trailer) => Ok(trailer == length),
            None => unless_more_comes(length as usize),
        }
    }

    fn search(&self, window: Window<'_>, from: usize) -> Found {
        for at in from..window.bytes.len() {
            let rest = window.bytes.get(at..).unwrap_or(&[]);
            let order = match section_order(rest) {
                Some(order) if rest.starts_with(MAGIC) => order,
                None if rest.starts_with(MAGIC) && rest.len() < FRAMING_BYTES && !window.at_end => {
                    return Found::Undecided(at, FRAMING_BYTES);
                }
                _ => self.order,
            };
            let starts = match order {
                Order::Little => Self::block_starts::<Little>(window, at),
                Order::Big => Self::block_starts::<Big>(window, at),
            };
            match starts {
                Ok(true) => return Found::At(at),
                Ok(false) => {}
                Err(needed) => return Found::Undecided(at, needed),
            }
        }
        if window.at_end { Found::Nowhere } else { Found::Undecided(window.bytes.len().max(from), FRAMING_BYTES) }
    }

    /// Looks for the next sound block if the last one was not; the position to walk on from, or where to pause.
    fn recover(&mut self, window: Window<'_>, from: usize, ledger: &mut Ledger) -> Result<usize, Walked> {
        let Some((since, what)) = self.lost.take() else {
            return Ok(from);
        };
        match self.search(window, from) {
            Found::At(at) => {
                let skipped = (window.base + at as u64).saturating_sub(since);
                let what = if what == CUT_SHORT { BEYOND_END } else { &what };
                ledger.damage(since, skipped, what);
                Ok(at)
            }
            Found::Undecided(at, needed) => {
                self.lost = Some((since, what));
                Err(Walked { consumed: at.min(window.bytes.len()), needed })
            }
            Found::Nowhere => {
                let end = window.base + window.bytes.len() as u64;
                ledger.damage(since, end.saturating_sub(since), &what);
                Err(Walked { consumed: window.bytes.len(), needed: 0 })
            }
        }
    }
}

/// What is said of a block whose two lengths differ.
const WRONG_TRAILER: &str = "a block whose lengths at its two ends differ";
/// What is said when blocks follow within the last, incomplete one after all.
const BEYOND_END: &str = "a block that claims to go on beyond the end of the file";

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

/// Keeps the key log of a decryption secrets block.
fn secrets<E: Endian>(window: Window<'_>, at: usize, body: &[u8], ledger: &mut Ledger) {
    let (kind, length) = (u32_at::<E>(body, 8), u32_at::<E>(body, 12));
    let text = length.and_then(|length| body.get(16..)?.get(..length as usize));
    match text {
        None => bad_block(window, at, body, "a secrets block without room for its secrets", ledger),
        Some(text) if kind == Some(TLS_KEY_LOG) => {
            if !ledger.key_log(text) {
                bad_block(window, at, body, "more TLS secrets than are kept", ledger);
            }
        }
        Some(_) => {}
    }
}

/// Notes a block of sound framing that cannot be used.
#[cold]
fn bad_block(window: Window<'_>, at: usize, body: &[u8], what: &str, ledger: &mut Ledger) {
    ledger.damage(window.base + at as u64, body.len() as u64 + 4, what);
}

impl Walk for PcapngWalk {
    fn walk(&mut self, window: Window<'_>, records: &mut Vec<Record>, ledger: &mut Ledger) -> Walked {
        let length = window.bytes.len();
        let mut at = 0;
        loop {
            at = match self.recover(window, at, ledger) {
                Ok(at) => at,
                Err(pause) => return pause,
            };
            let (stopped, stop) = match self.order {
                Order::Little => self.run::<Little>(window, at, records, ledger),
                Order::Big => self.run::<Big>(window, at, records, ledger),
            };
            let stop = match stop {
                Some(stop) => stop,
                None => match self.section(window, stopped, ledger) {
                    Ok(after) => {
                        at = after;
                        continue;
                    }
                    Err(stop) => stop,
                },
            };
            let what = match stop {
                Stop::Short(needed) if !window.at_end => return Walked { consumed: stopped, needed },
                Stop::Short(_) if stopped == length => return Walked { consumed: length, needed: 0 },
                Stop::Short(_) => CUT_SHORT.to_owned(),
                Stop::Bad(what) => what,
            };
            self.lost = Some((window.base + stopped as u64, what));
            at = stopped + 1;
        }
    }
}
