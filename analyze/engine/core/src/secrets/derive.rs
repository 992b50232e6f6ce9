//! HKDF-Expand-Label (RFC 8446 section 7.1), which TLS 1.3 and QUIC derive their keys with; TLS 1.2's key expansion.

use ring::hkdf::{Algorithm, HKDF_SHA256, HKDF_SHA384, KeyType, Prk, Salt};
use ring::hmac;

/// Longest label or secret in use, bytes.
const MAX_LABEL_BYTES: usize = 255;

/// The hash of a cipher suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hash {
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
}

impl Hash {
    fn algorithm(self) -> Algorithm {
        match self {
            Self::Sha256 => HKDF_SHA256,
            Self::Sha384 => HKDF_SHA384,
        }
    }

    /// Bytes of a secret.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::Sha256 => 32,
            Self::Sha384 => 48,
        }
    }
}

struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

/// Bytes derived from a secret; none if the label or the length is beyond what HKDF allows.
pub(crate) fn expand_label(hash: Hash, secret: &[u8], label: &str, length: usize) -> Option<Vec<u8>> {
    expand(&Prk::new_less_safe(hash.algorithm(), secret), label, length)
}

/// The same from input keying material that a salt extracts first (SHA-256).
pub(crate) fn extract_and_expand(salt: &[u8], material: &[u8], label: &str, length: usize) -> Option<Vec<u8>> {
    expand(&Salt::new(HKDF_SHA256, salt).extract(material), label, length)
}

fn expand(secret: &Prk, label: &str, length: usize) -> Option<Vec<u8>> {
    const PREFIX: &str = "tls13 ";
    let label_bytes =
        u8::try_from(PREFIX.len() + label.len()).ok().filter(|&bytes| usize::from(bytes) <= MAX_LABEL_BYTES)?;
    let length_bytes = u16::try_from(length).ok()?.to_be_bytes();
    let info: [&[u8]; 5] = [&length_bytes, &[label_bytes], PREFIX.as_bytes(), label.as_bytes(), &[0]];
    let mut out = vec![0; length];
    secret.expand(&info, Length(length)).ok()?.fill(&mut out).ok()?;
    Some(out)
}

/// P_hash of TLS 1.2's key expansion (RFC 5246 sections 5 and 6.3); `seed` is the server's random and the client's.
pub(crate) fn key_block(hash: Hash, master: &[u8], seed: &[u8], length: usize) -> Vec<u8> {
    let algorithm = match hash {
        Hash::Sha256 => hmac::HMAC_SHA256,
        Hash::Sha384 => hmac::HMAC_SHA384,
    };
    let key = hmac::Key::new(algorithm, master);
    let seed = [b"key expansion", seed].concat();
    let mut block = Vec::with_capacity(length + hash.bytes());
    let mut link = hmac::sign(&key, &seed);
    while block.len() < length {
        block.extend_from_slice(hmac::sign(&key, &[link.as_ref(), &seed].concat()).as_ref());
        link = hmac::sign(&key, link.as_ref());
    }
    block.truncate(length);
    block
}
