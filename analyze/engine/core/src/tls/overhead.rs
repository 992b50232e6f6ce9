//! What protection adds to each record beyond its header, by version and cipher suite.
//!
//! Rule: docs/methods.md, "Record overhead".

use tls_parser::{TlsCipherEnc, TlsCipherEncMode, TlsCipherMac, TlsCipherSuite, TlsPRF};

use crate::tls::names;

/// Bytes that protection adds to a record body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Overhead {
    pub(super) bytes: u16,
    /// CBC hides its padding: `bytes` then counts IV, MAC and the single padding byte that must be there, so it is a
    /// lower bound, short by up to a block less one (by up to 255 with a stack that pads at random).
    pub(super) is_minimum: bool,
}

/// Protection overhead of a record; none if the suite is unknown or its arithmetic is not settled.
///
/// TLS 1.3 (RFC 8446 section 5.2): tag and one byte of content type; record padding, which hardly anyone uses, cannot
/// be seen. TLS 1.2 AEAD: 8 bytes of explicit nonce for GCM (RFC 5288) and CCM (RFC 6655), none for ChaCha20 (RFC 7905).
/// CBC: explicit IV since TLS 1.1 (RFC 4346 section 6.2.3.2). A truncated HMAC (RFC 6066) is not taken into account.
pub(super) fn of(version: u16, cipher: u16) -> Option<Overhead> {
    let suite = TlsCipherSuite::from_id(cipher)?;
    if names::is_tls13(version) {
        return tls13(suite).map(exact);
    }
    if matches!(suite.enc, TlsCipherEnc::Aegis) {
        return None;
    }
    match (suite.enc_mode, suite.enc, suite.mac) {
        (TlsCipherEncMode::Gcm | TlsCipherEncMode::Ccm, ..) => Some(exact(8 + tag_bytes(suite))),
        (_, TlsCipherEnc::Chacha20_Poly1305, _) => Some(exact(16)),
        (TlsCipherEncMode::Cbc, ..) => Some(cbc(version, suite)),
        (TlsCipherEncMode::Null, ..) => Some(exact(suite.mac_length() as u16)),
    }
}

/// Length of a Finished message's verify data in TLS 1.3: that of the suite's hash (RFC 8446 section 4.4.4).
pub(super) fn tls13_hash_bytes(cipher: u16) -> Option<u16> {
    match TlsCipherSuite::from_id(cipher)?.prf {
        TlsPRF::Sha384 => Some(48),
        TlsPRF::Sha512 => Some(64),
        _ => Some(32),
    }
}

fn tls13(suite: &TlsCipherSuite) -> Option<u16> {
    match (suite.enc, suite.mac) {
        (TlsCipherEnc::Aegis, _) => None,
        // Integrity alone (RFC 9150 section 5): the tag is a full HMAC.
        (TlsCipherEnc::Null, TlsCipherMac::Aead) => None,
        (TlsCipherEnc::Null, _) => Some(suite.mac_length() as u16 + 1),
        _ => Some(tag_bytes(suite) + 1),
    }
}

fn tag_bytes(suite: &TlsCipherSuite) -> u16 {
    if suite.name.contains("_CCM_8") { 8 } else { 16 }
}

fn cbc(version: u16, suite: &TlsCipherSuite) -> Overhead {
    let iv = if version >= 0x0302 { suite.enc_block_size() } else { 0 };
    Overhead { bytes: (iv + suite.mac_length() + 1) as u16, is_minimum: true }
}

fn exact(bytes: u16) -> Overhead {
    Overhead { bytes, is_minimum: false }
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overhead_follows_version_and_suite() {
        let cases = [
            (0x0304, 0x1301, Some(exact(17))),
            (0x0304, 0x1303, Some(exact(17))),
            (0x0304, 0x1305, Some(exact(9))),
            (0x0303, 0xc02f, Some(exact(24))),
            (0x0303, 0xcca8, Some(exact(16))),
            (0x0303, 0xc0ae, Some(exact(16))),
            (0x0303, 0x0005, Some(exact(20))),
            (0x0301, 0x002f, Some(Overhead { bytes: 21, is_minimum: true })),
            (0x0302, 0x002f, Some(Overhead { bytes: 37, is_minimum: true })),
            (0x0303, 0xc028, Some(Overhead { bytes: 65, is_minimum: true })),
            (0x0301, 0x000a, Some(Overhead { bytes: 21, is_minimum: true })),
            (0x0303, 0xcc14, None),
        ];
        for (version, cipher, expected) in cases {
            assert_eq!(of(version, cipher), expected, "{version:04x} {cipher:04x}");
        }
    }

    #[test]
    fn finished_is_as_long_as_the_hash() {
        assert_eq!(tls13_hash_bytes(0x1301), Some(32));
        assert_eq!(tls13_hash_bytes(0x1302), Some(48));
    }
}
