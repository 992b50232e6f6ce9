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
    /// Captures that stand behind another one in the file and overlap it in time: read beside each other.
    pub appended: u64,
    /// Those that were read one behind the other all the same.
    pub appended_left: u64,
}

/// What reading learnt of one input, apart from its packets.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InputFacts {
    /// "pcap", "pcapng", "snoop" or "erf"; empty as long as the file's first bytes have not been read.
    pub format: &'static str,
    /// "gzip", "zstd", "xz", "lz4", "bzip2" or none.
    pub compression: Option<&'static str>,
    /// Link types seen, in order of appearance (LINKTYPE_ numbers).
    pub link_types: Vec<u16>,
    /// Finest time resolution of the interfaces, seconds; 0 if none is known.
    pub time_resolution_s: f64,
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
    /// Adds what another reader learnt of a later part of the same input.
    pub(crate) fn join(&mut self, part: Self) {
        let sum = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (None, None) => None,
            _ => Some(one.unwrap_or(0).saturating_add(other.unwrap_or(0))),
        };
        let new_ones = part.link_types.into_iter().filter(|new| !self.link_types.contains(new)).collect::<Vec<_>>();
        self.link_types.extend(new_ones);
        self.time_resolution_s = self.time_resolution_s.min(part.time_resolution_s);
        self.packets += part.packets;
        self.captured_bytes += part.captured_bytes;
        self.wire_bytes += part.wire_bytes;
        self.start_ns = self.start_ns.into_iter().chain(part.start_ns).min();
        self.end_ns = self.end_ns.max(part.end_ns);
        self.snap_length = self.snap_length.zip(part.snap_length).map(|(one, other)| one.max(other));
        self.dropped_by_kernel = sum(self.dropped_by_kernel, part.dropped_by_kernel);
        self.dropped_by_interface = sum(self.dropped_by_interface, part.dropped_by_interface);
        self.packets_without_time += part.packets_without_time;
        self.clock_steps_back += part.clock_steps_back;
        self.tls_key_log.extend(part.tls_key_log);
        for (kind, count) in part.unknown_blocks {
            match self.unknown_blocks.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, known)) => *known += count,
                None => self.unknown_blocks.push((kind, count)),
            }
        }
        self.damage.extend(part.damage);
        self.out_of_time_order.appended += 1;
    }

    /// No frame has a time: where all have the same, or 0, nobody has looked at a clock.
    pub fn is_timeless(&self) -> bool {
        let timed = self.packets - self.packets_without_time;
        let are_equal = self.start_ns == self.end_ns;
        timed == 0 || are_equal && (timed > 1 || self.start_ns == Some(0))
    }
}
