//! What reading learns of one input, apart from its packets: format, counts, times, damage. `ledger` fills it.

/// A stretch of a file that could not be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Offset in the (decompressed) file.
    pub offset: u64,
    /// Bytes that were passed over.
    pub skipped_bytes: u64,
    /// What was wrong there.
    pub what: String,
}

/// Records of one input that are not stored in the order of their times.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OutOfTimeOrder {
    /// Records earlier than one that stands before them.
    pub records: u64,
    /// By how much at most, nanoseconds.
    pub largest_step_ns: i64,
    /// Those of them that came too late to be put into order.
    pub left: u64,
    /// Steps back of the clock of up to a second.
    pub clock_steps: u64,
}

/// What reading learnt of one input, apart from its packets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InputFacts {
    /// "pcap", "pcapng" or "snoop"; empty as long as the file's first bytes have not been read.
    pub format: &'static str,
    /// "gzip", "zstd", "xz", "lz4" or none.
    pub compression: Option<&'static str>,
    /// Link types seen, in order of appearance (LINKTYPE_ numbers).
    pub link_types: Vec<u16>,
    /// Finest time resolution of the interfaces, nanoseconds (0 if finer than 1 ns).
    pub time_resolution_ns: u64,
    /// Records read.
    pub packets: u64,
    /// Captured bytes of all records.
    pub captured_bytes: u64,
    /// Bytes of all records on the wire.
    pub wire_bytes: u64,
    /// Time of the earliest record.
    pub start_ns: Option<i64>,
    /// Time of the latest record.
    pub end_ns: Option<i64>,
    /// Largest snap length any interface declares; none if unlimited or unknown.
    pub snap_length: Option<u32>,
    /// Packets dropped by the kernel as the file itself reports (pcapng ISB `isb_osdrop`/`isb_filteraccept` rules).
    pub dropped_by_kernel: Option<u64>,
    /// Packets dropped by the interface (pcapng `isb_ifdrop`).
    pub dropped_by_interface: Option<u64>,
    /// Records without a (usable) capture time.
    pub packets_without_time: u64,
    /// Steps back in time of more than a second between consecutive records of one interface.
    pub clock_steps_back: u64,
    /// Records out of the order of their times.
    pub out_of_time_order: OutOfTimeOrder,
    /// It holds packets of another capture point as well, which are left out: its clock was ahead by so much.
    pub clock_offset_ns: Option<i64>,
    /// So many.
    pub left_out: u64,
    /// So far apart that not all could be told from others.
    pub copies_may_be_missed: bool,
    /// TLS key log text of pcapng decryption secrets blocks.
    pub tls_key_log: Vec<u8>,
    /// Blocks of unknown type that were passed over, by type number (bounded: what is beyond is under [`u32::MAX`]).
    pub unknown_blocks: Vec<(u32, u64)>,
    /// Damaged stretches, in file order (bounded; the last entry then says how many more).
    pub damage: Vec<Damage>,
}

impl InputFacts {
    /// No frame has a time.
    pub fn is_timeless(&self) -> bool {
        self.packets_without_time == self.packets
    }
}
