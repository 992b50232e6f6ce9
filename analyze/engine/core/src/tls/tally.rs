//! Byte counters of one direction, kept so that they can be read under a cipher that becomes known later.

use crate::tls::overhead::Overhead;
use crate::tls::record::HEADER_BYTES;

/// Bytes of one direction as passed in first transmissions: the three parts sum to all of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StreamBytes {
    /// Handshake messages and ChangeCipherSpec, with their record headers and what encryption adds to them.
    pub tls_handshake: u64,
    /// Record headers of application data with what its protection adds (nonce, tag, MAC, as far as the cipher suite
    /// makes it known), and alerts and heartbeats entirely.
    pub tls_record: u64,
    /// All the rest: application data, bytes before TLS began, and what could not be told apart.
    pub application: u64,
}

/// One record (or the beginning of one), reduced to what counting needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sealed {
    /// Body length as the header says.
    pub(super) length: u16,
    /// Body bytes that have passed: less than `length` only in the last record.
    pub(super) passed: u16,
    pub(super) header_bytes: u8,
    pub(super) header_fresh: u8,
    pub(super) body_fresh: u16,
    /// The last byte crossed in a first transmission.
    pub(super) tail_fresh: bool,
    pub(super) start_ns: i64,
    pub(super) end_ns: i64,
    pub(super) start_frame: u32,
    pub(super) end_frame: u32,
}

/// Sums over the records of one direction. "Fresh" bytes are those of first transmissions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) handshake_bytes: u64,
    handshake_fresh: u64,
    control_bytes: u64,
    control_fresh: u64,
    application_records: u64,
    application_body_bytes: u64,
    application_header_bytes: u64,
    header_fresh: u64,
    body_fresh: u64,
    tails_fresh: u64,
}

impl Tally {
    pub(super) fn add_handshake(&mut self, record: &Sealed) {
        self.handshake_bytes += u64::from(record.header_bytes) + u64::from(record.passed);
        self.handshake_fresh += u64::from(record.header_fresh) + u64::from(record.body_fresh);
    }

    pub(super) fn add_control(&mut self, record: &Sealed) {
        self.control_bytes += u64::from(record.header_bytes) + u64::from(record.passed);
        self.control_fresh += u64::from(record.header_fresh) + u64::from(record.body_fresh);
    }

    pub(super) fn add_application(&mut self, record: &Sealed) {
        let whole = record.passed == record.length;
        self.application_records += u64::from(whole);
        self.application_body_bytes += u64::from(record.passed);
        self.application_header_bytes += HEADER_BYTES;
        self.header_fresh += u64::from(record.header_fresh);
        self.body_fresh += u64::from(record.body_fresh);
        self.tails_fresh += u64::from(whole && record.tail_fresh);
    }

    /// Corrects the class of a record that was counted as application data.
    pub(super) fn application_was_control(&mut self, record: &Sealed) {
        let whole = record.passed == record.length;
        self.application_records = self.application_records.saturating_sub(u64::from(whole));
        self.application_body_bytes = self.application_body_bytes.saturating_sub(u64::from(record.passed));
        self.application_header_bytes = self.application_header_bytes.saturating_sub(HEADER_BYTES);
        self.header_fresh = self.header_fresh.saturating_sub(u64::from(record.header_fresh));
        self.body_fresh = self.body_fresh.saturating_sub(u64::from(record.body_fresh));
        self.tails_fresh = self.tails_fresh.saturating_sub(u64::from(whole && record.tail_fresh));
        self.add_control(record);
    }

    /// Bytes of all records outside the handshake that are no application data.
    pub(super) fn overhead_bytes(&self, overhead: Overhead) -> u64 {
        self.control_bytes + self.application_header_bytes + self.protection(overhead)
    }

    /// Plaintext bytes of application data.
    pub(super) fn application_bytes(&self, overhead: Overhead) -> u64 {
        self.application_body_bytes - self.protection(overhead)
    }

    fn protection(&self, overhead: Overhead) -> u64 {
        (self.application_records * u64::from(overhead.bytes)).min(self.application_body_bytes)
    }

    /// Splits `passed_fresh` bytes. What protection adds shares the fate of its record's last byte: a record whose end
    /// was retransmitted has none among the fresh bytes.
    pub(super) fn stream_bytes(&self, passed_fresh: u64, overhead: Option<Overhead>) -> StreamBytes {
        let per_record = overhead.map_or(0, |overhead| u64::from(overhead.bytes));
        let protection = (self.tails_fresh * per_record).min(self.body_fresh);
        let tls_handshake = self.handshake_fresh;
        let tls_record = self.control_fresh + self.header_fresh + protection;
        let application = passed_fresh.saturating_sub(tls_handshake + tls_record);
        StreamBytes { tls_handshake, tls_record, application }
    }
}
