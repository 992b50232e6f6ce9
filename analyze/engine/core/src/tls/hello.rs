//! ClientHello and ServerHello: what they say, also when only their beginning was captured.
//!
//! The grammar is `tls-parser`'s; this file decides what to keep and walks extensions one by one, so that an extension
//! that is malformed or cut off takes nothing else with it.

use tls_parser::{
    TlsExtension, TlsExtensionType, TlsMessageHandshake, parse_tls_client_hello_extension,
    parse_tls_handshake_client_hello, parse_tls_handshake_msg_server_hello, parse_tls_server_hello_extension,
};

/// The random of a ServerHello that is a HelloRetryRequest (RFC 8446 section 4.1.3): SHA-256 of "HelloRetryRequest".
const HELLO_RETRY_RANDOM: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11,
    0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

/// Transport parameters of QUIC (RFC 9001 section 8.2).
const QUIC_PARAMETERS: TlsExtensionType = TlsExtensionType(57);

/// What is kept of a ClientHello.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ClientHello {
    /// What a key log finds its secrets by.
    pub(crate) random: Vec<u8>,
    pub(crate) session_id: Vec<u8>,
    pub(crate) sni: Option<String>,
    pub(crate) alpn: Vec<String>,
    pub(crate) early_data: bool,
    /// Length of the first pre-shared key identity: the ticket of an earlier session.
    pub(crate) ticket_bytes: Option<u16>,
    /// Transport parameters of QUIC.
    pub(crate) quic_parameters: Vec<u8>,
    /// The end of the message was not captured: what is missing here may have been said there.
    pub(crate) cut: bool,
}

impl ClientHello {
    /// True if the client offers a version of HTTP, in which the server has nothing to say before a request.
    pub(crate) fn offers_http(&self) -> bool {
        self.alpn.iter().any(|name| name == "h2" || name.starts_with("http/"))
    }
}

/// What is kept of a ServerHello or HelloRetryRequest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ServerHello {
    pub(crate) retry: bool,
    pub(crate) random: Vec<u8>,
    pub(crate) version: u16,
    pub(crate) cipher: u16,
    pub(crate) compression: u8,
    pub(crate) session_id: Vec<u8>,
    pub(crate) alpn: Option<String>,
    pub(crate) psk: bool,
    /// The end of the message was not captured: the version may have been negotiated there.
    pub(crate) cut: bool,
}

/// Reads a ClientHello's body (after the four bytes of handshake header) or as much of it as there is.
pub(crate) fn client_hello(body: &[u8], cut: bool) -> ClientHello {
    let mut hello = ClientHello { cut, ..ClientHello::default() };
    let Ok((rest, parsed)) = parse_tls_handshake_client_hello(body) else {
        hello.cut = true;
        return hello;
    };
    hello.session_id = parsed.session_id.unwrap_or_default().to_vec();
    hello.random = parsed.random.to_vec();
    for extension in extensions(parsed.ext, rest) {
        match parse_tls_client_hello_extension(extension) {
            Ok((_, TlsExtension::SNI(names))) => {
                hello.sni = names.first().map(|(_, name)| String::from_utf8_lossy(name).into_owned());
            }
            Ok((_, TlsExtension::ALPN(protocols))) => hello.alpn = protocols.into_iter().filter_map(protocol).collect(),
            Ok((_, TlsExtension::EarlyData(_))) => hello.early_data = true,
            Ok((_, TlsExtension::PreSharedKey(&[_, _, high, low, ..]))) => {
                hello.ticket_bytes = Some(u16::from_be_bytes([high, low]));
            }
            Ok((_, TlsExtension::Unknown(QUIC_PARAMETERS, parameters))) => hello.quic_parameters = parameters.to_vec(),
            _ => {}
        }
    }
    hello
}

/// Reads a ServerHello's body, or as much of it as there is; none if its cipher suite is not in it.
pub(crate) fn server_hello(body: &[u8], cut: bool) -> Option<ServerHello> {
    let mut draft_body;
    let mut body = body;
    let legacy_version = u16::from_be_bytes([*body.first()?, *body.get(1)?]);
    if (0x7f12..=0x7f15).contains(&legacy_version) {
        // Drafts 18 to 21 share a layout that the parser reads under the number of draft 18 alone.
        draft_body = body.to_vec();
        draft_body.splice(..2, [0x7f, 0x12]);
        body = &draft_body;
    }
    let (rest, message) = parse_tls_handshake_msg_server_hello(body).ok()?;
    let (random, list, mut hello) = match message {
        TlsMessageHandshake::ServerHello(parsed) => {
            let hello = ServerHello {
                cipher: parsed.cipher.0,
                compression: parsed.compression.0,
                session_id: parsed.session_id.unwrap_or_default().to_vec(),
                ..ServerHello::default()
            };
            (parsed.random, parsed.ext, hello)
        }
        TlsMessageHandshake::ServerHelloV13Draft18(parsed) => {
            (parsed.random, parsed.ext, ServerHello { cipher: parsed.cipher.0, ..ServerHello::default() })
        }
        _ => return None,
    };
    hello.cut = cut;
    hello.retry = random == HELLO_RETRY_RANDOM;
    hello.random = random.to_vec();
    hello.version = legacy_version;
    for extension in extensions(list, rest) {
        match parse_tls_server_hello_extension(extension) {
            Ok((_, TlsExtension::SupportedVersions(versions))) => {
                hello.version = versions.first().map_or(legacy_version, |version| version.0);
            }
            Ok((_, TlsExtension::ALPN(protocols))) => hello.alpn = protocols.into_iter().find_map(protocol),
            Ok((_, TlsExtension::PreSharedKey(_))) => hello.psk = true,
            _ => {}
        }
    }
    Some(hello)
}

/// What is kept of EncryptedExtensions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct EncryptedExtensions {
    pub(crate) alpn: Option<String>,
    /// Transport parameters of QUIC.
    pub(crate) quic_parameters: Vec<u8>,
}

/// Reads the body of EncryptedExtensions.
pub(crate) fn encrypted_extensions(body: &[u8]) -> EncryptedExtensions {
    let mut found = EncryptedExtensions::default();
    for extension in extensions(None, body) {
        match parse_tls_server_hello_extension(extension) {
            Ok((_, TlsExtension::ALPN(protocols))) => found.alpn = protocols.into_iter().find_map(protocol),
            Ok((_, TlsExtension::Unknown(QUIC_PARAMETERS, parameters))) => found.quic_parameters = parameters.to_vec(),
            _ => {}
        }
    }
    found
}

/// Protocol name as text; none for the reserved names that keep servers tolerant (RFC 8701).
fn protocol(name: &[u8]) -> Option<String> {
    let reserved = matches!(name, [a, b] if a == b && a & 0x0f == 0x0a);
    (!reserved).then(|| String::from_utf8_lossy(name).into_owned())
}

/// The extensions one by one, each with its type and length in front. `whole` is the list as the parser delimited it;
/// when the message is cut the parser gives none, and the list's beginning is `rest` after its two length bytes.
fn extensions<'a>(whole: Option<&'a [u8]>, rest: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let mut list = whole.unwrap_or_else(|| rest.get(2..).unwrap_or_default());
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_be_bytes([*list.get(2)?, *list.get(3)?]));
        let (extension, after) = list.split_at_checked(4 + length)?;
        list = after;
        Some(extension)
    })
}
