//! The kinds of outcomes: a file each, which says when it holds, its words and its remedy.
//!
//! ```text
//! one_direction_only                                          what cannot be judged
//! syn_refused, syn_unanswered, opened_late, handshake_incomplete   it did not open, or late
//! large_segments_lost, receiver_stopped_reading               its data did not move
//! silent (idle_then_silent, peer_silent), no_response         one side was gone, or its application
//! idle_then_reset, reset (by middlebox, client, server)       it was aborted
//! ```

pub mod handshake_incomplete;
pub mod idle_then_reset;
pub mod large_segments_lost;
pub mod no_response;
pub mod one_direction_only;
pub mod opened_late;
pub mod receiver_stopped_reading;
pub mod reset;
pub mod silent;
pub mod syn_refused;
pub mod syn_unanswered;

use crate::tcp::outcome::case::{Finding, OutcomeCase};

/// Says what became of a connection, if it was that.
pub type OutcomeRule = fn(&OutcomeCase) -> Option<Finding>;

/// All of them: the first that holds counts.
pub static RULES: [OutcomeRule; 13] = [
    one_direction_only::find,
    syn_refused::find,
    syn_unanswered::find,
    handshake_incomplete::find,
    large_segments_lost::find,
    receiver_stopped_reading::find,
    silent::idle_then_silent,
    silent::peer_silent,
    no_response::find,
    idle_then_reset::find,
    reset::by_middlebox,
    reset::by_host,
    opened_late::find,
];
