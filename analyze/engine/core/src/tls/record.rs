//! The five bytes in front of every TLS record (RFC 8446 section 5.1, RFC 5246 section 6.2.1), and the SSLv2 hello.
//!
//! Owns what a plausible header is; what records mean is for [`super::side`].

/// Bytes of a record header.
pub(crate) const HEADER_BYTES: u64 = 5;

/// Longest record body any version allows: 2^14 of plaintext and 2048 of expansion (RFC 5246 section 6.2.3).
const MAX_BODY_BYTES: u16 = (1 << 14) + 2048;

/// What a record carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContentType {
    ChangeCipherSpec,
    Alert,
    Handshake,
    Application,
    Heartbeat,
    /// A ClientHello in the clothes of SSLv2 (RFC 5246 appendix E.2), with a header of two bytes.
    V2ClientHello,
}

/// A record header that makes sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordHeader {
    pub(crate) content_type: ContentType,
    /// Bytes of the body that follows.
    pub(crate) length: u16,
}

impl RecordHeader {
    /// Reads a header; none if no TLS stack would write it.
    pub(crate) fn parse(bytes: [u8; 5]) -> Option<Self> {
        let [kind, major, minor, high, low] = bytes;
        let length = u16::from_be_bytes([high, low]);
        let content_type = match kind {
            0x14 => ContentType::ChangeCipherSpec,
            0x15 => ContentType::Alert,
            0x16 => ContentType::Handshake,
            0x17 => ContentType::Application,
            0x18 => ContentType::Heartbeat,
            _ => return None,
        };
        let empty_allowed = content_type == ContentType::Application;
        let plausible = major == 3 && minor <= 4 && length <= MAX_BODY_BYTES && (length > 0 || empty_allowed);
        plausible.then_some(Self { content_type, length })
    }
}

/// Length of an SSLv2 ClientHello after its two header bytes, if `bytes` (at least 11) begin with one that offers
/// SSL 3.0 or later.
pub(super) fn v2_client_hello(bytes: &[u8]) -> Option<u16> {
    let &[high, low, 1, 3, _, spec_high, spec_low, session_high, session_low, challenge_high, challenge_low, ..] =
        bytes
    else {
        return None;
    };
    let length = u16::from_be_bytes([high & 0x7f, low]);
    let specs = u16::from_be_bytes([spec_high, spec_low]);
    let session = u16::from_be_bytes([session_high, session_low]);
    let challenge = u16::from_be_bytes([challenge_high, challenge_low]);
    let sum = u32::from(specs) + u32::from(session) + u32::from(challenge) + 9;
    let plausible = high & 0x80 != 0
        && specs > 0
        && specs.is_multiple_of(3)
        && (session == 0 || session == 16)
        && (16..=32).contains(&challenge)
        && sum == u32::from(length);
    plausible.then_some(length)
}
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_every_type_are_read_and_others_refused() {
        let header = RecordHeader::parse([0x17, 3, 3, 0x40, 0x11]).unwrap();
        assert_eq!((header.content_type, header.length), (ContentType::Application, 0x4011));
        assert_eq!(RecordHeader::parse([0x16, 3, 1, 2, 0]).unwrap().content_type, ContentType::Handshake);
        for wrong in
            [[0x13, 3, 3, 0, 9], [0x17, 2, 3, 0, 9], [0x17, 3, 5, 0, 9], [0x17, 3, 3, 0x48, 1], [0x16, 3, 3, 0, 0]]
        {
            assert_eq!(RecordHeader::parse(wrong), None, "{wrong:x?}");
        }
    }

    #[test]
    fn an_sslv2_hello_is_known_by_lengths_that_add_up() {
        let hello = [0x80, 0x1f, 1, 3, 1, 0, 6, 0, 0, 0, 16];
        assert_eq!(v2_client_hello(&hello), Some(31));
        let mut wrong = hello;
        wrong[1] = 0x20;
        assert_eq!(v2_client_hello(&wrong), None);
    }
}
