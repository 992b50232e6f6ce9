//! What happened to a connection besides its data, for the words on how it opened and ended: repeated SYNs, resets, what was
//! retransmitted, when the window closed, the last long silence. Made with the first of these; most connections have none.
//!
//! Only places are kept, and few of each: what follows from them is said in `outcome`, when all is known.

use std::collections::VecDeque;

use crate::tcp::events::ending::{Reset, Resumed, SentAgain};
use crate::tcp::events::place::Place;

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct EndingLog {
    /// Client, server.
    pub sides: [SideLog; 2],
    /// Resets, of either side: the first ones and the last.
    pub resets: Vec<Reset>,
    /// The last long silence of both sides, and what ended it.
    pub resumed: Option<Resumed>,
}

/// What happened to one side.
#[derive(Debug, Clone, Default)]
pub struct SideLog {
    /// SYNs of the client or SYN-ACKs of the server after the first.
    pub openings: Vec<Place>,
    /// What it retransmitted, and its probes, the last ones.
    pub sent_again: VecDeque<SentAgain>,
    /// How often it did so, since its oldest byte outstanding was sent first.
    pub times_again: u32,
    /// Since when the window for its data has been closed, and the last packet that said so.
    pub closed: Option<[Place; 2]>,
    /// The longest time before that it was closed, nanoseconds.
    pub longest_closed_ns: i64,
    /// What was outstanding longest when it last began to send again.
    pub oldest: Option<SentAgain>,
}
