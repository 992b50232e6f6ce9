//! TCP options (RFC 9293 section 3.1 and the documents named below), from complete, cut or malformed option areas.

use crate::packet::{Packet, option_bits};

/// End of option list.
const END: u8 = 0;

/// Padding.
const NO_OPERATION: u8 = 1;

const MAXIMUM_SEGMENT_SIZE: u8 = 2;

const WINDOW_SCALE: u8 = 3;

const SACK_PERMITTED: u8 = 4;

const SACK: u8 = 5;

const TIMESTAMPS: u8 = 8;

const MULTIPATH: u8 = 30;

const FAST_OPEN: u8 = 34;

/// Shared experimental kind (RFC 6994); Fast Open used it with the identifier 0xf989 (RFC 7413 section 4.1.1).
const EXPERIMENT: u8 = 254;

const EXPERIMENT_FAST_OPEN: [u8; 2] = [0xf9, 0x89];

/// Largest window shift that may be used (RFC 7323 section 2.3).
pub const MAXIMUM_WINDOW_SHIFT: u8 = 14;

/// A stretch of received sequence space: from the left edge to just before the right one.
pub type SackBlock = (u32, u32);

/// The blocks of one SACK option; four are all that fit into a header (RFC 2018 section 3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [SackBlock; 4],
    count: u8,
}

impl SackBlocks {
    fn of(data: &[u8]) -> Self {
        let mut sack = Self::default();
        for (slot, block) in sack.blocks.iter_mut().zip(data.chunks_exact(8)) {
            if let [a, b, c, d, e, f, g, h] = *block {
                *slot = (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]));
                sack.count += 1;
            }
        }
        sack
    }

    /// The blocks of a packet, none if it has none; `bytes` are those of its chunk.
    #[must_use]
    pub fn of_packet(packet: &Packet, bytes: &[u8]) -> Self {
        let options = TcpOptions::of_packet(packet, bytes);
        match behind_timestamps(options.data) {
            Some((_, blocks)) if options.uncaptured == 0 => Self::of(blocks),
            _ => Options::collect(options).sack,
        }
    }

    /// Left edge of the first block of a packet, if the snap length cut its right edge.
    #[must_use]
    pub fn left_edge_of_cut(packet: &Packet, bytes: &[u8]) -> Option<u32> {
        let options = TcpOptions::of_packet(packet, bytes);
        let uncut = options.data.len() + options.uncaptured;
        let area = options.data.split_first_chunk::<16>().filter(|_| options.uncaptured > 0);
        let (&[1, 1, TIMESTAMPS, 10, .., 1, 1, SACK, length], block) = area? else { return None };
        let is_whole = usize::from(length) + 14 == uncut && block.len() < 8;
        block.first_chunk().filter(|_| is_whole).map(|edge| u32::from_be_bytes(*edge))
    }

    /// The blocks, as they stand in the segment.
    #[must_use]
    pub fn as_slice(&self) -> &[SackBlock] {
        self.blocks.get(..usize::from(self.count)).unwrap_or_default()
    }
}

/// One option other than padding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TcpOption<'a> {
    /// Largest segment the sender takes, bytes (RFC 9293 section 3.7.1).
    MaximumSegmentSize(u16),
    /// Window shift as sent; more than [`MAXIMUM_WINDOW_SHIFT`] is to be taken as that (RFC 7323 section 2.3).
    WindowScale(u8),
    /// Selective acknowledgement may be used (RFC 2018).
    SackPermitted,
    /// Received blocks; of a cut option those that were captured whole.
    Sack(SackBlocks),
    /// Timestamp value and echo reply (RFC 7323 section 3).
    Timestamps(u32, u32),
    /// Fast Open cookie, empty for a request (RFC 7413), by its own kind or the experimental one.
    FastOpen(&'a [u8]),
    /// Multipath TCP (RFC 8684): the data after kind and length, subtype in the first four bits.
    Multipath(&'a [u8]),
    /// Any other kind, or a known one of a length it must not have, with its data.
    Unknown(u8, &'a [u8]),
}

impl<'a> TcpOption<'a> {
    fn of(kind: u8, data: &'a [u8]) -> Self {
        match (kind, data) {
            (MAXIMUM_SEGMENT_SIZE, &[a, b]) => Self::MaximumSegmentSize(u16::from_be_bytes([a, b])),
            (WINDOW_SCALE, &[shift]) => Self::WindowScale(shift),
            (SACK_PERMITTED, []) => Self::SackPermitted,
            (SACK, blocks) if !blocks.is_empty() && blocks.len() % 8 == 0 => Self::Sack(SackBlocks::of(blocks)),
            (TIMESTAMPS, &[a, b, c, d, e, f, g, h]) => {
                Self::Timestamps(u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]))
            }
            (FAST_OPEN, cookie) => Self::FastOpen(cookie),
            (EXPERIMENT, [a, b, cookie @ ..]) if [*a, *b] == EXPERIMENT_FAST_OPEN => Self::FastOpen(cookie),
            (MULTIPATH, data) => Self::Multipath(data),
            (kind, data) => Self::Unknown(kind, data),
        }
    }
}

/// How an option area ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OptionsEnd {
    /// All of it was understood.
    #[default]
    Complete,
    /// The captured bytes end before the area does: options may be missing.
    Cut,
    /// An option's length is impossible; what follows it cannot be read.
    Malformed,
}

/// Reads option by option; what remains unread when it stops is shown by [`TcpOptions::end`].
#[derive(Debug, Clone)]
pub struct TcpOptions<'a> {
    /// Captured bytes not yet read.
    data: &'a [u8],
    /// Bytes of the area that were not captured.
    uncaptured: usize,
    end: OptionsEnd,
}

impl<'a> TcpOptions<'a> {
    /// Options from the captured bytes of an area that is `area_length` bytes long on the wire.
    #[must_use]
    pub fn new(captured: &'a [u8], area_length: usize) -> Self {
        let data = captured.get(..area_length).unwrap_or(captured);
        Self { data, uncaptured: area_length - data.len(), end: OptionsEnd::Complete }
    }

    /// Options of a packet; `bytes` are those of its chunk.
    #[must_use]
    pub fn of_packet(packet: &Packet, bytes: &'a [u8]) -> Self {
        let captured = bytes.get(packet.options_offset as usize..).unwrap_or_default();
        let captured = captured.get(..usize::from(packet.options_captured)).unwrap_or_default();
        Self::new(captured, usize::from(packet.tcp_header_length).saturating_sub(20))
    }

    /// How reading ended, as far as it has come.
    #[must_use]
    pub fn end(&self) -> OptionsEnd {
        self.end
    }

    /// Stops reading for good.
    fn stop(&mut self, end: OptionsEnd) {
        (self.data, self.uncaptured, self.end) = (&[], 0, end);
    }

    /// The rest of an option whose kind has been read.
    fn option(&mut self, kind: u8, rest: &'a [u8]) -> Option<TcpOption<'a>> {
        let Some((&length, data)) = rest.split_first() else {
            let end = if self.uncaptured > 0 { OptionsEnd::Cut } else { OptionsEnd::Malformed };
            self.stop(end);
            return None;
        };
        let Some(length) = usize::from(length).checked_sub(2).filter(|&n| n <= data.len() + self.uncaptured) else {
            self.stop(OptionsEnd::Malformed);
            return None;
        };
        let Some((data, after)) = data.split_at_checked(length) else {
            self.stop(OptionsEnd::Cut);
            return (kind == SACK && length % 8 == 0 && data.len() >= 8).then(|| TcpOption::Sack(SackBlocks::of(data)));
        };
        self.data = after;
        Some(TcpOption::of(kind, data))
    }
}

impl<'a> Iterator for TcpOptions<'a> {
    type Item = TcpOption<'a>;

    fn next(&mut self) -> Option<TcpOption<'a>> {
        loop {
            match *self.data {
                [] => {
                    if self.uncaptured > 0 {
                        self.stop(OptionsEnd::Cut);
                    }
                    return None;
                }
                [END, ..] => {
                    self.stop(OptionsEnd::Complete);
                    return None;
                }
                [NO_OPERATION, ref rest @ ..] => self.data = rest,
                [kind, ref rest @ ..] => return self.option(kind, rest),
            }
        }
    }
}

/// All that the analysis wants of a segment's options. Of an option that stands twice the last counts, as in Linux.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Maximum segment size, bytes.
    pub maximum_segment_size: Option<u16>,
    /// Window shift, at most [`MAXIMUM_WINDOW_SHIFT`].
    pub window_scale: Option<u8>,
    /// SACK permitted.
    pub sack_permitted: bool,
    /// SACK blocks.
    pub sack: SackBlocks,
    /// Timestamp value and echo reply.
    pub timestamps: Option<(u32, u32)>,
    /// Multipath TCP is spoken.
    pub multipath: bool,
    /// Options of other kinds.
    pub unknown: u8,
    /// How the option area ended.
    pub end: OptionsEnd,
}

impl Options {
    /// Reads all options.
    #[must_use]
    pub fn collect(mut options: TcpOptions<'_>) -> Self {
        let mut all = Self::default();
        for option in &mut options {
            all.note(option);
        }
        all.end = options.end();
        all
    }

    /// Options of a packet; `bytes` are those of its chunk.
    #[must_use]
    pub fn of_packet(packet: &Packet, bytes: &[u8]) -> Self {
        Self::read(TcpOptions::of_packet(packet, bytes))
    }

    /// As [`Self::collect`]; what most SYNs hold is read in one go.
    fn read(options: TcpOptions<'_>) -> Self {
        match usual_syn(options.data).filter(|_| options.uncaptured == 0) {
            Some(UsualSyn { maximum_segment_size, timestamps, window_scale }) => Self {
                maximum_segment_size: Some(maximum_segment_size),
                window_scale: Some(window_scale.min(MAXIMUM_WINDOW_SHIFT)),
                sack_permitted: true,
                timestamps: Some(timestamps),
                ..Self::default()
            },
            None => Self::collect(options),
        }
    }

    fn note(&mut self, option: TcpOption<'_>) {
        match option {
            TcpOption::MaximumSegmentSize(bytes) => self.maximum_segment_size = Some(bytes),
            TcpOption::WindowScale(shift) => self.window_scale = Some(shift.min(MAXIMUM_WINDOW_SHIFT)),
            TcpOption::SackPermitted => self.sack_permitted = true,
            TcpOption::Sack(blocks) => self.sack = blocks,
            TcpOption::Timestamps(value, echo) => self.timestamps = Some((value, echo)),
            // That data comes with the SYN shows in the SYN.
            TcpOption::FastOpen(_) => {}
            TcpOption::Multipath(_) => self.multipath = true,
            TcpOption::Unknown(..) => self.unknown = self.unknown.saturating_add(1),
        }
    }
}

/// What varies in the options of a SYN as Linux writes them (`tcp_options_write`).
struct UsualSyn {
    maximum_segment_size: u16,
    timestamps: (u32, u32),
    window_scale: u8,
}

#[inline]
fn usual_syn(area: &[u8]) -> Option<UsualSyn> {
    let &[
        MAXIMUM_SEGMENT_SIZE,
        4,
        high,
        low,
        SACK_PERMITTED,
        2,
        TIMESTAMPS,
        10,
        a,
        b,
        c,
        d,
        e,
        f,
        g,
        h,
        NO_OPERATION,
        WINDOW_SCALE,
        3,
        window_scale,
    ] = area
    else {
        return None;
    };
    let timestamps = (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]));
    Some(UsualSyn { maximum_segment_size: u16::from_be_bytes([high, low]), timestamps, window_scale })
}

/// What the packet record holds of the options.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Noted {
    pub(super) bits: u8,
    pub(super) tsval: u32,
    pub(super) tsecr: u32,
}

/// Timestamps and kinds from the captured bytes of an area that is `area_length` bytes long on the wire.
#[inline]
pub(super) fn note(captured: &[u8], area_length: usize) -> Noted {
    // The layout nearly every stack uses (RFC 7323 appendix A); everything else is rare after the handshake.
    if area_length == 12
        && let Some(&[1, 1, 8, 10, a, b, c, d, e, f, g, h]) = captured.first_chunk::<12>()
    {
        let (tsval, tsecr) = (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]));
        return Noted { bits: option_bits::TIMESTAMPS, tsval, tsecr };
    }
    if area_length == captured.len()
        && let Some(([a, b, c, d, e, f, g, h], _)) = behind_timestamps(captured)
    {
        let (tsval, tsecr) = (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]));
        return Noted { bits: option_bits::TIMESTAMPS | option_bits::OTHERS, tsval, tsecr };
    }
    if area_length == captured.len()
        && let Some(UsualSyn { timestamps: (tsval, tsecr), .. }) = usual_syn(captured)
    {
        return Noted { bits: option_bits::TIMESTAMPS | option_bits::OTHERS, tsval, tsecr };
    }
    if area_length == 0 { Noted::default() } else { scan(captured, area_length) }
}

/// Timestamps and SACK blocks of an area that holds these two as nearly every stack writes them, and nothing else.
fn behind_timestamps(area: &[u8]) -> Option<([u8; 8], &[u8])> {
    let (&[1, 1, TIMESTAMPS, 10, a, b, c, d, e, f, g, h, 1, 1, SACK, length], blocks) =
        area.split_first_chunk::<16>()?
    else {
        return None;
    };
    let whole = !blocks.is_empty() && blocks.len() % 8 == 0 && usize::from(length) == 2 + blocks.len();
    whole.then_some(([a, b, c, d, e, f, g, h], blocks))
}

#[inline(never)]
fn scan(captured: &[u8], area_length: usize) -> Noted {
    let mut noted = Noted::default();
    let mut rest = captured;
    // Nearly all areas are whole and well-formed.
    while area_length == captured.len() {
        rest = match *rest {
            [] | [END, ..] => return noted,
            [NO_OPERATION, ref rest @ ..] => rest,
            [TIMESTAMPS, 10, a, b, c, d, e, f, g, h, ref rest @ ..] => {
                noted.bits |= option_bits::TIMESTAMPS;
                (noted.tsval, noted.tsecr) = (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]));
                rest
            }
            [_, length, ..] if length >= 2 && usize::from(length) <= rest.len() => {
                noted.bits |= option_bits::OTHERS;
                rest.get(usize::from(length)..).unwrap_or_default()
            }
            _ => break,
        };
    }
    scan_any(captured, area_length)
}

#[cold]
fn scan_any(captured: &[u8], area_length: usize) -> Noted {
    let mut noted = Noted::default();
    let mut options = TcpOptions::new(captured, area_length);
    for option in &mut options {
        if let TcpOption::Timestamps(value, echo) = option {
            noted = Noted { bits: noted.bits | option_bits::TIMESTAMPS, tsval: value, tsecr: echo };
        } else {
            noted.bits |= option_bits::OTHERS;
        }
    }
    noted.bits |= match options.end() {
        OptionsEnd::Complete => 0,
        OptionsEnd::Cut => option_bits::CUT,
        OptionsEnd::Malformed => option_bits::MALFORMED,
    };
    noted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_usual_options_of_a_syn_are_read_as_any_others(
            varying in proptest::collection::vec(0u8.., 11),
            changed in 0usize..40,
            value: u8,
            captured in 0usize..=20,
        ) {
            let mut area = [2, 4, 0, 0, 4, 2, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0, 1, 3, 3, 0];
            let places = (2..4).chain(8..16).chain([19]);
            places.zip(&varying).for_each(|(place, byte)| area[place] = *byte);
            // Every other time one byte is wrong.
            if let Some(byte) = area.get_mut(changed) {
                *byte = value;
            }
            let captured = if captured % 2 == 0 { area.len() } else { captured };
            let options = TcpOptions::new(&area[..captured], area.len());
            prop_assert_eq!(Options::read(options.clone()), Options::collect(options));
            prop_assert_eq!(note(&area[..captured], area.len()), scan_any(&area[..captured], area.len()));
        }
    }
}
