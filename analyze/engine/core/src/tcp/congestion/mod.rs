//! Which congestion control a sender uses, by what it does after losses, between them and without any. Owns the evidence for
//! each and the name that follows; it is shown one round after the other and keeps none of them.
//!
//! ```text
//! round_trip     a round as congestion control counts: segments in flight, round trips, what was lost
//! recent         flights of the last rounds, and what is usual among them
//! growth         what Reno and CUBIC make of their window after a loss
//! after_losses   how far each loss reduced the flight, and how it grew after that
//! probes         rounds in which BBR probes for more, and those in which it probes for the shortest round trip
//! evidence       what was counted, and the name it comes to
//! without_sack   how sure a name is where holes are not reported
//! observed       all of it together
//! ```
//!
//! Sources: RFC 5681 (Reno), RFC 9438 (CUBIC), Cardwell and others, "BBR: Congestion-Based Congestion Control" (version 1).
//!
//! Rule: docs/methods.md, "Congestion control by its name".

pub(crate) mod after_losses;
pub mod evidence;
pub(crate) mod growth;
pub mod observed;
pub(crate) mod probes;
pub(crate) mod recent;
pub mod round_trip;
pub(crate) mod without_sack;
