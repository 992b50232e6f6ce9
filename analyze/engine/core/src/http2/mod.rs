//! HTTP/2 of one connection (RFC 9113), in clear text or inside TLS whose keys are in a key log: streams, windows, and how they ended. Fields of heads are not read.
//!
//! ```text
//! ordered    segments         -> bytes in order, for the two that read them
//! frame      bytes in order   -> frames of one direction
//! windows    DATA and credit  -> time that a sender stood at a window
//! tracker    both directions  -> Http2Summary
//! sealed     TLS records      -> text for the tracker, or of another protocol (record_keys)
//! reader     either of the two
//! ```

pub(crate) mod frame;
pub(crate) mod ordered;
pub(crate) mod reader;
pub(crate) mod record_keys;
pub(crate) mod sealed;
pub(crate) mod tracker;
pub(crate) mod windows;

pub use crate::http2::reader::Http2Reader;
pub use crate::http2::sealed::{Opened, SealedTracker};
pub use crate::http2::tracker::{Goaway, Http2Summary, Http2Tracker};
pub use crate::http2::windows::{Stall, WindowUse};
