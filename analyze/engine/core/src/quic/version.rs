//! Versions of QUIC whose packets are read: 1 (RFC 9000) and 2 (RFC 9369). They differ in numbers and labels only.

/// What a packet with a long header is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LongKind {
    Initial,
    ZeroRtt,
    Handshake,
    Retry,
}

/// A version that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    One,
    Two,
}

impl Version {
    /// None for a version that nobody here knows.
    pub(super) fn of(number: u32) -> Option<Self> {
        match number {
            0x0000_0001 => Some(Self::One),
            0x6b33_43cf => Some(Self::Two),
            _ => None,
        }
    }

    /// The salt of its Initial secrets (RFC 9001 section 5.2, RFC 9369 section 3.3.1).
    pub(super) fn salt(self) -> &'static [u8; 20] {
        match self {
            Self::One => &[
                0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17, 0x9a, 0xe6, 0xa4, 0xc8, 0x0c, 0xad, 0xcc,
                0xbb, 0x7f, 0x0a,
            ],
            Self::Two => &[
                0x0d, 0xed, 0xe3, 0xde, 0xf7, 0x00, 0xa6, 0xdb, 0x81, 0x93, 0x81, 0xbe, 0x6e, 0x26, 0x9d, 0xcb, 0xf9,
                0xbd, 0x2e, 0xd9,
            ],
        }
    }

    /// Labels of a packet key, its IV, the header key and the next secret.
    pub(super) fn labels(self) -> Labels {
        match self {
            Self::One => Labels { key: "quic key", iv: "quic iv", header: "quic hp", update: "quic ku" },
            Self::Two => Labels { key: "quicv2 key", iv: "quicv2 iv", header: "quicv2 hp", update: "quicv2 ku" },
        }
    }

    /// The kind of a long header by its first byte.
    pub(super) fn kind(self, first: u8) -> LongKind {
        let bits = first >> 4 & 3;
        let number = match self {
            Self::One => bits,
            // Version 2 numbers them one further.
            Self::Two => bits.wrapping_sub(1) & 3,
        };
        match number {
            0 => LongKind::Initial,
            1 => LongKind::ZeroRtt,
            2 => LongKind::Handshake,
            _ => LongKind::Retry,
        }
    }
}

/// Labels of HKDF-Expand-Label.
#[derive(Debug, Clone, Copy)]
pub(super) struct Labels {
    pub(super) key: &'static str,
    pub(super) iv: &'static str,
    pub(super) header: &'static str,
    pub(super) update: &'static str,
}
