//! Which lists of a connection were full.

use crate::tcp::connection::connection::Connection;
use crate::tcp::direction::direction::Live;
use crate::tcp::events::bounds::{BoundsReached, ListBound};

/// Asks all lists of a connection that is over.
pub(super) fn bounds_reached(connection: &Connection) -> BoundsReached {
    let mut reached = connection.bounds;
    connection
        .directions
        .iter()
        .filter_map(|direction| direction.live.as_deref())
        .for_each(|live| add(&mut reached, live));
    let pauses = connection.watch.watchers.iter().filter_map(|watchers| watchers.pauses.as_deref());
    pauses.for_each(|pauses| reached.add(ListBound::Pauses, pauses.watch.is_overfull));
    reached
}

fn add(reached: &mut BoundsReached, live: &Live) {
    let [retransmissions, copies] = live.loss.retransmissions.have_forgotten();
    let unanswered = live.loss.unanswered.as_deref().is_some_and(|unanswered| unanswered.has_forgotten());
    reached.add(ListBound::Holes, live.holes.have_forgotten());
    reached.add(ListBound::SackBlocks, live.acks.scoreboard.has_forgotten());
    reached.add(ListBound::Retransmissions, retransmissions || unanswered);
    reached.add(ListBound::Copies, copies);
    reached.add(ListBound::Segments, live.segments.has_forgotten());
    reached.add(ListBound::Acknowledgements, live.view.has_forgotten);
}
