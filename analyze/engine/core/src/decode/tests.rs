//! The fast path must agree with the complete decoder.
