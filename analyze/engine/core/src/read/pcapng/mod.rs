//! The walk over pcapng blocks (draft-ietf-opsawg-pcapng). Owns sections and the order of blocks. `packets` reads the blocks
//! that hold frames, `blocks` the others, and `search` finds the next good block after damage.
//!
//! A block repeats its length at its end, so that a false length shows at once: the search for the next good block
//! starts within the damaged one and nothing is ever taken back. Section lengths are not needed and not looked at.

pub(crate) mod blocks;
pub(crate) mod packets;
pub(crate) mod search;

use crate::read::endian::{Big, Endian, Little, array_at, u32_at};
use crate::read::ledger::InputLedger;
use crate::read::pcapng::blocks::{Block, Drops, DropsOfAll, Interface, MALFORMED_OPTION, TLS_KEY_LOG, block_type};
use crate::read::record::Record;
use crate::read::walk::{BytesAtHand, CUT_SHORT, MAX_FRAME_BYTES, Stop, Walk, Walked};

/// The first bytes of the file: the type of a section header block.
pub(super) const MAGIC: &[u8; 4] = &[0x0a, 0x0d, 0x0d, 0x0a];

/// Largest block that is believed.
const MAX_BLOCK_BYTES: u32 = MAX_FRAME_BYTES + (1 << 16);

/// Type and length in front, the length again at the end.
const FRAMING_BYTES: usize = 12;

const SECTION_HEADER_BYTES: usize = 28;

/// What is said of a block whose two lengths differ.
const WRONG_TRAILER: &str = "a block whose lengths at its two ends differ";

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
    /// Drops of this section and those before.
    drops: DropsOfAll,
    /// Drops that packets themselves report.
    dropped_before_packets: Option<u64>,
    /// Time of the last packet that has one.
    last_ns: i64,
    /// Start of the stretch that is passed over, and why.
    lost: Option<(u64, String)>,
}

/// Starts a walk at the section header block that opens a file.
pub(super) fn open(input: u16, ledger: &mut InputLedger) -> Box<dyn Walk> {
    ledger.facts.format = "pcapng";
    Box::new(PcapngWalk {
        input,
        order: Order::Little,
        frame: 0,
        interfaces: Vec::new(),
        first_interface: 0,
        drops: DropsOfAll::default(),
        dropped_before_packets: None,
        last_ns: Record::NO_TIME,
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
        window: BytesAtHand<'_>,
        mut at: usize,
        records: &mut Vec<Record>,
        ledger: &mut InputLedger,
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
            if kind == block_type::SECTION_HEADER {
                return (at, None);
            }
            if (length as usize) < FRAMING_BYTES || length > MAX_BLOCK_BYTES {
                return (at, Some(Stop::Bad(format!("a block that claims {length} bytes"))));
            }
            let end = at + length as usize;
            let Some(framed) = bytes.get(at..end) else {
                return (at, Some(Stop::Short(length as usize)));
            };
            let (body, trailer) = framed.split_at(framed.len() - 4);
            if u32_at::<E>(trailer, 0) != Some(length) {
                return (at, Some(Stop::Bad(WRONG_TRAILER.to_owned())));
            }
            let block = Block { at, offset: window.base + at as u64, body };
            if kind == block_type::ENHANCED_PACKET {
                match self.is_timeless::<E>(window, block, records, ledger) {
                    Ok(is_timeless) => self.enhanced_packet::<E>(block, is_timeless, records, ledger),
                    Err(needed) => return (at, Some(Stop::Short(needed))),
                }
            } else {
                self.other_block::<E>(kind, block, records, ledger);
            }
            at = end;
        }
    }

    fn other_block<E: Endian>(
        &mut self,
        kind: u32,
        block: Block<'_>,
        records: &mut Vec<Record>,
        ledger: &mut InputLedger,
    ) {
        match kind {
            block_type::PACKET => self.obsolete_packet::<E>(block, records, ledger),
            block_type::SIMPLE_PACKET => self.simple_packet::<E>(block, records, ledger),
            block_type::INTERFACE => self.interface::<E>(block, ledger),
            block_type::STATISTICS => self.statistics::<E>(block, ledger),
            block_type::SECRETS => secrets::<E>(block, ledger),
            block_type::NAME_RESOLUTION => {}
            _ => {
                // Wireshark shows these as frames of their own: counting them keeps frame numbers the same.
                if matches!(kind, block_type::CUSTOM | block_type::CUSTOM_NOT_COPIED | block_type::JOURNAL) {
                    self.frame = self.frame.wrapping_add(1);
                }
                ledger.unknown_block(kind);
            }
        }
    }

    fn interface<E: Endian>(&mut self, block: Block<'_>, ledger: &mut InputLedger) {
        let parsed = Interface::parse::<E>(block.body).filter(|_| self.interfaces.len() < MAX_INTERFACES);
        let Some((interface, well_formed)) = parsed else {
            return block.report_unusable("an interface description that is too short, or one too many", ledger);
        };
        if !well_formed {
            block.report_malformed_option(ledger);
        }
        let snap_length = (interface.snap_length != 0).then_some(interface.snap_length);
        ledger.interface(interface.link_type, snap_length, interface.resolution_s());
        self.interfaces.push(interface);
    }

    fn statistics<E: Endian>(&mut self, block: Block<'_>, ledger: &mut InputLedger) {
        let parsed = Drops::parse::<E>(block.body);
        let interface = parsed.and_then(|(index, ..)| self.interfaces.get_mut(index as usize));
        let (Some((_, drops, well_formed)), Some(interface)) = (parsed, interface) else {
            return block.report_unusable("statistics of an interface that is not described", ledger);
        };
        self.drops.replace(interface.drops, drops);
        interface.drops = drops;
        if !well_formed {
            block.report_malformed_option(ledger);
        }
        self.sum_drops(ledger);
    }

    fn note_drops(&mut self, dropped: Option<u64>, ledger: &mut InputLedger) {
        if let Some(dropped) = dropped {
            self.dropped_before_packets = Some(self.dropped_before_packets.unwrap_or(0).saturating_add(dropped));
            self.sum_drops(ledger);
        }
    }

    /// What interface statistics say counts; what single packets say only where these are silent.
    fn sum_drops(&self, ledger: &mut InputLedger) {
        let drops = self.drops.together();
        ledger.facts.dropped_by_kernel = drops.by_kernel.or(self.dropped_before_packets);
        ledger.facts.dropped_by_interface = drops.by_interface;
    }

    /// Takes the section header block at `at`; the position after it.
    fn section(&mut self, window: BytesAtHand<'_>, at: usize, ledger: &mut InputLedger) -> Result<usize, Stop> {
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
            Order::Little => blocks::options::<Little>(options, |_, _| {}),
            Order::Big => blocks::options::<Big>(options, |_, _| {}),
        };
        if !well_formed {
            ledger.damage(window.base + at as u64, 0, MALFORMED_OPTION);
        }
        ledger.headers += 1;
        self.first_interface = self.first_interface.saturating_add(self.interfaces.len());
        self.interfaces.clear();
        self.order = order;
        Ok(end)
    }
}

/// Keeps the key log of a decryption secrets block.
fn secrets<E: Endian>(block: Block<'_>, ledger: &mut InputLedger) {
    let (kind, length) = (u32_at::<E>(block.body, 8), u32_at::<E>(block.body, 12));
    let text = length.and_then(|length| block.body.get(16..)?.get(..length as usize));
    match text {
        None => block.report_unusable("a secrets block without room for its secrets", ledger),
        Some(text) if kind == Some(TLS_KEY_LOG) => {
            if !ledger.key_log(text) {
                block.report_unusable("more TLS secrets than are kept", ledger);
            }
        }
        Some(_) => {}
    }
}

impl Walk for PcapngWalk {
    fn jump(&mut self, frame: u32) {
        (self.frame, self.lost) = (frame.wrapping_sub(1), None);
        (self.drops, self.dropped_before_packets) = (DropsOfAll::default(), None);
        self.interfaces.iter_mut().for_each(|interface| interface.drops = Drops::default());
    }

    fn walk(&mut self, window: BytesAtHand<'_>, records: &mut Vec<Record>, ledger: &mut InputLedger) -> Walked {
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
                Stop::Short(needed) if !window.at_end => {
                    return Walked { consumed: stopped, needed };
                }
                Stop::Short(_) if stopped == length => {
                    return Walked { consumed: length, needed: 0 };
                }
                Stop::Short(_) => CUT_SHORT.to_owned(),
                Stop::Bad(what) => what,
            };
            self.lost = Some((window.base + stopped as u64, what));
            at = stopped + 1;
        }
    }
}
