//! The whole way from readers to results: reading, decoding and TCP analysis, on one thread or several. Owns threads and
//! order; what is done with a packet is `decode`'s, `tcp`'s and `dns`'s.
//!
//! Reading is serial, decoding goes chunk by chunk on any thread, and connections are shared out over shards, each of
//! which sees its packets in order.
//!
//! ```text
//! whole, parts  all of it in one reading, or as many as memory or a lag asks for (part: a range of flows)
//!   reading    one reading, what it leaves, and how several become one result
//!     time_order records in order of their times (held: what waits for that; set_back: a clock that was set is no disorder)
//!     runs     captures that stand one behind the other in a file, read beside each other (run_search: where each begins)
//!     two_clocks captures of two points put together (one_point: the packets of one of them)
//!       second_look   is it worth comparing everything? decided from a sample
//!       points_apart  are there two, and how far apart (hops_apart, gaps_to_copies, turnarounds: what shows it)
//!       pairs    which frames are of which (copies: what has passed one of them; point_labels: what was found)
//!     lag      a host that was recorded late, put right in another reading
//!     serial   one reading in one loop
//!     live     the same, looked at while it goes on (kept: its last packets)
//!     parallel the same on several threads
//!       others  frames without TCP to what they concern
//!       tunnels      that connections were found in
//!       icmp_errors  on their way to the connections that they quote; echoes: pings and their replies
//!       stage  what both share: chunks taken in, filtered, counted by input
//! slices       in two runs, on as many processes as there are: packets to slices, slices to connections
//! indexed      packets of connections that are known, from the stretches that hold them (flow_index: which)
//! outline      what others have to know of a connection
//! fallbacks    TCP connections that followed QUIC without a reply
//! options, results, failure   what the caller gives and gets
//! ```

pub(crate) mod copies;
pub mod echoes;
pub mod failure;
pub mod fallbacks;
pub mod flow_index;
pub(crate) mod gaps_to_copies;
pub(crate) mod held;
pub(crate) mod hops_apart;
pub mod icmp_errors;
pub mod indexed;
pub mod kept;
pub(crate) mod lag;
pub mod live;
pub(crate) mod one_point;
pub mod options;
pub mod others;
pub mod outline;
pub(crate) mod pairs;
pub(crate) mod parallel;
pub mod part;
pub(crate) mod parts;
pub(crate) mod point_labels;
pub(crate) mod points_apart;
pub(crate) mod reading;
pub mod results;
mod run_search;
pub(crate) mod runs;
pub(crate) mod second_look;
pub(crate) mod serial;
mod set_back;
pub mod slices;
pub(crate) mod stage;
pub mod time_order;
pub(crate) mod tunnels;
pub(crate) mod turnarounds;
pub(crate) mod two_clocks;
pub mod whole;

// For those outside the crate.
pub use crate::analysis::failure::Failure;
pub use crate::analysis::options::{FilterCompiler, NoObserver, Observer, Options};
pub use crate::analysis::parts::analyze_in_parts;
pub use crate::analysis::results::{Analysis, InputSummary, Inputs, Summaries};
pub use crate::analysis::whole::{analyze, analyze_source};
pub use crate::tcp::flow::selection::KnownConnection;
