//! TLS facts of one connection from its byte streams: versions, handshake cost, record overhead. Decrypts nothing.
//!
//! ```text
//! stream       segments            -> bytes in order, or the number of those missing
//! detect       bytes               -> where TLS begins
//! record, side bytes               -> records, their bytes sorted
//! handshake    handshake records   -> hellos (hello), names in a certificate (certificate, der), message lengths
//! phase        TLS 1.3 records     -> which are handshake, by position
//! overhead     version and suite   -> what protection adds to a record
//! names        numbers             -> the words for versions, suites and alerts
//! conclusion   both directions     -> settled classes
//! reader, tally                    -> TlsFacts (facts), StreamBytes
//! tracker      all of it for one connection
//! ```

mod certificate;
mod conclusion;
mod der;
mod detect;
mod facts;
mod handshake;
mod hello;
mod names;
mod overhead;
mod phase;
mod reader;
mod record;
mod side;
pub(crate) mod stream;
mod tally;
mod tracker;

pub use certificate::{CertificateNames, certificate_names};
pub use facts::{EarlyData, TlsFacts};
pub use tally::StreamBytes;
pub use tracker::TlsTracker;

/// Which way the bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the side that opened the connection.
    ClientToServer,
    /// From the side that accepted it.
    ServerToClient,
}
