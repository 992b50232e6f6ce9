//! Round-trip times: clean samples, those of retransmissions, those that a pause lengthened.

pub mod covering;
pub mod echo_loop;
pub mod in_recovery;
pub mod samples;
