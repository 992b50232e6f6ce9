//! What the sending host knew and did, seen from the capture point. Owns times and bytes as the sender saw them; what
//! follows from them for pauses and rounds is for `gaps` and `limits`.
//!
//! ```text
//! view             flight and window edge               turns            whose turn it was while nothing was in flight
//!   view_says      what others ask of it
//! loop_delay       capture point to sender and back     queue_before_tap a queue on that way
//! pauses           what a sender that paused answers    silences         the latest long ones
//! nagle            sends that waited for a delayed ACK
//! ```

pub(crate) mod loop_delay;
pub mod nagle;
pub(crate) mod pauses;
pub(crate) mod queue_before_tap;
pub(crate) mod silences;
pub mod turns;
pub mod view;
pub mod view_says;
