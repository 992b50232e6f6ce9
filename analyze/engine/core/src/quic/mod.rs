//! QUIC of one connection from its datagrams: what can be read without keys, and with those of a key log
//! (RFC 9000, 9001, 9002, 9312, 9369).
//!
//! ```text
//! bytes, version         bytes             -> integers; what differs between versions
//! header                 a datagram        -> packets with long headers
//! protection             Initials          -> contents, opened with keys that everybody can derive
//! frame                  contents          -> frames
//! hellos                 CRYPTO frames     -> ClientHello and ServerHello
//! joined                 a captured payload -> the datagrams in it, where several were captured as one
//! opening                datagrams' sizes  -> handshake time, round trips, the wait for address validation
//! spin, ids              short headers     -> round trips by the spin bit; connection ids, stateless resets
//! levels                 sealed packets    -> contents, opened with keys of a key log
//! inside                 contents          -> packet numbers, round trips (numbers, counting, round_trip, parameters), streams;
//!                                             samples: shortest, longest and median of durations
//! state                  all of it         -> QuicSummary (summary)
//! ```

pub(crate) mod bytes;
pub(crate) mod counting;
pub(crate) mod frame;
pub(crate) mod header;
pub(crate) mod hellos;
pub(crate) mod ids;
pub(crate) mod inside;
pub(crate) mod joined;
pub(crate) mod levels;
pub(crate) mod numbers;
pub(crate) mod opening;
pub(crate) mod parameters;
pub(crate) mod protection;
pub(crate) mod round_trip;
pub(crate) mod samples;
pub(crate) mod spin;
pub(crate) mod state;
pub(crate) mod streams;
pub(crate) mod summary;
pub(crate) mod version;

pub use crate::quic::counting::PacketCounts;
pub use crate::quic::inside::{InsideSummary, KeptPacket, StreamSummary};
pub use crate::quic::joined::Joined;
pub use crate::quic::round_trip::AcknowledgedRtt;
pub use crate::quic::samples::Durations;
pub use crate::quic::spin::{SpinRtt, Stretched};
pub use crate::quic::state::{QuicState, UdpPayload};
pub use crate::quic::streams::FlowControl;
pub use crate::quic::summary::{Close, CloseKind, IdSummary, QuicSummary};
