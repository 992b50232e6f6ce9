//! Whether HTTP/2 was chosen (ALPN, RFC 7301): up to TLS 1.2 the ServerHello says it, in TLS 1.3 the length of the server's
//! EncryptedExtensions, which hold little else (RFC 8446 section 4.3.1).

use crate::tls::conclusion::Pair;
use crate::tls::names;
use crate::tls::side::RecordSide;

/// EncryptedExtensions with ALPN for "h2", without and with the acknowledgement of the server's name, and protected.
const HTTP2_BYTES: [u16; 2] = [32, 36];

/// The same with "http/1.1", and without ALPN.
const OTHER_BYTES: [u16; 4] = [38, 42, 23, 27];

/// None where it may have been.
pub(super) fn is_http2(pair: &Pair<'_>) -> Option<bool> {
    offered(pair).filter(|offered| !offered).or_else(|| pair.server.and_then(chosen))
}

/// HTTP/2 was offered; none if that was not captured.
fn offered(pair: &Pair<'_>) -> Option<bool> {
    let hello = pair.client?.assembler.messages.client_hello.as_ref()?;
    let offers = hello.alpn.iter().any(|protocol| protocol == "h2");
    (offers || !hello.cut).then_some(offers)
}

fn chosen(server: &RecordSide) -> Option<bool> {
    let hello = server.assembler.messages.server_hello.as_ref()?;
    match &hello.alpn {
        Some(protocol) => Some(protocol == "h2"),
        None if names::is_tls13(hello.version) => of_extensions(server.first_encrypted?),
        None => (!hello.cut).then_some(false),
    }
}

fn of_extensions(record_bytes: u16) -> Option<bool> {
    let is_http2 = HTTP2_BYTES.contains(&record_bytes);
    (is_http2 || OTHER_BYTES.contains(&record_bytes)).then_some(is_http2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_encrypted_extensions_reveals_the_protocol() {
        // A message of 4 bytes of header, 2 of length, 4 of an empty name, 9 of ALPN; and 17 that protect it.
        assert_eq!(of_extensions(4 + 2 + 9 + 17), Some(true));
        assert_eq!(of_extensions(4 + 2 + 4 + 9 + 17), Some(true));
        assert_eq!(of_extensions(4 + 2 + 15 + 17), Some(false));
        assert_eq!(of_extensions(4 + 2 + 17), Some(false));
        assert_eq!(of_extensions(60), None);
    }
}
