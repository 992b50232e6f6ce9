//! Why no data passed for a while (docs/methods.md, section 7). Owns pauses, their evidence and causes; reads both
//! directions and changes none. When it is asked is decided in `connection`.
//!
//! ```text
//! watch            a pause begins and ends (state)      pauses           all of one direction
//!   gather         what is known of it, from both sides ──> evidence ──> causes: the rules
//!   cause          the list of causes: names, factors    suspicion        which host it was if the path was not
//!   pending        what waits for what follows          receiver_return  what the receiver says then (heard)
//!   undecided      what only the rest of the connection decides (undecided_gap)
//!   measures       what the rules ask of the evidence    sender_timers    when its sender's timers are due
//! path_rate, rate_of   could the path have carried it   period           do stalls come regularly
//! host_silences    of both hosts; rhythm  of a scheduler: a host that runs again at multiples of a period
//! totals           counted by cause, the longest kept
//! ```

pub mod cause;
pub mod causes;
pub mod evidence;
pub mod gather;
pub mod heard;
pub(crate) mod host_silences;
pub(crate) mod measures;
pub mod path_rate;
pub mod pauses;
pub mod pending;
pub mod period;
pub mod rate_of;
pub mod receiver_return;
pub mod rhythm;
pub(crate) mod sender_timers;
pub mod state;
pub mod suspicion;
pub mod totals;
pub mod undecided;
pub mod undecided_gap;
pub mod watch;
