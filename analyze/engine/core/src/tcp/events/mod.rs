//! Plain values that pass between rooms. Owns their fields and what follows from these alone; who makes an event and
//! who acts on it are the rooms above.
//!
//! ```text
//! sent, acked      a packet with data, an acknowledgement, and what they turned out to be (context: of the connection)
//! observer         what measures: it is shown both
//! segment          one outstanding: sampled, acknowledged, retransmitted
//! retransmission   with its trigger                     copy   a packet that the capture shows twice
//! offer, openings  SYNs                                 ecn    congestion marks
//! ends, close      both ends of a connection, and how it ended
//! ending, outcome_kind   what is kept of an opening and an end, and what it comes to
//! bounds           lists that were full
//! place, row       a place in the capture, and the row of a packet
//! factor           what can limit a transfer: the list of all; sharing  one that several share; owner  whose time; holder  who holds it up
//! ```

pub mod acked;
pub mod bounds;
pub mod close;
pub mod context;
pub mod copy;
pub mod ecn;
pub mod ending;
pub mod ends;
pub mod factor;
pub mod holder;
pub mod observer;
pub mod offer;
pub mod openings;
pub mod outcome_kind;
pub mod owner;
pub mod place;
pub mod retransmission;
pub mod row;
pub mod segment;
pub mod sent;
pub mod sharing;
