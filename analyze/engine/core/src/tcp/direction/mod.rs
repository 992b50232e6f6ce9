//! One direction of a connection: the data one side sends, and what its peer acknowledges of it. Owns the state that
//! both change; whatever needs both directions at once is for `gaps`, `limits` and `connection`.
//!
//! ```text
//! direction        the state; the other files are what a packet does to it
//!   fast_path      the two packets of bulk transfers    sampling         counters read in steps of time (last_data)
//!   on_data        new data; late: on_old_data          on_ack           cumulative, selective, duplicate
//!     retransmitted_unseen, before_capture (sent_before)  sent before, though seen first now
//!     loss_trigger  why a segment was retransmitted
//!     spurious_by_acks, spurious_timeout, paws_refused  needless retransmissions
//! foreign_blocks   reports of what was never sent       acknowledged_unseen  what only its ACK shows
//! send_queue, wide_queue, widening  segments not yet acknowledged       holes, passed_over  stretches passed over, and what shows them
//! fates            sizes acknowledged, and sizes that never were
//! sizes, ack_signs  how large segments are, what ACKs have shown: the state behind segment_size and on_ack
//! placed           a data packet in the stream, for those     observers        events, and all that measures them
//! on_sack          selective acknowledgements and reports of duplicates
//! segment_size, byte_ledger, tsval_history, advertised_window, nagle   one measurement each
//! ```

pub mod ack_signs;
pub mod acknowledged_unseen;
pub mod advertised_window;
pub mod before_capture;
pub mod byte_ledger;
#[allow(clippy::module_inception, reason = "the room is named after its main type")]
pub mod direction;
pub mod fast_path;
pub mod fates;
pub mod foreign_blocks;
pub mod holes;
pub mod last_data;
pub mod loss_trigger;
pub mod nagle;
pub mod observers;
pub mod on_ack;
pub mod on_data;
pub mod on_old_data;
pub mod on_sack;
pub mod passed_over;
pub mod paws_refused;
pub mod placed;
pub mod retransmitted_unseen;
pub mod sampling;
pub mod segment_size;
pub mod send_queue;
pub mod sent_before;
pub mod sizes;
pub mod spurious_by_acks;
pub mod spurious_timeout;
pub mod tsval_history;
pub mod wide_queue;
pub mod widening;
