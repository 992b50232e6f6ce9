//! Authenticated encryption as TLS 1.3, TLS 1.2's AEAD suites and QUIC use it: opened, never sealed.

use ring::aead::quic::{self, HeaderProtectionKey};
use ring::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};

use crate::secrets::derive::Hash;

/// Bytes of a nonce.
pub(crate) const NONCE_BYTES: usize = 12;

/// Bytes of the tag behind the ciphertext.
pub(crate) const TAG_BYTES: usize = 16;

/// The ciphers that are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cipher {
    /// AES-128-GCM.
    Aes128Gcm,
    /// AES-256-GCM.
    Aes256Gcm,
    /// ChaCha20-Poly1305.
    ChaCha20Poly1305,
}

impl Cipher {
    fn algorithm(self) -> &'static aead::Algorithm {
        match self {
            Self::Aes128Gcm => &aead::AES_128_GCM,
            Self::Aes256Gcm => &aead::AES_256_GCM,
            Self::ChaCha20Poly1305 => &aead::CHACHA20_POLY1305,
        }
    }

    fn header_protection(self) -> &'static quic::Algorithm {
        match self {
            Self::Aes128Gcm => &quic::AES_128,
            Self::Aes256Gcm => &quic::AES_256,
            Self::ChaCha20Poly1305 => &quic::CHACHA20,
        }
    }

    /// Bytes of a key.
    pub(crate) fn key_bytes(self) -> usize {
        self.algorithm().key_len()
    }

    /// Cipher and hash of a TLS 1.3 suite; none if it is not opened.
    pub(crate) fn of_tls13(suite: u16) -> Option<(Self, Hash)> {
        match suite {
            0x1301 => Some((Self::Aes128Gcm, Hash::Sha256)),
            0x1302 => Some((Self::Aes256Gcm, Hash::Sha384)),
            0x1303 => Some((Self::ChaCha20Poly1305, Hash::Sha256)),
            _ => None,
        }
    }

    /// The key of header protection.
    pub(crate) fn header_key(self, key: &[u8]) -> Option<HeaderProtectionKey> {
        HeaderProtectionKey::new(self.header_protection(), key).ok()
    }
}

/// A key and its initialisation vector.
#[derive(Debug, Clone)]
pub(crate) struct Opener {
    key: LessSafeKey,
    iv: [u8; NONCE_BYTES],
}

impl Opener {
    /// None if a length does not fit.
    pub(crate) fn new(cipher: Cipher, key: &[u8], iv: &[u8]) -> Option<Self> {
        let key = LessSafeKey::new(UnboundKey::new(cipher.algorithm(), key).ok()?);
        Some(Self { key, iv: iv.try_into().ok()? })
    }

    /// Opens what packet or record `number` holds, in place (RFC 9001 section 5.3, RFC 8446 section 5.3).
    pub(crate) fn open<'a>(&self, number: u64, associated: &[u8], sealed: &'a mut [u8]) -> Option<&'a mut [u8]> {
        let mut nonce = self.iv;
        for (byte, of_number) in nonce.iter_mut().skip(NONCE_BYTES - 8).zip(number.to_be_bytes()) {
            *byte ^= of_number;
        }
        self.open_with(nonce, associated, sealed)
    }

    /// Opens with a nonce that its sender chose.
    pub(crate) fn open_with<'a>(
        &self,
        nonce: [u8; NONCE_BYTES],
        associated: &[u8],
        sealed: &'a mut [u8],
    ) -> Option<&'a mut [u8]> {
        self.key.open_in_place(Nonce::assume_unique_for_key(nonce), Aad::from(associated), sealed).ok()
    }
}
