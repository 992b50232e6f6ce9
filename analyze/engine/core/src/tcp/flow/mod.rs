//! All connections of a shard. Owns the table and when a connection begins and is over; what a packet does to its
//! connection is the business of `connection`.
//!
//! ```text
//! by_flow          packets of a chunk, flow by flow     table            finds and ends connections
//! resumed          which packets make one connection    selection        whose packets are wanted
//! forget           which ones a reading without end may forget (forgotten: how many)
//! slot             a place of the table               orders           numbers of packets among all
//! taken_over       a connection whose SYN is missing
//! memory_budget    what all of them take in memory (weighing: looked at now and then)
//! unanswered       SYNs without a reply, summed up where each as a connection would be too much
//! ```

pub mod by_flow;
pub mod forget;
pub mod forgotten;
pub mod memory_budget;
pub mod orders;
pub mod resumed;
pub mod selection;
mod slot;
pub mod table;
mod taken_over;
pub mod unanswered;
mod weighing;
