//! How far a TLS handshake has come where records cannot be read one after the other, because the snap length cut them.

use crate::tls::conclusion::{Negotiated, Pair};

/// See the module; by what the client sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// It goes on, or its end lies in bytes that were not captured.
    Handshake,
    /// The client has sent encrypted records, the first of which may be its Finished.
    Finished,
    /// The handshake is over, or passed before the capture.
    Data,
}

impl Progress {
    /// Of the two directions as far as they were proved; `hello_begun`: one of them has sent a hello.
    pub(super) fn of(pair: Pair<'_>, hello_begun: bool) -> Self {
        let is_older = || pair.negotiated().is_some_and(|negotiated: Negotiated| !negotiated.is_tls13());
        match pair.client.filter(|client| client.assembler.hello_begun) {
            None if hello_begun => Self::Handshake,
            None => Self::Data,
            Some(client) if !client.has_encrypted() => Self::Handshake,
            Some(_) if is_older() => Self::Data,
            Some(_) => Self::Finished,
        }
    }
}
