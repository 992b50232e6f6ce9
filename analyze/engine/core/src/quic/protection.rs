//! Packet protection (RFC 9001 section 5): keys of a secret, header protection off, contents opened.

use std::ops::Range;
use std::sync::Arc;

use ring::aead::quic::HeaderProtectionKey;

use crate::quic::version::Version;
use crate::secrets::aead::{Cipher, NONCE_BYTES, Opener, TAG_BYTES};
use crate::secrets::derive::{Hash, expand_label, extract_and_expand};

/// Longest packet number.
const MAX_NUMBER_BYTES: usize = 4;

/// A packet without header protection, in the buffer that it was copied to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unmasked {
    pub(super) first: u8,
    /// Its number as far as it was sent.
    truncated: u32,
    number_bytes: usize,
    /// Where the sealed contents begin.
    contents: usize,
}

impl Unmasked {
    /// The whole packet number, by the largest one so far (RFC 9000 appendix A.3).
    pub(super) fn number(&self, largest: Option<u64>) -> u64 {
        let expected = largest.map_or(0, |largest| largest.saturating_add(1));
        let window = 1u64 << (8 * self.number_bytes);
        let candidate = expected & !(window - 1) | u64::from(self.truncated);
        if candidate.saturating_add(window / 2) <= expected && candidate < (1 << 62) - window {
            candidate + window
        } else if candidate > expected.saturating_add(window / 2) && candidate >= window {
            candidate - window
        } else {
            candidate
        }
    }
}

/// Copies a packet to `buffer` and takes its header protection off.
pub(super) fn unmask(
    key: &HeaderProtectionKey,
    packet: &[u8],
    number_offset: usize,
    buffer: &mut Vec<u8>,
) -> Option<Unmasked> {
    let sample_at = number_offset.checked_add(MAX_NUMBER_BYTES)?;
    let [of_first, of_number @ ..] = key.new_mask(packet.get(sample_at..sample_at.checked_add(TAG_BYTES)?)?).ok()?;
    buffer.clear();
    buffer.extend_from_slice(packet);
    let first = buffer.first_mut()?;
    *first ^= of_first & if *first & 0x80 != 0 { 0x0f } else { 0x1f };
    let first = *first;
    let number_bytes = usize::from(first & 3) + 1;
    let mut truncated = 0;
    for (byte, mask) in buffer.get_mut(number_offset..)?.iter_mut().zip(of_number).take(number_bytes) {
        *byte ^= mask;
        truncated = truncated << 8 | u32::from(*byte);
    }
    Some(Unmasked { first, truncated, number_bytes, contents: number_offset + number_bytes })
}

/// Opens the contents of a packet that was unmasked. A failed attempt leaves the buffer of no use.
pub(super) fn open(opener: &Opener, unmasked: &Unmasked, number: u64, buffer: &mut [u8]) -> Option<Range<usize>> {
    let (header, sealed) = buffer.split_at_mut_checked(unmasked.contents)?;
    let length = opener.open(number, header, sealed)?.len();
    Some(unmasked.contents..unmasked.contents + length)
}

/// Keys of one direction at one level.
#[derive(Debug, Clone)]
pub(super) struct PacketKeys {
    header: HeaderKey,
    opener: Opener,
}

/// A header protection key, which the library does not print.
#[derive(Clone)]
pub(super) struct HeaderKey(pub(super) Arc<HeaderProtectionKey>);

impl std::fmt::Debug for HeaderKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("HeaderKey")
    }
}

/// What opens packets under a secret.
pub(super) fn opener(version: Version, cipher: Cipher, hash: Hash, secret: &[u8]) -> Option<Opener> {
    let labels = version.labels();
    let key = expand_label(hash, secret, labels.key, cipher.key_bytes())?;
    Opener::new(cipher, &key, &expand_label(hash, secret, labels.iv, NONCE_BYTES)?)
}

/// The header protection key of a secret.
pub(super) fn header_key(version: Version, cipher: Cipher, hash: Hash, secret: &[u8]) -> Option<HeaderKey> {
    cipher
        .header_key(&expand_label(hash, secret, version.labels().header, cipher.key_bytes())?)
        .map(|key| HeaderKey(Arc::new(key)))
}

impl PacketKeys {
    pub(super) fn of_secret(version: Version, cipher: Cipher, hash: Hash, secret: &[u8]) -> Option<Self> {
        let opener = opener(version, cipher, hash, secret)?;
        Some(Self { header: header_key(version, cipher, hash, secret)?, opener })
    }

    /// Keys of Initials, the client's and the server's, by the destination of the client's first one.
    pub(super) fn of_initials(version: Version, destination: &[u8]) -> Option<[Self; 2]> {
        let keys = |label| {
            let secret = extract_and_expand(version.salt(), destination, label, Hash::Sha256.bytes())?;
            Self::of_secret(version, Cipher::Aes128Gcm, Hash::Sha256, &secret)
        };
        Some([keys("client in")?, keys("server in")?])
    }

    /// Opens a packet: its number, and where in `buffer` its contents are.
    pub(super) fn open(
        &self,
        packet: &[u8],
        number_offset: usize,
        largest: Option<u64>,
        buffer: &mut Vec<u8>,
    ) -> Option<(u64, Range<usize>)> {
        let unmasked = unmask(&self.header.0, packet, number_offset, buffer)?;
        let number = unmasked.number(largest);
        Some((number, open(&self.opener, &unmasked, number, buffer)?))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Vec<u8> {
        let digits: Vec<u8> =
            text.chars().filter_map(|character| character.to_digit(16)).map(|digit| digit as u8).collect();
        digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
    }

    /// RFC 9001 appendix A.3.
    #[test]
    fn the_servers_initial_of_the_standard_is_opened() {
        let packet = bytes(
            "cf000000010008f067a5502a4262b5004075c0d95a482cd0991cd25b0aac406a5816b6394100f37a1c69797554780bb38cc5a99f5ede4c
            f73c3ec2493a1839b3dbcba3f6ea46c5b7684df3548e7ddeb9c3bf9c73cc3f3bded74b562bfb19fb84022f8ef4cdd93795d77d06edbb7aaf
            2f58891850abbdca3d20398c276456cbc42158407dd074ee",
        );
        let [client, server] = PacketKeys::of_initials(Version::One, &bytes("8394c8f03e515708")).unwrap();
        let mut buffer = Vec::new();
        let (number, range) = server.open(&packet, 18, None, &mut buffer).unwrap();
        assert_eq!((number, &buffer[range][..9]), (1, &bytes("0200000000 0600405a")[..]));
        assert!(client.open(&packet, 18, None, &mut buffer).is_none());
    }

    /// RFC 9001 appendix A.5.
    #[test]
    fn the_short_header_of_the_standard_is_opened() {
        let secret = bytes("9ac312a7f877468ebe69422748ad00a15443f18203a07d6060f688f30f21632b");
        let keys = PacketKeys::of_secret(Version::One, Cipher::ChaCha20Poly1305, Hash::Sha256, &secret).unwrap();
        let packet = bytes("4cfe4189655e5cd55c41f69080575d7999c25a5bfb");
        let mut buffer = Vec::new();
        let (number, range) = keys.open(&packet, 1, Some(654_360_563), &mut buffer).unwrap();
        assert_eq!((number, &buffer[range]), (654_360_564, &[1][..]));
    }

    /// RFC 9000 appendix A.3.
    #[test]
    fn a_number_is_the_one_nearest_to_the_largest() {
        let sent = Unmasked { first: 0, truncated: 0x9b32, number_bytes: 2, contents: 0 };
        assert_eq!(sent.number(Some(0xa82f_30ea)), 0xa82f_9b32);
        let first = Unmasked { first: 0, truncated: 0xff, number_bytes: 1, contents: 0 };
        assert_eq!(first.number(None), 0xff);
        assert_eq!(first.number(Some(0x105)), 0xff);
    }
}
