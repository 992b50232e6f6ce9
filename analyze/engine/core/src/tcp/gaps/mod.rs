//! Why no data passed for a while.

pub mod causes;
pub mod evidence;
pub mod gather;
pub mod heard;
pub mod path_rate;
pub mod pauses;
pub mod pending;
pub mod period;
pub mod rate_of;
pub mod receiver_return;
pub mod state;
pub mod totals;
pub mod undecided;
pub mod undecided_gap;
pub mod watch;
