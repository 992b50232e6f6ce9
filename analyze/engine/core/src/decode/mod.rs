//! One captured frame to one TCP segment: link layers, tunnels, IP, TCP header. Owns no state but fragments; what a
//! segment means is `tcp`'s.
//!
//! ```text
//! batch                    the packets of a chunk, any number of chunks at once on different threads
//!   frame                  one frame, by the first way that can read it:
//!     fixed                the commonest frame: every field at a constant place
//!     fast                 the common frame (Ethernet, IP, TCP) in one step (hash: of its flow)
//!     walk                 every other frame, layer by layer
//!       link               envelope, erf, ethernet (tags, unknown_tag), ppp, mpls, wifi
//!       ip                 tcp (routing: IPv6 between other hosts than its header names)
//!       tunnel             gre, l2tp, udp (over_udp, access); on any port: look, proved by proof, or counted as unread
//!       entered            what a tunnel leaves for whoever asks
//!       view, layer        the rest of the frame, and what it is (ip_header: what is kept of IP; numbers: of protocols)
//!   fragments              chunk after chunk in file order: IP fragments to datagrams
//!     other                a frame without a TCP segment: what it is (icmp, echo: errors and pings among them)
//! reason                   why a frame gave no packet, counted
//! options                  TCP options of a packet, read later and only where they matter
//! ```
//!
//! The innermost TCP segment of a frame is its packet. Whatever a frame holds, decoding gives a packet, a fragment or
//! a reason ([`Undecoded`]), and every frame is counted exactly once.

pub(crate) mod access;
pub(crate) mod batch;
pub mod echo;
pub mod entered;
pub(crate) mod envelope;
pub(crate) mod erf;
pub(crate) mod ethernet;
pub(crate) mod fast;
pub(crate) mod fixed;
pub mod fragments;
pub mod frame;
pub(crate) mod gre;
pub(crate) mod hash;
pub mod icmp;
pub(crate) mod ip;
pub mod ip_header;
pub(crate) mod l2tp;
pub mod layer;
pub(crate) mod link;
pub(crate) mod look;
pub(crate) mod mpls;
pub mod numbers;
pub mod options;
pub mod other;
pub(crate) mod over_udp;
pub(crate) mod ppp;
pub(crate) mod proof;
pub(crate) mod reason;
pub mod routing;
pub(crate) mod tags;
pub(crate) mod tcp;
#[cfg(test)]
mod tests;
pub(crate) mod tunnel;
pub(crate) mod udp;
pub(crate) mod unknown_tag;
pub mod unread;
pub(crate) mod view;
pub mod walk;
pub(crate) mod wifi;

// For those outside the crate.
pub use crate::decode::batch::{Batch, FragmentAt, OtherAt};
pub use crate::decode::frame::{Decoded, Outcome, decode, decode_into};
pub use crate::decode::reason::{CountsByInput, ReasonCounts, Undecoded};
