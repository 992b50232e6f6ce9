//! Plain values that pass between rooms: a sent segment, an acknowledgement, a retransmission, a row.

pub mod acked;
pub mod close;
pub mod context;
pub mod copy;
pub mod ecn;
pub mod ends;
pub mod offer;
pub mod openings;
pub mod place;
pub mod retransmission;
pub mod row;
pub mod segment;
pub mod sent;
