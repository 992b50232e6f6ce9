//! How a connection ended so far: closed by both sides, reset, or refused.

use crate::tcp::connection::connection::Connection;
use crate::tcp::direction::direction::Direction;
use crate::tcp::events::close::{Close, Refused};

/// How it ended so far.
pub fn close(connection: &Connection) -> Close {
    if both_have_closed(&connection.directions) {
        Close::Fin
    } else if last_word(connection).is_some() {
        Close::Reset
    } else {
        Close::Open
    }
}

/// The reset that ended it: the first, but not one that was to refuse it and did not.
pub fn last_word(connection: &Connection) -> Option<(u8, i64)> {
    connection
        .endings
        .reset
        .map(|reset| reset.by())
        .or(connection.endings.refused.filter(|_| !connection.terms.handshake.complete))
}

/// What stays of the client's SYN while a reset is all that came of it.
pub fn refused_offer(connection: &Connection) -> Option<Refused> {
    let reset = last_word(connection)
        .filter(|_| !connection.terms.handshake.complete && connection.terms.handshake.syn_ack.count == 0)?;
    let offer = connection.directions[0].offer;
    offer.seen.then_some(Refused { offer, syn: connection.terms.handshake.syn, reset })
}

/// Both sides have closed it.
#[inline]
pub(crate) fn both_have_closed(directions: &[Direction; 2]) -> bool {
    directions.iter().all(|direction| direction.fin.is_some())
}
