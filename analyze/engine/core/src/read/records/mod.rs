//! Capture files with fixed record headers (pcap, snoop), and the way back after damage. Owns how such a file is walked over;
//! bytes come from `file_source`, what is learnt goes to `ledger`.
//!
//! ```text
//! layout       how record headers lie in the file, what its file header says, what is ordinary
//! record_walk  hops along the chain of records
//!   judge      what an unusual header can be
//!   search     the next place where records follow each other
//! pcap, snoop  two formats: their file headers and layouts
//! erf          the third, which has no file header
//! ```

pub(crate) mod erf;
pub(crate) mod judge;
pub(crate) mod layout;
pub(crate) mod pcap;
pub(crate) mod record_walk;
pub(crate) mod search;
pub(crate) mod snoop;
