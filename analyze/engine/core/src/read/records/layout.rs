//! How record headers lie in a file, and what its file header says of them all: the contract of `pcap` and `snoop`.

use crate::read::ledger::InputLedger;
use crate::read::walk::MAX_FRAME_BYTES;

/// The longest captured length that is believed against the file's own snap length, as in libpcap and Wireshark.
pub(super) const USUAL_SNAP_BYTES: u32 = 256 << 10;

/// Seconds between neighbours that are ordinary (48 days); more makes a header odd, not impossible.
pub(super) const JUMP_S: u32 = 1 << 22;

/// More padding behind a frame than any writer leaves.
pub(super) const MAX_PADDING_BYTES: usize = 64;

/// One record header.
#[derive(Clone, Copy)]
pub(super) struct Header {
    /// Capture time, whole seconds of the Unix epoch.
    pub seconds: u32,
    /// Rest of the capture time in the file's units.
    pub fraction: u32,
    /// Captured bytes.
    pub captured: u32,
    /// Bytes on the wire.
    pub original: u32,
    /// From the start of the header to the next one.
    pub record_bytes: usize,
}

/// How record headers lie in the file.
pub(super) trait Layout: Send {
    /// Bytes of a header.
    const HEADER_BYTES: usize;
    /// The header at a position, none if the bytes end before.
    fn header_at(&self, bytes: &[u8], at: usize) -> Option<Header>;

    /// What the header of another file at a position says, which was put behind this one (`cat`), and how long it is: `Err`
    /// tells how many bytes it takes to say.
    fn file_header_at(&self, _bytes: &[u8], _at: usize) -> Result<Option<(Declared, usize)>, usize> {
        Ok(None)
    }

    /// Bytes of a record behind its frame; huge if the record is too short for the frame.
    #[inline(always)]
    fn padding(header: &Header) -> usize {
        header.record_bytes.wrapping_sub(Self::HEADER_BYTES + header.captured as usize)
    }
}

/// What the file header says of all records.
#[derive(Clone, Copy)]
pub(super) struct Declared {
    /// LINKTYPE_ number.
    pub link_type: u16,
    /// Bytes of frame check sequence on each frame.
    pub fcs_length: u8,
    /// Snap length, 0 for none.
    pub snap_length: u32,
    /// Units of the fraction in a second.
    pub units_per_second: u32,
}

impl Declared {
    pub(super) fn believable_snap(&self) -> u32 {
        let believable = self.snap_length != 0 && self.snap_length <= MAX_FRAME_BYTES;
        if believable { self.snap_length } else { USUAL_SNAP_BYTES }
    }

    pub(super) fn unit_ns(&self) -> i64 {
        1_000_000_000 / i64::from(self.units_per_second.max(1))
    }

    pub(super) fn tell(&self, ledger: &mut InputLedger) {
        let unlimited = self.snap_length == 0 || self.snap_length > MAX_FRAME_BYTES;
        ledger.interface(
            self.link_type,
            (!unlimited).then_some(self.snap_length),
            1.0 / f64::from(self.units_per_second),
        );
    }
}

/// True if two times, in seconds, are no further apart than `within`.
pub(super) fn near(a: u32, b: u32, within: u32) -> bool {
    a.abs_diff(b) <= within
}
