//! One direction of a connection: its data, and what the peer acknowledges of it.

pub mod ack_signs;
pub mod advertised_window;
pub mod before_capture;
pub mod byte_ledger;
#[allow(clippy::module_inception, reason = "the room is named after its main type")]
pub mod direction;
pub mod fast_path;
pub mod holes;
pub mod last_data;
pub mod loss_trigger;
pub mod nagle;
pub mod on_ack;
pub mod on_data;
pub mod on_old_data;
pub mod paws_refused;
pub mod retransmitted_unseen;
pub mod sampling;
pub mod segment_size;
pub mod segment_size_state;
pub mod send_queue;
pub mod sent_before;
pub mod spurious_by_acks;
pub mod spurious_timeout;
pub mod tsval_history;
