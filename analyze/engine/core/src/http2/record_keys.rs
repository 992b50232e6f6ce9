//! Keys of TLS records by a key log, one direction's: TLS 1.3 (RFC 8446 section 5) and the AEAD suites of TLS 1.2.

use tls_parser::{TlsCipherEnc, TlsCipherEncMode, TlsCipherSuite, TlsPRF};

use crate::secrets::Keys;
use crate::secrets::aead::{Cipher, NONCE_BYTES, Opener, TAG_BYTES};
use crate::secrets::derive::{Hash, expand_label, key_block};
use crate::secrets::key_log::Label;

/// Part of a nonce that each record of TLS 1.2 carries (RFC 5288 section 3).
const EXPLICIT_BYTES: usize = 8;

/// What a handshake agreed on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Agreed<'a> {
    pub(super) randoms: [&'a [u8]; 2],
    pub(super) suite: u16,
    pub(super) is_tls13: bool,
}

/// A secret of TLS 1.3 in use.
#[derive(Debug, Clone)]
pub(super) struct Stage {
    opener: Opener,
    secret: Vec<u8>,
    sequence: u64,
}

/// See the module.
#[derive(Debug, Clone)]
pub(super) enum RecordKeys {
    Tls13 { suite: (Cipher, Hash), handshake: Option<Box<Stage>>, traffic: Option<Box<Stage>> },
    Tls12 { opener: Box<Opener>, fixed: Option<[u8; 4]>, sequence: u64 },
}

impl Stage {
    fn new((cipher, hash): (Cipher, Hash), secret: &[u8]) -> Option<Box<Stage>> {
        let key = expand_label(hash, secret, "key", cipher.key_bytes())?;
        let opener = Opener::new(cipher, &key, &expand_label(hash, secret, "iv", NONCE_BYTES)?)?;
        Some(Box::new(Self { opener, secret: secret.to_vec(), sequence: 0 }))
    }

    /// Type and plaintext of a record; the type stands behind the text, before its padding.
    fn open<'a>(&mut self, header: &[u8], sealed: &'a mut [u8]) -> Option<(u8, &'a [u8])> {
        let text = &*self.opener.open(self.sequence, header, sealed)?;
        self.sequence += 1;
        let end = text.iter().rposition(|&byte| byte != 0)?;
        Some((*text.get(end)?, text.get(..end)?))
    }
}

impl RecordKeys {
    /// Keys of the client (0) or the server (1); none if the log has no secret, or the suite is not opened.
    pub(super) fn new(log: &Keys, agreed: &Agreed<'_>, side: usize) -> Option<Self> {
        let [client, server] = agreed.randoms;
        if agreed.is_tls13 {
            let suite = Cipher::of_tls13(agreed.suite)?;
            let stage = |label| log.secret(client, label).and_then(|secret| Stage::new(suite, &secret));
            let (handshake, traffic) = (stage(Label::Handshake(side)), stage(Label::Traffic(side)));
            return traffic.is_some().then_some(Self::Tls13 { suite, handshake, traffic });
        }
        let (cipher, hash, fixed_bytes) = of_tls12(agreed.suite)?;
        let master = log.secret(client, Label::Master)?;
        let key_bytes = cipher.key_bytes();
        let block = key_block(hash, &master, &[server, client].concat(), 2 * (key_bytes + fixed_bytes));
        let key = block.get(side * key_bytes..)?.get(..key_bytes)?;
        let fixed = block.get(2 * key_bytes + side * fixed_bytes..)?.get(..fixed_bytes)?;
        let mut iv = [0; NONCE_BYTES];
        iv.get_mut(..fixed_bytes)?.copy_from_slice(fixed);
        let opener = Box::new(Opener::new(cipher, key, &iv)?);
        Some(Self::Tls12 { opener, fixed: fixed.try_into().ok(), sequence: 0 })
    }

    /// Opens a record: type and plaintext.
    pub(super) fn open(&mut self, header: [u8; 5], body: &[u8]) -> Option<(u8, Vec<u8>)> {
        match self {
            Self::Tls12 { opener, fixed, sequence } => {
                let explicit_bytes = if fixed.is_some() { EXPLICIT_BYTES } else { 0 };
                let (explicit, sealed) = body.split_at_checked(explicit_bytes)?;
                let text_bytes = u16::try_from(sealed.len().checked_sub(TAG_BYTES)?).ok()?;
                let [kind, major, minor, ..] = header;
                let associated =
                    [&sequence.to_be_bytes()[..], &[kind, major, minor], &text_bytes.to_be_bytes()].concat();
                let mut sealed = sealed.to_vec();
                let text = match fixed {
                    Some(fixed) => {
                        let nonce = [&fixed[..], explicit].concat().try_into().ok()?;
                        opener.open_with(nonce, &associated, &mut sealed)
                    }
                    None => opener.open(*sequence, &associated, &mut sealed),
                };
                let text = text?.to_vec();
                *sequence += 1;
                Some((kind, text))
            }
            Self::Tls13 { suite, handshake, traffic } => {
                let mut sealed = body.to_vec();
                let first = traffic.as_mut().filter(|stage| stage.sequence > 0 || handshake.is_none());
                // Before the first record of application data come those of the handshake.
                let stages =
                    if let Some(stage) = first { [Some(stage), None] } else { [handshake.as_mut(), traffic.as_mut()] };
                for stage in stages.into_iter().flatten() {
                    if let Some((kind, text)) = stage.open(&header, &mut sealed) {
                        return Some((kind, text.to_vec()));
                    }
                    sealed.clear();
                    sealed.extend_from_slice(body);
                }
                let (_, hash) = *suite;
                let traffic = traffic.as_mut()?;
                let next = expand_label(hash, &traffic.secret, "traffic upd", hash.bytes())?;
                let mut next = Stage::new(*suite, &next)?;
                let (kind, text) = next.open(&header, &mut sealed)?;
                let text = text.to_vec();
                *traffic = next;
                Some((kind, text))
            }
        }
    }
}

/// Cipher, hash of the key expansion, and bytes of a nonce that it gives.
fn of_tls12(suite: u16) -> Option<(Cipher, Hash, usize)> {
    let suite = TlsCipherSuite::from_id(suite)?;
    let (cipher, fixed_bytes) = match (suite.enc, suite.enc_mode, suite.enc_size) {
        (TlsCipherEnc::Aes, TlsCipherEncMode::Gcm, 128) => (Cipher::Aes128Gcm, NONCE_BYTES - EXPLICIT_BYTES),
        (TlsCipherEnc::Aes, TlsCipherEncMode::Gcm, 256) => (Cipher::Aes256Gcm, NONCE_BYTES - EXPLICIT_BYTES),
        (TlsCipherEnc::Chacha20_Poly1305, ..) => (Cipher::ChaCha20Poly1305, NONCE_BYTES),
        _ => return None,
    };
    let hash = if matches!(suite.prf, TlsPRF::Sha384) { Hash::Sha384 } else { Hash::Sha256 };
    Some((cipher, hash, fixed_bytes))
}
