//! The engine of vmtrace: capture bytes in, measurements out.
//!
//! The flow through the crate, one module a stage:
//!
//! ```text
//! read/     file bytes      -> Chunk of Records  (formats, compression, damage, merging)
//! filter/   one frame       -> keep or not       (compiled BPF filters)
//! decode/   one Record      -> Packet            (link layers, tunnels, IP, TCP header)
//! tcp/      Packets         -> connections       (state, loss, RTT, spacing, windows)
//! tls/      stream bytes    -> TLS facts         (handshake, records)
//! dns/      port 53          -> lookups           (names of addresses)
//! output/   connections     -> JSON, columns
//! ```
//!
//! `packet` and `link_type` are what several stages speak of: a TCP segment, and what frames begin with.
//!
//! [`analysis::analyze`] runs them all, on as many threads as it is given.
//!
//! Nothing here knows a clock, a file name or Python; the binding crate does. No panic may be reachable from input.

pub mod analysis;
pub mod decode;
pub mod dns;
pub mod filter;
pub mod link_type;
pub mod output;
pub mod packet;
pub mod read;
pub mod tcp;
pub mod tls;
