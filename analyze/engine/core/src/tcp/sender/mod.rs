//! What the sending host knew and did: flight, window, pauses, queue in front of the capture point.

pub(crate) mod loop_delay;
pub mod nagle;
pub(crate) mod pauses;
pub(crate) mod queue_before_tap;
pub(crate) mod silences;
pub mod turns;
pub mod view;
