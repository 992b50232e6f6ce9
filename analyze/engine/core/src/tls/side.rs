//! One direction once TLS was recognised in it: walks its records and sorts their bytes.
//!
//! Bytes come in order from [`super::stream`]. A record whose header was captured can be passed over without its body,
//! so a snap length or a hole costs nothing as long as it spares the headers. When it takes one, the place in the record
//! stream is lost: exact counts end there, and the walk begins again at the next segment that starts with a header.

use crate::tls::handshake::Assembler;
use crate::tls::outbox::Outbox;
use crate::tls::phase;
use crate::tls::record::{self, ContentType, RecordHeader};
use crate::tls::stream::{Origin, StreamPiece};
use crate::tls::tally::{Sealed, Tally};

/// Most alerts kept.
const MAX_ALERTS: usize = 16;

/// Record headers in a row that prove TLS without a hello.
const PROOF_HEADERS: u64 = 3;

/// A record that has begun.
#[derive(Debug, Clone, Copy)]
struct OpenRecord {
    content_type: ContentType,
    /// First body bytes, enough for an alert.
    head: [u8; phase::ALERT_BYTES as usize],
    sealed: Sealed,
}

/// An alert as it was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alert {
    Plain(u8),
    Encrypted,
}

/// Where exact counting ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lost {
    pub(super) reason: &'static str,
    pub(super) time_ns: i64,
}

/// What became of the client's part of a TLS 1.3 handshake.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ClientOutcome {
    /// When the first and the last byte of the Finished record passed.
    pub(super) finished_ns: Option<(i64, i64)>,
    /// When the client's first application data after it began to pass.
    pub(super) application_ns: Option<i64>,
    pub(super) early_data_sent: bool,
    pub(super) early_data_accepted: bool,
}

/// State of one direction.
#[derive(Debug, Clone)]
pub(super) struct RecordSide {
    header: [u8; 5],
    header_have: u8,
    header_fresh: u8,
    header_start_ns: i64,
    header_frame: u32,
    open: Option<OpenRecord>,
    /// What the last record that began carries.
    last_type: Option<ContentType>,
    in_step: bool,
    pub(super) lost: Option<Lost>,
    pub(super) assembler: Assembler,
    pub(super) cipher_changed: bool,
    /// When the first encrypted handshake record after ChangeCipherSpec had passed (Finished, up to TLS 1.2).
    pub(super) finished_ns: Option<i64>,
    /// Where the first record begins in the stream.
    pub(super) start_offset: u64,
    /// When its first byte passed.
    pub(super) start_ns: i64,
    /// When the first ServerHello that is no retry had passed.
    pub(super) server_hello_ns: Option<i64>,
    headers: u64,
    /// The stream begins with a handshake record, whose content the snap length may hide.
    begins_with_handshake: bool,
    /// Records that have passed completely.
    pub(super) records: u64,
    pub(super) alerts: Vec<Alert>,
    pub(super) last_application: Option<Sealed>,
    /// Length of the first one, if all before it was read.
    pub(super) first_encrypted: Option<u16>,
    /// It sends handshake messages that TLS 1.3 encrypts.
    pub(super) is_older: bool,
    /// Length of the encrypted Finished, up to TLS 1.2.
    pub(super) finished_bytes: Option<u16>,
    /// The capture missed bytes within the stream.
    pub(super) misses_bytes: bool,
    /// Application data, for requests.
    pub(super) outbox: Outbox,
    pub(super) tally: Tally,
    /// Application data records not yet classified; none once they are.
    pub(super) undecided: Option<Vec<Sealed>>,
    /// The client's Finished, once its records are classified (TLS 1.3).
    pub(super) client_outcome: Option<ClientOutcome>,
}

impl RecordSide {
    pub(super) fn new(start_offset: u64, start_ns: i64) -> Self {
        Self {
            header: [0; 5],
            header_have: 0,
            header_fresh: 0,
            header_start_ns: start_ns,
            header_frame: 0,
            open: None,
            last_type: None,
            in_step: true,
            lost: None,
            assembler: Assembler::new(),
            cipher_changed: false,
            finished_ns: None,
            start_offset,
            start_ns,
            server_hello_ns: None,
            headers: 0,
            begins_with_handshake: false,
            records: 0,
            alerts: Vec::new(),
            last_application: None,
            first_encrypted: None,
            is_older: false,
            finished_bytes: None,
            misses_bytes: false,
            outbox: Outbox::default(),
            tally: Tally::default(),
            undecided: Some(Vec::new()),
            client_outcome: None,
        }
    }

    /// A record stream that begins with an SSLv2 ClientHello of `length` bytes after its two bytes of header.
    pub(super) fn new_v2(length: u16, start_offset: u64, start_ns: i64) -> Self {
        let mut side = Self::new(start_offset, start_ns);
        side.assembler.v2_client_hello();
        side.headers = 1;
        // The header's bytes are passed in with the body: they only have to be counted.
        side.open_record(ContentType::V2ClientHello, length + 2, 0, 0);
        side
    }

    /// Takes the next piece of the stream.
    pub(super) fn piece(&mut self, piece: StreamPiece<'_>) {
        let mut bytes = piece.bytes;
        self.misses_bytes |= piece.origin == Origin::Unseen;
        if !self.in_step {
            let header = bytes.first_chunk::<5>().and_then(|header| RecordHeader::parse(*header));
            self.in_step = header.is_some();
        }
        while !bytes.is_empty() && self.in_step {
            bytes = match self.open {
                Some(_) => self.body(bytes, &piece),
                None => self.header(bytes, &piece),
            };
        }
        match self.in_step {
            true => self.blind(piece.blind_bytes, &piece),
            false => self.unread(bytes.len() as u64 + piece.blind_bytes, &piece),
        }
    }

    /// Bytes whose records cannot be read, unless they belong to the handshake.
    fn unread(&mut self, count: u64, piece: &StreamPiece<'_>) {
        self.outbox.unread((piece.time_ns, piece.frame), count);
    }

    /// True if the record stream is broken before it was proved to be one.
    pub(super) fn is_refuted(&self) -> bool {
        self.lost.is_some() && !self.is_proved(false)
    }

    /// True if this is TLS beyond doubt: by a hello, by headers in a row, or by records that fill the stream exactly; with
    /// `other`, the other direction being TLS, one record is enough.
    pub(super) fn is_proved(&self, other: bool) -> bool {
        let ends_with_record = self.in_step && self.open.is_none() && self.header_have == 0;
        self.assembler.hello_begun
            || self.headers >= PROOF_HEADERS
            || (ends_with_record
                && (self.records >= PROOF_HEADERS - 1 || (self.records == 1 && self.start_offset == 0)))
            || (other && self.records >= 1)
    }

    /// True if the next `count` bytes lie within one record whose content does not matter.
    pub(super) fn ignores_next(&self, count: u64) -> bool {
        self.open.is_some_and(|open| {
            open.content_type == ContentType::Application && u64::from(open.sealed.length - open.sealed.passed) >= count
        })
    }

    /// True if application data records wait to be classified.
    pub(super) fn has_undecided(&self) -> bool {
        self.undecided.as_ref().is_some_and(|undecided| !undecided.is_empty())
    }

    /// The record at hand, if its end has not passed.
    pub(super) fn unfinished(&self) -> Option<(ContentType, Sealed)> {
        self.open.map(|open| (open.content_type, open.sealed))
    }

    fn header<'a>(&mut self, bytes: &'a [u8], piece: &StreamPiece<'_>) -> &'a [u8] {
        if self.header_have == 0 {
            (self.header_start_ns, self.header_frame) = (piece.time_ns, piece.frame);
        }
        let start = usize::from(self.header_have);
        let count = bytes.len().min(self.header.len() - start);
        let (now, rest) = bytes.split_at(count);
        if let Some(slot) = self.header.get_mut(start..start + count) {
            slot.copy_from_slice(now);
        }
        self.header_have += count as u8;
        self.header_fresh += if piece.origin == Origin::Fresh { count as u8 } else { 0 };
        if usize::from(self.header_have) == self.header.len() {
            match RecordHeader::parse(self.header) {
                Some(header) => {
                    self.headers += 1;
                    let fresh = self.header_fresh;
                    self.clear_header();
                    self.open_record(header.content_type, header.length, record::HEADER_BYTES as u8, fresh);
                }
                None => self.lose("no record header where one was expected", piece.time_ns),
            }
        }
        rest
    }

    fn open_record(&mut self, content_type: ContentType, length: u16, header_bytes: u8, header_fresh: u8) {
        let (start_ns, frame) = (self.header_start_ns, self.header_frame);
        let of_header =
            Sealed { start_ns, end_ns: start_ns, start_frame: frame, end_frame: frame, ..Sealed::default() };
        let sealed = Sealed { length, header_bytes, header_fresh, ..of_header };
        if content_type == ContentType::Handshake {
            self.assembler.record_start(self.cipher_changed);
            self.begins_with_handshake |= self.headers == 1 && self.start_offset == 0;
            if self.cipher_changed {
                self.finished_bytes.get_or_insert(length);
            }
        }
        self.last_type = Some(content_type);
        self.open = Some(OpenRecord { content_type, head: [0; 2], sealed });
        self.close_if_complete();
    }

    fn body<'a>(&mut self, bytes: &'a [u8], piece: &StreamPiece<'_>) -> &'a [u8] {
        let Some(open) = self.open.as_mut() else {
            return bytes;
        };
        let left = usize::from(open.sealed.length - open.sealed.passed);
        let (now, rest) = bytes.split_at(bytes.len().min(left));
        for (slot, byte) in open.head.iter_mut().skip(usize::from(open.sealed.passed)).zip(now) {
            *slot = *byte;
        }
        pass(&mut open.sealed, now.len() as u16, piece);
        if open.content_type == ContentType::Handshake {
            self.is_older |= usize::from(open.sealed.passed) == now.len() && !begins_hello(now);
            self.assembler.bytes(now);
        }
        self.close_if_complete();
        rest
    }

    /// Passes over bytes that were not captured, to the end of the record at hand and no further.
    fn blind(&mut self, count: u64, piece: &StreamPiece<'_>) {
        if count == 0 {
            return;
        }
        let mut past_record = count;
        if let Some(open) = self.open.as_mut() {
            let now = count.min(u64::from(open.sealed.length - open.sealed.passed)) as u16;
            pass(&mut open.sealed, now, piece);
            if open.content_type == ContentType::Handshake {
                self.assembler.blind(u64::from(now));
            }
            past_record -= u64::from(now);
            self.close_if_complete();
        }
        if past_record > 0 {
            let reason = match piece.origin {
                Origin::Unseen => "a record header lies in bytes that the capture missed",
                _ => "a record header lies beyond the snap length",
            };
            self.lose(reason, piece.time_ns);
            // Behind handshake messages come others.
            if self.last_type == Some(ContentType::Application) {
                self.unread(past_record, piece);
            }
        }
    }

    fn lose(&mut self, reason: &'static str, time_ns: i64) {
        self.clear_header();
        self.open = None;
        self.in_step = false;
        self.lost.get_or_insert(Lost { reason, time_ns });
        self.assembler.stream_lost();
    }

    fn clear_header(&mut self) {
        self.header_have = 0;
        self.header_fresh = 0;
    }

    fn close_if_complete(&mut self) {
        let Some(open) = self.open.filter(|open| open.sealed.passed == open.sealed.length) else {
            return;
        };
        self.open = None;
        self.records += 1;
        let sealed = &open.sealed;
        match open.content_type {
            ContentType::V2ClientHello => self.tally.add_handshake(sealed),
            ContentType::ChangeCipherSpec => {
                self.tally.add_handshake(sealed);
                self.cipher_changed = true;
            }
            ContentType::Handshake => self.handshake_record(sealed),
            ContentType::Alert => self.alert(&open),
            ContentType::Heartbeat => self.tally.add_control(sealed),
            ContentType::Application => self.application_record(sealed),
        }
    }

    fn handshake_record(&mut self, sealed: &Sealed) {
        self.tally.add_handshake(sealed);
        if self.assembler.messages.server_hello.is_some() {
            self.server_hello_ns.get_or_insert(sealed.end_ns);
        }
        if self.cipher_changed && self.assembler.unreadable() {
            self.finished_ns.get_or_insert(sealed.end_ns);
        }
    }

    fn alert(&mut self, open: &OpenRecord) {
        self.tally.add_control(&open.sealed);
        if self.alerts.len() < MAX_ALERTS {
            // Protection makes an alert longer than its two bytes, whatever the cipher.
            let [_, description] = open.head;
            self.alerts.push(if open.sealed.length == phase::ALERT_BYTES {
                Alert::Plain(description)
            } else {
                Alert::Encrypted
            });
        }
    }

    fn application_record(&mut self, sealed: &Sealed) {
        if self.last_application.is_none() && self.lost.is_none() {
            self.first_encrypted = Some(sealed.length);
        }
        self.last_application = Some(*sealed);
        // Without a hello in this direction there is no handshake to be told apart.
        let undecided = self.undecided.as_mut().filter(|_| self.assembler.hello_begun);
        match undecided.filter(|undecided| undecided.len() < phase::MAX_RECORDS) {
            Some(undecided) => undecided.push(*sealed),
            None => {
                self.tally.add_application(sealed);
                self.outbox.classified(sealed);
            }
        }
        self.outbox.passed(sealed);
    }

    /// No record that has passed waits to be classified.
    pub(super) fn is_settled(&self) -> bool {
        self.undecided.is_none() || !self.assembler.hello_begun && !self.begins_with_handshake
    }
}

/// A handshake record begins with a ClientHello or ServerHello, as far as its first bytes show.
fn begins_hello(bytes: &[u8]) -> bool {
    matches!(bytes, [] | [1 | 2] | [1 | 2, 0, ..])
}

fn pass(sealed: &mut Sealed, count: u16, piece: &StreamPiece<'_>) {
    if count == 0 {
        return;
    }
    sealed.passed += count;
    sealed.tail_fresh = piece.origin == Origin::Fresh;
    sealed.body_fresh += if sealed.tail_fresh { count } else { 0 };
    (sealed.end_ns, sealed.end_frame) = (piece.time_ns, piece.frame);
}
