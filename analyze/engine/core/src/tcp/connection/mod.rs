//! One connection: both directions and what only both together show. Owns the directions and their watchers (`gaps`,
//! `limits`); rules that need one direction alone are in `direction`.
//!
//! ```text
//! steady           the short way of bulk transfers
//! connection       the state of both directions (groups: by what it is of)  environment  what connections of a shard share
//! on_packet        a packet step by step: own_data, acknowledged, without_data (probes and FIN)
//! open, handshake, crossing  SYN, SYN-ACK, RST: what is offered   vantage          where the capture stands
//! loops            beside which host the capture seems to be     clock_steps      of the capture's clock
//! opened, closing  what follows from a handshake         nearer           who answered the SYN (syn_late: and when it passed)
//! reset            which RST is believed, and what refutes it
//! ending_log, ending_notes       repeated SYNs, resets, what was retransmitted
//! acceptable       which numbers are believed (doubtful, far_jump)  padding        zeros that are no data (padded)
//! elsewhere        what is of another connection         rewritten      numbers that a device draws anew
//! duplicates, at_two_taps, congestion_bits              what a packet is besides its data
//! watchers, watching   pauses and rounds of a direction, and when they are asked
//! standstills      silences of each host, and their rhythm
//! rtt_by_echo, rtt_lengthened                           round trips that need both directions
//! speaking         where the data changes its direction (turns; opened_texts: inside TLS by keys)
//! checksums        segments that their receivers drop
//! packet_row, payload_feed                              what goes to rows, to tls and to dns
//! ```

pub mod acceptable;
mod acknowledged;
pub mod at_two_taps;
pub(crate) mod checksums;
mod clock_steps;
pub mod closing;
pub mod congestion_bits;
#[allow(clippy::module_inception, reason = "the room is named after its main type")]
pub mod connection;
pub mod crossing;
pub mod doubtful;
pub mod duplicates;
pub(crate) mod elsewhere;
pub mod ending_log;
pub mod ending_notes;
pub mod environment;
mod far_jump;
pub mod groups;
pub mod handshake;
pub mod loops;
pub mod nearer;
pub mod on_packet;
pub mod open;
mod opened;
mod opened_texts;
mod own_data;
pub mod packet_row;
pub mod padded;
pub mod padding;
pub mod payload_feed;
pub mod reset;
pub(crate) mod rewritten;
pub mod rtt_by_echo;
pub mod rtt_lengthened;
pub(crate) mod speaking;
pub(crate) mod standstills;
pub mod steady;
pub(crate) mod syn_late;
mod turns;
pub mod vantage;
pub mod watchers;
pub mod watching;
mod without_data;
