//! The engine of vmtrace: capture bytes in, measurements out.
//!
//! The flow through the crate, one room a stage; each uses only those above it (`tests/house/test_engine_rooms.py`):
//!
//! ```text
//! read/      file bytes      -> Chunk of Records  (formats, compression, damage, merging)
//! decode/    one Record      -> Packet            (link layers, tunnels, IP, TCP header)
//! filter/    one frame       -> keep or not       (compiled BPF filters)
//! secrets/   keys            -> plaintext         (derived and opened by ring)
//! tls/       stream bytes    -> TLS facts         (handshake, records)
//! dns/       port 53         -> lookups           (names of addresses)
//! http2/     TCP payload     -> HTTP/2 facts      (frames, windows)
//! quic/      datagrams       -> QUIC facts        (Initials, spin bit)
//! tcp/       Packets         -> summaries         (state, loss, RTT, pauses, limits, verdict)
//! quic/      datagrams       -> QUIC facts        (handshake, versions)
//! flows/     not TCP         -> datagram flows    (numbers, protocols, neighbours)
//! analysis/  runs them all, on as many threads as it is given ([`analysis::analyze`])
//! output/    summaries       -> JSON, columns
//! ```
//!
//! `packet` and `link_type` are what several stages speak of: a TCP segment, and what frames begin with; `keyed` has tables. `README.md` beside
//! this file walks one packet through all of them.
//!
//! Nothing here knows a clock, a file name or Python; the binding crate does. No panic may be reachable from input.

pub mod analysis;
pub mod decode;
pub mod dns;
pub mod filter;
pub mod flows;
pub mod http2;
mod keyed;
pub mod link_type;
pub mod output;
pub mod packet;
pub mod quic;
pub mod read;
pub mod secrets;
pub mod tcp;
pub mod tls;
