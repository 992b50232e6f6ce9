//! A stretch of one side's data without a word of the other side in between.

/// Client and server by number.
pub const CLIENT: u8 = 0;

/// When a packet passed, and its frame.
pub type Moment = (i64, u32);

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
    /// Its sender had received what the other side said before: all of a response, or some of a request.
    pub informed: bool,
    /// An interim response of HTTP (RFC 9110 section 15.2): the response is still to come.
    pub interim: bool,
}
