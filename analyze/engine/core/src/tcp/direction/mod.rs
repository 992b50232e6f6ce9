//! One direction of a connection: its data, and what the peer acknowledges of it.

pub mod advertised_window;
pub(crate) mod before_capture;
pub mod byte_ledger;
#[allow(clippy::module_inception, reason = "the room is named after its main type")]
pub mod direction;
pub(crate) mod fast_path;
pub mod holes;
pub mod last_data;
pub mod loss_trigger;
pub mod nagle;
pub mod on_ack;
pub mod on_data;
pub(crate) mod on_old_data;
pub(crate) mod paws_refused;
pub(crate) mod retransmitted_unseen;
pub(crate) mod sampling;
pub mod segment_size;
pub mod send_queue;
pub mod sent_before;
pub(crate) mod spurious_by_acks;
pub(crate) mod spurious_timeout;
pub(crate) mod tsval_history;
