//! What is not TCP: datagram flows, what numbers their datagrams, protocols of all frames, neighbours asked for.
//!
//! Names looked up are `dns`'s, pings and ICMP errors are joined in `analysis`.
//!
//! ```text
//! protocols        frames and bytes by protocol; TCP is the rest
//! table            every datagram to its flow (flow: both directions; bounded, the rest summed)
//!   application    what a flow carries, by what its datagrams hold
//!     layouts      where datagrams have numbers and clocks in clear text
//!   numbers        lost, reordered, jitter (media_clock: the rate of RTP timestamps)
//!     arrivals     bytes over time: do they stand at a rate while datagrams are lost?
//!   exchanges      requests and responses of STUN and NTP: their round trips
//!   passings       each datagram for itself, for who compares two captures
//! packet_limit     answers at a flat rate: a token bucket of packets
//! neighbours       ARP and neighbour discovery
//! ```
//!
//! For QUIC a flow has a [`crate::quic::QuicState`], made when its first long header is seen and fed with every datagram.

pub mod application;
pub mod arrivals;
pub mod exchanges;
pub mod flow;
pub mod layouts;
pub(crate) mod media_clock;
pub mod neighbours;
pub mod numbers;
pub mod packet_limit;
pub mod passings;
pub mod protocols;
pub mod table;

pub use crate::flows::flow::Flow;
pub use crate::flows::table::Flows;
