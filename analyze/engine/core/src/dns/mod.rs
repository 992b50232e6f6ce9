//! DNS answers seen in a capture (RFC 1035, over UDP and TCP port 53): which name an address was looked up by, and how
//! long that took. What TCP connections are called is read off this table by whoever has their addresses.
//!
//! ```text
//! decode        frames             -> datagrams of port 53 (a frame without TCP; counted as before)
//! name          message bytes      -> one name, compression followed within bounds
//! message       message bytes      -> question, aliases and addresses that belong to it
//! stream        TCP port 53        -> messages behind their length (RFC 7766)
//! resolutions   lookups           -> what a program waited for: tries, types and suffixes of a name together
//! lookups       messages in order  -> Lookups: questions joined with their answers, bounded
//! ```

pub(crate) mod lookups;
pub(crate) mod message;
pub(crate) mod name;
pub mod resolutions;
pub(crate) mod stream;

pub use crate::decode::numbers::DNS_PORT as PORT;
pub use crate::dns::lookups::{Exchange, Lookup, Lookups, Transport};
pub use crate::dns::message::{Message, read_message};
pub use crate::dns::stream::DnsStreams;
