//! Handshake messages of one direction out of the bodies of its records.
//!
//! Only hellos and the beginning of a Certificate message are kept, and only until they are read; of every other message
//! nothing but type and length is of use, so that a message of 16 MB costs no memory. Once ChangeCipherSpec has passed,
//! record bodies are ciphertext (TLS 1.2) or may still be plaintext (the second hello after a HelloRetryRequest in TLS
//! 1.3): only a hello is recognised there.

use crate::tls::certificate::{CertificateNames, certificate_names};
use crate::tls::hello::{self, ClientHello, EncryptedExtensions, ServerHello};

/// Longest hello that is kept; a longer one is read as if it were cut there.
const MAX_HELLO_BYTES: usize = 64 << 10;

/// Of a Certificate message: room for the server's own certificate, which stands first.
const MAX_CERTIFICATE_BYTES: usize = 16 << 10;

/// Version, random, session id length, cipher suite, compression: no hello is shorter.
const MIN_HELLO_BYTES: u32 = 38;

/// Stands for a message that is only passed over.
const UNREAD: u8 = 255;

const CLIENT_HELLO: u8 = 1;

const SERVER_HELLO: u8 = 2;

/// In clear text only where its record or packet was opened.
const ENCRYPTED_EXTENSIONS: u8 = 8;

const CERTIFICATE: u8 = 11;

const SERVER_HELLO_DONE: u8 = 14;

/// Where the assembler stands in the handshake stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    /// Collecting the four bytes of a message header.
    Header { have: u8 },
    /// Inside a message.
    Body { kind: u8, remaining: u32 },
    /// Boundaries are unknown (ciphertext, garbage, or a header that was not captured) until the next record begins.
    Lost,
}

/// What the handshake messages of one direction said.
#[derive(Debug, Clone, Default)]
pub(crate) struct Messages {
    pub(crate) client_hello: Option<ClientHello>,
    /// The last ServerHello that is not a HelloRetryRequest.
    pub(crate) server_hello: Option<ServerHello>,
    pub(crate) hello_retry: bool,
    /// Length of the first Certificate message with its header, bytes.
    pub(super) certificate_bytes: Option<u64>,
    /// Names in its first certificate; none if none of its bytes were captured.
    pub(super) certificate_names: Option<CertificateNames>,
    pub(super) server_hello_done: bool,
    pub(crate) encrypted_extensions: Option<EncryptedExtensions>,
    /// Message boundaries were lost at some point: a message that was not seen may have been sent.
    pub(super) incomplete: bool,
}

impl Messages {}

/// Cuts the handshake stream into messages.
#[derive(Debug, Clone)]
pub(crate) struct Assembler {
    header: [u8; 4],
    position: Position,
    ciphertext: bool,
    /// What was captured of the message at hand, if it is kept.
    kept: Vec<u8>,
    pub(crate) messages: Messages,
    /// A message of type ClientHello or ServerHello with a sane length and version was begun.
    pub(super) hello_begun: bool,
}

impl Default for Assembler {
    fn default() -> Self {
        Self::new()
    }
}

impl Assembler {
    pub(crate) fn new() -> Self {
        Self {
            header: [0; 4],
            position: Position::Header { have: 0 },
            ciphertext: false,
            kept: Vec::new(),
            messages: Messages::default(),
            hello_begun: false,
        }
    }

    /// A handshake record begins; `after_cipher_change` if ChangeCipherSpec has passed in this direction.
    pub(crate) fn record_start(&mut self, after_cipher_change: bool) {
        let inside_hello = matches!(self.position, Position::Body { kind: CLIENT_HELLO | SERVER_HELLO, .. });
        self.ciphertext = after_cipher_change;
        if self.position == Position::Lost || (after_cipher_change && !inside_hello) {
            self.position = Position::Header { have: 0 };
        }
    }

    /// True if the record at hand turned out to hold no message that can be read.
    pub(super) fn unreadable(&self) -> bool {
        self.position == Position::Lost
    }

    /// An SSLv2 ClientHello was seen: it has no extensions, and nothing else in it is of use.
    pub(super) fn v2_client_hello(&mut self) {
        self.hello_begun = true;
        self.messages.client_hello.get_or_insert_default();
    }

    /// Takes captured bytes of a record body.
    pub(crate) fn bytes(&mut self, mut bytes: &[u8]) {
        while let Some((&first, rest)) = bytes.split_first() {
            match self.position {
                Position::Lost => return,
                Position::Header { have } => {
                    if let Some(slot) = self.header.get_mut(usize::from(have)) {
                        *slot = first;
                    }
                    self.position = Position::Header { have: have + 1 };
                    if have == 3 {
                        self.message_start();
                    }
                    bytes = rest;
                }
                Position::Body { kind, remaining } => {
                    let (now, after) = bytes.split_at(bytes.len().min(remaining as usize));
                    self.body(kind, now);
                    if self.position != Position::Lost {
                        self.advance(kind, remaining - now.len() as u32);
                    }
                    bytes = after;
                }
            }
        }
    }

    /// Passes over bytes of a record body that were not captured.
    pub(super) fn blind(&mut self, mut count: u64) {
        if count == 0 {
            return;
        }
        if let Position::Body { kind, remaining } = self.position {
            let skipped = count.min(u64::from(remaining)) as u32;
            self.finish_message(kind, true);
            self.advance(UNREAD, remaining - skipped);
            count -= u64::from(skipped);
        }
        if count > 0 {
            self.lose();
        }
    }

    /// The place in the record stream was lost: whatever message was under way ends here.
    pub(super) fn stream_lost(&mut self) {
        if let Position::Body { kind, .. } = self.position {
            self.finish_message(kind, true);
        }
        self.lose();
    }

    /// The messages so far, with a hello that is still incomplete read as far as it goes.
    pub(crate) fn messages_so_far(&self) -> Messages {
        let mut messages = self.messages.clone();
        if let Position::Body { kind, .. } = self.position {
            read_message(&mut messages, kind, &self.kept, true);
        }
        messages
    }

    fn message_start(&mut self) {
        let [kind, high, middle, low] = self.header;
        let length = u32::from_be_bytes([0, high, middle, low]);
        let is_hello = matches!(kind, CLIENT_HELLO | SERVER_HELLO);
        let hello_fits = (MIN_HELLO_BYTES..=0xffff).contains(&length);
        if (is_hello && !hello_fits) || (!is_hello && self.ciphertext) || !is_known(kind) {
            return self.lose();
        }
        if kind == CERTIFICATE {
            self.messages.certificate_bytes.get_or_insert(4 + u64::from(length));
        }
        self.messages.server_hello_done |= kind == SERVER_HELLO_DONE;
        self.kept.clear();
        self.advance(kind, length);
    }

    fn body(&mut self, kind: u8, bytes: &[u8]) {
        let most = match kind {
            CLIENT_HELLO | SERVER_HELLO | ENCRYPTED_EXTENSIONS => MAX_HELLO_BYTES,
            CERTIFICATE if self.messages.certificate_names.is_none() => MAX_CERTIFICATE_BYTES,
            _ => return,
        };
        let room = most - self.kept.len().min(most);
        self.kept.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        match self.kept.get(..2) {
            _ if matches!(kind, CERTIFICATE | ENCRYPTED_EXTENSIONS) => {}
            Some([3, 0..=4] | [0x7f, _]) => self.hello_begun = true,
            Some(_) => self.lose(),
            None => {}
        }
    }

    fn advance(&mut self, kind: u8, remaining: u32) {
        if remaining > 0 {
            self.position = Position::Body { kind, remaining };
        } else {
            self.finish_message(kind, false);
            self.position = Position::Header { have: 0 };
        }
    }

    fn finish_message(&mut self, kind: u8, cut: bool) {
        if !self.kept.is_empty() {
            let message = std::mem::take(&mut self.kept);
            read_message(&mut self.messages, kind, &message, cut);
        }
    }

    fn lose(&mut self) {
        self.kept = Vec::new();
        self.messages.incomplete |= !self.ciphertext;
        self.position = Position::Lost;
    }
}

fn read_message(messages: &mut Messages, kind: u8, body: &[u8], cut: bool) {
    if body.is_empty() {
        return;
    }
    match kind {
        CLIENT_HELLO => {
            messages.client_hello.get_or_insert_with(|| hello::client_hello(body, cut));
        }
        SERVER_HELLO => match hello::server_hello(body, cut) {
            Some(hello) if hello.retry => messages.hello_retry = true,
            Some(hello) => messages.server_hello = Some(hello),
            None => {}
        },
        ENCRYPTED_EXTENSIONS => messages.encrypted_extensions = Some(hello::encrypted_extensions(body)),
        CERTIFICATE => {
            messages.certificate_names.get_or_insert_with(|| certificate_names(body));
        }
        _ => {}
    }
}

/// Handshake types in use (IANA registry), without those that DTLS alone has.
fn is_known(kind: u8) -> bool {
    matches!(kind, 0..=2 | 4..=6 | 8 | 11..=16 | 20..=25 | 67)
}
