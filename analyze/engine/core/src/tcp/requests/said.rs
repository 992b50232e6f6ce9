//! A stretch of one side's data without a word of the other side in between.

pub use crate::tls::Moment;
use crate::tls::Records;

/// Client and server by number.
pub const CLIENT: u8 = 0;

/// An interim response of HTTP (RFC 9110 section 15.2): the response is still to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interim {
    /// It is none.
    No,
    /// It is one.
    Yes,
    /// It is as long as a 100 Continue: one, if a body follows.
    Maybe,
}

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Said {
    /// Client (0) or server (1).
    pub side: u8,
    /// Its first byte passed.
    pub start: Moment,
    /// Its last byte passed.
    pub end: Moment,
    /// Bytes.
    pub bytes: u64,
    /// Inside TLS: its records.
    pub records: Records,
    /// Its sender had received what the other side said before: all of a response, or some of a request.
    pub informed: bool,
    /// Whether its response is still to come.
    pub interim: Interim,
}
