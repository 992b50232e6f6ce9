//! What is known of one QUIC connection: plain numbers, in the words of the JSON document's `flows[].quic`.

use crate::quic::inside::InsideSummary;
use crate::quic::spin::SpinRtt;

/// Who closed a connection, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Close {
    /// 0 the client, 1 the server.
    pub side: usize,
    /// In which way.
    pub kind: CloseKind,
    /// The error's number; none of a stateless reset.
    pub code: Option<u64>,
    /// The reason phrase, as far as it is text.
    pub reason: String,
    /// When it passed, Unix nanoseconds.
    pub time_ns: i64,
}

/// The ways to close a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseKind {
    /// CONNECTION_CLOSE of QUIC itself.
    Transport,
    /// CONNECTION_CLOSE of the application.
    Application,
    /// The peer knows nothing of the connection.
    StatelessReset,
}

impl CloseKind {
    /// The word in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Transport => "transport",
            Self::Application => "application",
            Self::StatelessReset => "stateless_reset",
        }
    }
}

impl Close {
    /// The error's name in the registry (RFC 9000 section 20.1), if it has one.
    pub fn error(&self) -> Option<String> {
        let code = self.code.filter(|_| self.kind == CloseKind::Transport)?;
        let name = match code {
            0x00 => "NO_ERROR",
            0x01 => "INTERNAL_ERROR",
            0x02 => "CONNECTION_REFUSED",
            0x03 => "FLOW_CONTROL_ERROR",
            0x04 => "STREAM_LIMIT_ERROR",
            0x05 => "STREAM_STATE_ERROR",
            0x06 => "FINAL_SIZE_ERROR",
            0x07 => "FRAME_ENCODING_ERROR",
            0x08 => "TRANSPORT_PARAMETER_ERROR",
            0x09 => "CONNECTION_ID_LIMIT_ERROR",
            0x0a => "PROTOCOL_VIOLATION",
            0x0b => "INVALID_TOKEN",
            0x0c => "APPLICATION_ERROR",
            0x0d => "CRYPTO_BUFFER_EXCEEDED",
            0x0e => "KEY_UPDATE_ERROR",
            0x0f => "AEAD_LIMIT_REACHED",
            0x10 => "NO_VIABLE_PATH",
            0x11 => "VERSION_NEGOTIATION_ERROR",
            0x0100..=0x01ff => return Some(format!("CRYPTO_ERROR: {}", crate::tls::names::alert(code as u8))),
            _ => return None,
        };
        Some(name.into())
    }
}

/// Ids of one end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IdSummary {
    /// Length, bytes; none if unknown.
    pub bytes: Option<u64>,
    /// How many its peer used in packets with short headers.
    pub used: u64,
}

/// What is known of one connection.
#[derive(Debug, Clone, PartialEq)]
pub struct QuicSummary {
    /// The side of the flow that is the client, 0 or 1.
    pub client_side: usize,
    /// The version's number; none if no long header was captured.
    pub version: Option<u32>,
    /// Server's name in the ClientHello.
    pub sni: Option<String>,
    /// The protocol, if it is known: chosen, or the only one that was offered.
    pub alpn: Option<String>,
    /// Protocols that the client offered.
    pub alpn_offered: Vec<String>,
    /// The connection id that the client's first Initial went to, in hexadecimal: endpoints' logs name the connection by it.
    pub first_destination: Option<String>,
    /// Initials of the client and the server.
    pub initials: [u64; 2],
    /// From the client's first Initial to its last, ns.
    pub initials_span_ns: Option<i64>,
    /// The server asked the client to prove its address.
    pub retry: bool,
    /// Versions that the server offered in place of the client's.
    pub version_negotiation: Vec<u32>,
    /// From the client's first Initial to its first packet with a short header, ns.
    pub handshake_ns: Option<i64>,
    /// From Initial to reply, and from there to the client's next datagram, ns.
    pub handshake_rtt_ns: [Option<i64>; 2],
    /// Round trips that the handshake needed.
    pub handshake_round_trips: Option<u64>,
    /// How long the server's flight was held back, ns.
    pub amplification_wait_ns: Option<i64>,
    /// Round trips by the spin bit, or why there are none.
    pub spin_rtt: Result<SpinRtt, &'static str>,
    /// Ids of the client and the server.
    pub connection_ids: [IdSummary; 2],
    /// How it was closed, as far as it could be read.
    pub close: Option<Close>,
    /// With keys that fit.
    pub inside: Option<InsideSummary>,
    /// What could not be read, and why.
    pub unread: Option<String>,
}
