//! Why no data passed for a while.

pub mod causes;
pub mod evidence;
pub(crate) mod gather;
pub mod heard;
pub mod path_rate;
pub mod pending;
pub mod period;
pub(crate) mod rate_of;
pub(crate) mod receiver_return;
pub mod state;
pub mod totals;
pub(crate) mod undecided;
pub mod undecided_gap;
pub(crate) mod watch;
