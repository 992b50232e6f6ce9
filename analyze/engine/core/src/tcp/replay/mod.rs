//! A transfer replayed through a small model of its sender, path and receiver: as it was, and with one thing changed. It
//! takes what limited the transfer when ([`crate::tcp::limits`]) and gives a rate with an interval; words and advice are the
//! verdict's.
//!
//! ```text
//! seen        what the replay is made from: plain numbers of one direction
//! timeline    what held the transfer up where: pauses, paces and losses by position
//! window      the receiver's window while it limited, and its reader
//! path        rate and queue of the path, as estimated
//! control     congestion control: slow start, HyStart, CUBIC, Reno, BBR
//! model       the replay, in steps of round trips
//! change      the one thing that is changed
//! predict     as it was, then changed: the rate and its interval, or why there is none
//! ```
//!
//! What the model leaves out: single packets, delayed acknowledgements, pacing, cross traffic that comes and goes.

pub mod change;
pub(crate) mod control;
pub(crate) mod model;
pub(crate) mod path;
pub mod predict;
pub mod seen;
pub(crate) mod timeline;
pub(crate) mod window;
