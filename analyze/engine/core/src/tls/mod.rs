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
//! spoken       application data -> what each side has said
//! tracker      all of it for one connection, which has two directions (stream_direction)
//! ```

pub(crate) mod certificate;
pub(crate) mod conclusion;
pub(crate) mod der;
pub(crate) mod detect;
pub(crate) mod facts;
pub(crate) mod handshake;
pub(crate) mod hello;
pub(crate) mod names;
pub(crate) mod overhead;
pub(crate) mod phase;
pub(crate) mod reader;
pub(crate) mod record;
pub(crate) mod side;
pub(crate) mod spoken;
pub(crate) mod stream;
pub(crate) mod stream_direction;
pub(crate) mod tally;
pub(crate) mod tracker;

pub use crate::tls::certificate::{CertificateNames, certificate_names};
pub use crate::tls::facts::{EarlyData, TlsFacts};
pub use crate::tls::spoken::Spoken;
pub use crate::tls::stream_direction::StreamDirection;
pub use crate::tls::tally::StreamBytes;
pub use crate::tls::tracker::TlsTracker;
