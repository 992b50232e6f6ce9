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
//! cut          records that a snap length cut -> which are data
//! chosen       hellos              -> whether HTTP/2 was chosen
//! reader, tally                    -> TlsFacts (facts), StreamBytes
//! outbox       application data (entry), through message_filter -> what each side has said (spoken)
//! lane         search and records of one direction
//! tracker      all of it for one connection, which has two directions (stream_direction)
//! ```

pub(crate) mod certificate;
pub(crate) mod chosen;
pub(crate) mod conclusion;
pub(crate) mod cut;
pub(crate) mod der;
pub(crate) mod detect;
pub(crate) mod entry;
pub(crate) mod facts;
pub(crate) mod handshake;
pub(crate) mod hello;
pub(crate) mod lane;
pub(crate) mod message_filter;
pub(crate) mod names;
pub(crate) mod outbox;
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
pub use crate::tls::entry::Moment;
pub use crate::tls::facts::{EarlyData, TlsFacts};
pub use crate::tls::message_filter::CONTINUE_BYTES;
pub use crate::tls::spoken::{Records, Spoken};
pub use crate::tls::stream_direction::StreamDirection;
pub use crate::tls::tally::StreamBytes;
pub use crate::tls::tracker::TlsTracker;
