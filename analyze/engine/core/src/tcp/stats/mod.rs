//! Statistics and containers that know nothing of TCP.

pub mod buckets;
pub mod compact;
pub mod moments;
pub mod packed_ints;
pub mod pool;
pub mod quantile_sketch;
pub mod range_set;
pub mod reuse;
pub mod sequence;
pub mod stopwatch;
