//! All connections of a shard: finds the connection of a packet, begins and ends them.

pub mod by_flow;
pub mod memory_budget;
pub mod resumed;
pub mod selection;
pub mod table;
