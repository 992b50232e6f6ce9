//! QUIC as the packets show it (RFC 9000): what each flow says without keys.
//!
//! ```text
//! state    one flow: fed with each datagram, in the order of the capture
//! ```
//!
//! The table of datagram flows ([`crate::flows`]) recognises a flow by its first long header, makes a [`QuicState`] for it and
//! hands it that datagram and all that follow, of both directions. Results are read off it when the capture has ended.

pub mod state;

pub use crate::quic::state::{Datagram, QuicState};
