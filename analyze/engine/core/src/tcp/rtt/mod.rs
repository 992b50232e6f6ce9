//! Round-trip times. Owns samples and what makes them clean; which packet answers which is the business of
//! `direction`, and which samples a host lengthened that of `gaps` and `connection`.
//!
//! ```text
//! samples          clean ones, and why others are not   in_recovery      while data is missing
//! covering         those that a pause covers            echo_loop        by timestamps that a host echoes
//! ```

pub mod covering;
pub mod echo_loop;
pub mod in_recovery;
pub mod samples;
