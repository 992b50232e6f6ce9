//! Statistics and containers. Owns arithmetic and bounded memory; knows nothing of TCP, and what a number means is its
//! user's.
//!
//! ```text
//! moments          count, extremes, mean, deviation     quantile_sketch  quantiles of a stream
//! buckets          counters over lengths of time        stopwatch        how long a state lasted
//! range_set        ranges of a stream                   sequence         32-bit numbers without wrapping
//! compact          values that are mostly zero          packed_ints      integers in few bytes
//! packed           numbers on their way to another process
//! pool, reuse      memory that passes from one connection to the next
//! ```

pub mod buckets;
pub mod compact;
pub mod moments;
pub mod packed;
pub mod packed_ints;
pub mod pool;
pub mod quantile_sketch;
pub mod range_set;
pub mod reuse;
pub mod sequence;
pub mod stopwatch;
